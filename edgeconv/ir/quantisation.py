"""Integers that stand for real numbers: value = (stored - zero point) * scale."""

from __future__ import annotations

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Node

# Element types of run-time tensors besides float32, by numpy name.  Only Quantise, Dequantise and
# data movement know them.
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32")
# Attribute of an average that rounds halves of a step away from 0, as TensorFlow Lite divides sums
# of integers: their zero point.
AWAY = "halves_away"
SUMS = "int32"  # never of inputs: float32 has not all of them
# Attribute of an Affine that makes real numbers of whole ones: its scales, one per channel.
DEQUANTISES = "dequantises"
# Attribute of a Binary with a constant of integers: the scale of these.
OF_SCALE = "of_scale"


def integers_of(node: Node) -> Encoding:
    """What the integers of a Quantise or Dequantise stand for."""
    encoding: Encoding = node.attrs["encoding"]
    return encoding


def rounding_to(encoding: Encoding) -> Activation:
    """Quantise and then Dequantise, of one scale: to the nearest value that an integer has."""
    scale, zero = encoding.scale[0], encoding.zero[0]
    return grid(scale, float(encoding.low - zero), float(encoding.high - zero))
