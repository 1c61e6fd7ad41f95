"""What is known of constants that DequantizeLinear made: the integers they are multiples of.

Such a constant is float32 like any other.  A layer that has it as its filters stores the integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.filters import ALONG_IN_C, IN_BLOCKS, SCALES_LIE, format_of_integers

Values = npt.NDArray[Any]
Constant = Callable[[str], Values | None]

# Constants of the same elements in the same order, in which one scale remains one scale.
_RESHAPES = frozenset({"Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze"})
# Bits of integers whose multiples of a scale are nearest to it when rounded to eight significant
# bits, as bfloat16 has them.
_TOLD_APART = 8
_MOST_TIMES = 1 << 16  # one scale over another


class Dequantised:
    """The constants that are whole multiples of scales, by name."""

    def __init__(self) -> None:
        self._encodings: dict[str, Encoding] = {}
        self._blocked: set[str] = set()
        self.notes: list[str] = []

    def note(self, node: onnx.NodeProto, constant: Constant) -> None:
        """``node`` has been evaluated: what that says of its output."""
        found = None
        if node.op_type == "DequantizeLinear":
            found = _dequantised(node, constant)
        elif node.input and node.input[0] in self._encodings:
            found = _moved(node, self._encodings[node.input[0]])
        if found is not None:
            self._encodings[node.output[0]] = found
        blocks = any(a.name == "block_size" and a.i for a in node.attribute)
        if blocks or (node.input and node.input[0] in self._blocked):
            self._blocked.add(node.output[0])

    def widened(self, name: str, value: Values) -> npt.NDArray[np.float32]:
        """The constant ``name`` of another type in float32: where it is multiples of scales these,
        as such a node computes them in float32, not what its own type had rounded them to."""
        found = self._encodings.get(name)
        wide = value.astype(np.float32)
        if found is None or found.bits > _TOLD_APART:
            return wide
        shape = [
            -1 if i == found.axis and not found.is_per_tensor else 1 for i in range(value.ndim)
        ]
        units = np.asarray(found.scale, np.float32).reshape(shape or ())
        return np.asarray(np.rint(wide / units) * units, np.float32)

    def rename(self, name: str, other: str) -> None:
        """What is known of ``name`` is known of ``other`` too, of the same numbers."""
        if name in self._encodings:
            self._encodings[other] = self._encodings[name]
        if name in self._blocked:
            self._blocked.add(other)

    def scale_of(self, name: str) -> float | None:
        """The one scale that the constant ``name`` has whole multiples of; None of others."""
        found = self._encodings.get(name)
        return found.scale[0] if found is not None and found.is_per_tensor else None

    def attributes(self, name: str, axis: int, channels: int, layer: str) -> dict[str, Any]:
        """Attributes ``storage`` and ``exact`` of the node ``layer``, which has ``name`` as its
        filters, or where their scales lie instead of one per output channel.

        ``axis`` is that of the output channels, of which there are ``channels``.
        """
        found = self._encodings.get(name)
        if found is None and name in self._blocked:
            self.notes.append(f"{layer}: weights are stored as float32: scales in blocks")
        if found is None:
            return {SCALES_LIE: IN_BLOCKS} if name in self._blocked else {}
        if not found.is_per_tensor and found.axis != axis:
            self.notes.append(f"{layer}: weights are stored as float32: scales along in_c")
            return {SCALES_LIE: ALONG_IN_C}
        units = found.scale * channels if found.is_per_tensor else found.scale
        return {"storage": found.scaled(units), "exact": True}


def _dequantised(node: onnx.NodeProto, constant: Constant) -> Encoding | None:
    """The smallest that has the integers less their zero point, no smaller than the model's own."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    x, scale = constant(node.input[0]), constant(node.input[1])
    if x is None or scale is None:
        return None
    zero = constant(node.input[2]) if len(node.input) > 2 and node.input[2] else None
    axis, block = int(attributes.get("axis", 1)), int(attributes.get("block_size", 0))
    if block > 0:
        return _of_blocks(x, scale, zero, axis, block)
    if scale.ndim > 1:
        return None
    if scale.size != 1 and not (-x.ndim <= axis < x.ndim and scale.size == x.shape[axis]):
        return None
    if zero is not None and zero.size not in (1, scale.size):
        return None
    along = 0 if scale.size == 1 else axis % x.ndim
    scales = scale.astype(np.float32).reshape(-1)
    integers = x.astype(np.int64)
    if zero is not None:
        shape = [-1 if i == along else 1 for i in range(x.ndim)]
        integers = integers - zero.astype(np.int64).reshape(shape)
    return _smallest(integers, scales, along, _bits(x.dtype))


def _smallest(whole: Values, scales: Values, along: int, bits: int) -> Encoding | None:
    """The smallest encoding of at least so many ``bits`` with these integers."""
    usable = np.isfinite(scales) & (scales >= np.finfo(np.float32).tiny)
    if not whole.size or not bits or not usable.all():
        return None
    form = format_of_integers(int(whole.min()), int(whole.max()), bits)
    return replace(form.scaled(scales), axis=along) if form else None


def _of_blocks(
    x: Values, scale: Values, zero: Values | None, axis: int, block: int
) -> Encoding | None:
    """What is known of integers with a scale for each ``block`` of them along ``axis``, if the
    scales of every index of another dimension, or all, are whole multiples of the smallest: powers
    of two, or all alike."""
    if x.ndim < 2 or scale.ndim != x.ndim or not -x.ndim <= axis < x.ndim:
        return None
    along = axis % x.ndim
    every = _spread(scale.astype(np.float64), x.shape, along, block)
    if every is None or not (np.isfinite(every) & (every > 0)).all():
        return None
    integers = x.astype(np.int64)
    if zero is not None:
        zeros = _spread(zero.astype(np.int64), x.shape, along, block)
        if zeros is None:
            return None
        integers = integers - zeros
    found = []
    for kept in (axis for axis in range(x.ndim) if axis != along):
        others = tuple(i for i in range(x.ndim) if i != kept)
        units = every.min(axis=others, keepdims=True)
        times = every / units
        if (times == np.rint(times)).all() and times.max() <= _MOST_TIMES:
            made = integers * times.astype(np.int64)
            each = units.reshape(-1).astype(np.float32)
            found.append(_smallest(made, each, kept, _bits(x.dtype)))
    return min(filter(None, found), key=lambda each: each.bits, default=None)


def _spread(values: Values, shape: Sequence[int], axis: int, block: int) -> Values | None:
    """One of ``values`` for every element; None where blocks are others."""
    count = -(-shape[axis] // block)
    if values.shape != tuple(count if i == axis else n for i, n in enumerate(shape)):
        return None
    spread: Values = np.repeat(values, block, axis=axis).take(range(shape[axis]), axis=axis)
    return spread


def _bits(dtype: np.dtype[Any]) -> int:
    """The bits of an integer type that weights are stored in; 0 for others."""
    bits = dtype.name.removeprefix("u").removeprefix("int")
    return int(bits) if bits in ("2", "4", "8", "16") else 0


def _moved(node: onnx.NodeProto, encoding: Encoding) -> Encoding | None:
    """Behind a node that moves constants."""
    if encoding.is_per_tensor:
        return encoding if node.op_type in (*_RESHAPES, "Transpose") else None
    if node.op_type == "Identity":
        return encoding
    if node.op_type != "Transpose":
        return None
    perm = _permutation(node)
    return replace(encoding, axis=perm.index(encoding.axis)) if perm else None


def _permutation(node: onnx.NodeProto) -> Sequence[int]:
    found: Mapping[str, Any] = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    return list(found.get("perm", ()))
