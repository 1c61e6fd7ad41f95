"""Integers that stand for real numbers: value = (stored - zero point) * scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.graph import Node

# Element types of run-time tensors besides float32, by numpy name.  Only Quantise, Dequantise and
# data movement know them.
INTEGERS = ("int8", "uint8", "int16", "uint16")


@dataclass(frozen=True, slots=True)
class Scaling:
    """The attributes of a Quantise or Dequantise.

    ``scale`` and ``zero`` have one entry, or one per index of ``axis``.  ``low`` and ``high`` are
    the bounds of the integer type.
    """

    scale: tuple[float, ...]
    zero: tuple[int, ...]
    axis: int
    low: int
    high: int

    @staticmethod
    def of(node: Node) -> Scaling:
        """Of a Quantise or Dequantise."""
        a = node.attrs
        return Scaling(a["scale"], a["zero"], a["axis"], a["low"], a["high"])

    @staticmethod
    def plain(dtype: str) -> Scaling:
        """The integers of ``dtype`` as they are."""
        low, high = bounds_of(dtype)
        return Scaling((1.0,), (0,), 0, low, high)

    def attrs(self) -> dict[str, Any]:
        """As attributes of a node."""
        return {
            "scale": self.scale,
            "zero": self.zero,
            "axis": self.axis,
            "low": self.low,
            "high": self.high,
        }

    @property
    def is_per_tensor(self) -> bool:
        """One scale for all elements."""
        return len(self.scale) == 1

    def grid(self) -> Activation:
        """Quantise and then Dequantise, of one scale: to the nearest value that an integer has."""
        return grid(self.scale[0], float(self.low - self.zero[0]), float(self.high - self.zero[0]))


def bounds_of(dtype: str) -> tuple[int, int]:
    """Smallest and largest number of an integer type."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


@dataclass(frozen=True, slots=True)
class Steps:
    """A constant whose elements are whole multiples of a scale, as DequantizeLinear leaves it.

    ``scales``: one, or one per index of ``axis`` (None for one).  ``low`` and ``high``: the
    smallest and the largest multiple.  ``bits``: of the integers that the model stores.
    """

    scales: npt.NDArray[np.float32]
    axis: int | None
    low: int
    high: int
    bits: int

    def moved(self, axis: int | None) -> Steps:
        """Of the same numbers, the scales along another axis."""
        return replace(self, axis=axis)

    def units(self, axis: int, channels: int) -> tuple[float, ...] | None:
        """One scale per index of ``axis``, which has ``channels``; None where they differ along
        another axis."""
        if self.axis is None:
            return (float(self.scales[0]),) * channels
        return tuple(map(float, self.scales)) if self.axis == axis else None
