"""Physical order of a tensor in memory.

A tensor has one *logical* shape, ONNX's (N, C, spatial ...) for images, and one layout that says
in which order its elements lie.  Blocked layouts are the NCHW[x]c of NeoCPU (Liu et al., USENIX
ATC 2019, Section 3.1.1): channels are cut in blocks of ``x`` and the block is the innermost
dimension; the last block is padded when ``x`` does not divide the channel count.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

Shape = tuple[int, ...]


class Order(Enum):
    """The families of layouts."""

    ROW_MAJOR = "row-major"  # the logical order itself: NCHW for images
    CHANNELS_LAST = "channels-last"  # (N, spatial ..., C): NHWC for images
    BLOCKED = "blocked"  # (N, ceil(C/x), spatial ..., x): NCHW[x]c for images

    # That of Enum is Python, and a choice looks layouts up by the million.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Layout:
    """A family and, for BLOCKED, the block ``x`` (1 otherwise)."""

    order: Order = Order.ROW_MAJOR
    block: int = 1

    def __str__(self) -> str:
        if self.order is Order.BLOCKED:
            return f"NCHW{self.block}c"
        return "NHWC" if self.order is Order.CHANNELS_LAST else "NCHW"

    def of_rank(self, rank: int) -> str:
        """The name for tensors of so many dimensions, "" where it says nothing: NCHW is said of
        images alone, since row-major tensors of other ranks need not have channels."""
        if self.order is Order.ROW_MAJOR and rank != len("NCHW"):
            return ""
        return str(self).replace("HW", "DHW"[-max(rank - 2, 0) :] if rank > 2 else "")

    @classmethod
    def parse(cls, text: str) -> Layout:
        """The layout that prints as ``text``; ValueError when none does."""
        if match := re.fullmatch(r"NCHW([1-9][0-9]*)c", text):
            return cls(Order.BLOCKED, int(match[1]))
        for plain in (ROW_MAJOR, CHANNELS_LAST):
            if str(plain) == text:
                return plain
        raise ValueError(f"no layout is written {text!r}")

    def physical_shape(self, shape: Shape) -> Shape:
        """The dimensions in memory order, outermost first, of a tensor of logical ``shape``."""
        if self.order is Order.ROW_MAJOR:
            return shape
        if len(shape) < 2:
            raise ValueError(f"layout {self} needs (N, C, ...), got shape {shape}")
        n, c, *spatial = shape
        if self.order is Order.CHANNELS_LAST:
            return (n, *spatial, c)
        return (n, -(-c // self.block), *spatial, self.block)

    def elements(self, shape: Shape) -> int:
        """Elements in memory, channel padding included."""
        return math.prod(self.physical_shape(shape))

    def fits(self, shape: Shape) -> bool:
        """Whether it is one of images of ``shape`` that pads nothing."""
        if self.order is Order.ROW_MAJOR:
            return True
        return len(shape) > 3 and self.elements(shape) == math.prod(shape)

    def canonical(self, shape: Shape) -> Layout:
        """ROW_MAJOR when this layout puts a tensor of ``shape`` in exactly the row-major order."""
        if self.order is Order.ROW_MAJOR or len(shape) < 2:
            return ROW_MAJOR
        channels, pixels = shape[1], math.prod(shape[2:])
        if self.order is Order.CHANNELS_LAST:
            return ROW_MAJOR if channels == 1 or pixels == 1 else self
        unpadded = channels % self.block == 0
        return ROW_MAJOR if self.block == 1 or (pixels == 1 and unpadded) else self

    def pack(self, logical: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """Bring a logical array into memory order (shape ``physical_shape``); padding is zero."""
        if self.order is Order.ROW_MAJOR:
            return np.ascontiguousarray(logical)
        if self.order is Order.CHANNELS_LAST:
            return np.ascontiguousarray(np.moveaxis(logical, 1, -1))
        n, c, *spatial = logical.shape
        blocks = -(-c // self.block)
        padded = np.zeros((n, blocks * self.block, *spatial), logical.dtype)
        padded[:, :c] = logical
        split = padded.reshape(n, blocks, self.block, *spatial)
        return np.ascontiguousarray(np.moveaxis(split, 2, -1))

    def unpack(self, memory: npt.NDArray[np.generic], shape: Shape) -> npt.NDArray[np.generic]:
        """The logical array of ``shape`` from its elements in memory order; inverse of pack."""
        physical = memory.reshape(-1)[: self.elements(shape)].reshape(self.physical_shape(shape))
        if self.order is Order.ROW_MAJOR:
            return physical
        if self.order is Order.CHANNELS_LAST:
            return np.moveaxis(physical, -1, 1)
        n, c, *spatial = shape
        merged = np.moveaxis(physical, -1, 2).reshape(n, -1, *spatial)
        return merged[:, :c]


ROW_MAJOR = Layout()
CHANNELS_LAST = Layout(Order.CHANNELS_LAST)


def blocked(block: int) -> Layout:
    """NCHW[block]c; NCHW itself when the block is one channel."""
    return Layout(Order.BLOCKED, block) if block > 1 else ROW_MAJOR
