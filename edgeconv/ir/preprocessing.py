"""What becomes of a camera's frame on its way to a network's input, as one operator has it.

A *Preprocess* node reads the bytes of a frame and computes, pixel by pixel of its result (1, C, H,
W): colours, bilinear or nearest neighbours, a number per channel.  Its attribute ``preprocessing``
is a `Preprocessing`; ``model.preprocessing.definition`` is what that means, in numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.layout import Shape

PREPROCESS = "Preprocess"  # the operator
PACKED, RGB565, YUV422, YUV420 = PIXELS = ("packed", "rgb565", "yuv422", "yuv420")
VALUES = 256  # of a byte
LARGEST = 8191  # pixels of a side: kernels count up to four times as many elements in 16 bits
GREY = (77, 150, 29)  # of 256: red, green and blue of a grey (ITU-R BT.601, 0.299, 0.587, 0.114)
# 256 times red, green and blue less 16 of luma, 128 of both colour differences (ITU-R BT.601,
# luma from 16 to 235): luma, blue difference, red difference.
YUV_TO_RGB = ((298, 0, 409), (298, -100, -208), (298, 516, 0))
BLACK, NEUTRAL = 16, 128  # luma and colour difference of black


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Along one axis of the result: the pixels of the frame that each of its places is made of.

    ``first``, and with linear interpolation ``second``, which counts for ``weight`` parts of
    ``over``, and ``first`` for the others.
    """

    first: tuple[int, ...]
    second: tuple[int, ...] = ()
    weight: tuple[int, ...] = ()
    over: int = 1

    @property
    def is_linear(self) -> bool:
        return bool(self.second)


@dataclass(frozen=True, slots=True)
class Pixels:
    """How pixels lie in the bytes of a frame.

    ``kind``, one of `PIXELS`, says what ``at`` has: the bytes within a pixel of ``pixel_bytes``
    that are the network's channels (packed), its lower and its upper byte (rgb565); the bytes of
    luma and both colour differences within two pixels that share these (yuv422), and the latter
    within a pair of the plane behind the luma, which four pixels share (yuv420).  ``order``: which
    of red, green and blue, 0 to 2, are the network's channels; none: a grey of them.  Of packed
    pixels, whose bytes are in order, it is empty unless a grey is made of three.  ``words``: the
    format for people.
    """

    kind: str
    pixel_bytes: int
    at: tuple[int, ...]
    order: tuple[int, ...] = ()
    grey: bool = False
    words: str = "a byte per channel"

    @property
    def channels(self) -> int:
        """How many the network has."""
        if self.grey:
            return 1
        return len(self.at) if self.kind == PACKED else len(self.order)


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """A frame of ``height`` rows of ``width`` pixels -> (1, C, *``size``).

    It has ``lines`` rows of bytes, ``stride`` bytes apart: those of a plane of colours behind the
    luma among them.

    The resized frame has its upper left corner at (``top``, ``left``); around it is ``fill``, a
    number per channel.  ``rounded``: what is interpolated is rounded to whole numbers, halves up.
    Then value v of channel c becomes the number ``scale[c] * v + shift[c]``.
    """

    pixels: Pixels
    height: int
    width: int
    lines: int
    stride: int
    rows: Neighbours
    columns: Neighbours
    size: tuple[int, int]
    top: int
    left: int
    rounded: bool
    scale: tuple[float, ...]
    shift: tuple[float, ...]
    fill: tuple[float, ...]

    @property
    def channels(self) -> int:
        return self.pixels.channels

    @property
    def frame(self) -> str:
        """The frame in words: format, size, and bytes."""
        return (
            f"a frame of {self.width} x {self.height} pixels, {self.pixels.words}, a row every "
            f"{self.stride} bytes, {self.lines * self.stride} bytes in all"
        )

    @property
    def box(self) -> tuple[int, int]:
        """Rows and columns of the resized frame."""
        return len(self.rows.first), len(self.columns.first)

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return (1, self.channels, *self.size)

    @property
    def is_filled(self) -> bool:
        """Something lies around the resized frame."""
        return self.box != self.size

    @property
    def is_linear(self) -> bool:
        return self.rows.is_linear or self.columns.is_linear

    @property
    def is_whole(self) -> bool:
        """Numbers are made of whole values from 0 to 255, so that a table has them all."""
        return self.rounded or not self.is_linear

    @property
    def over(self) -> int:
        """What the weights of a pixel's neighbours add up to."""
        return self.rows.over * self.columns.over

    def table(self) -> npt.NDArray[np.float32]:
        """(C, 256): the number of each value, computed in float64 and rounded once."""
        values = np.arange(VALUES, dtype=np.float64)
        scale, shift = (np.array(each, np.float64)[:, None] for each in (self.scale, self.shift))
        found: npt.NDArray[Any] = (values * scale + shift).astype(np.float32)
        return found


def same(size: int) -> Neighbours:
    """Each pixel for itself."""
    return Neighbours(tuple(range(size)))
