"""Pixel formats of cameras, a row each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from edgeconv.ir.preprocessing import PACKED, RGB565, YUV420, YUV422, Pixels

CHANNELS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"rgb": (0, 1, 2), "bgr": (2, 1, 0), "grey": ()}
)  # of a network: which of red, green and blue, none of a grey


@dataclass(frozen=True, slots=True)
class PixelFormat:
    """How a camera's pixels lie in memory.  ``pixel_bytes``: from a pixel of a row to the next.
    ``at``, ``kind``: as `ir.preprocessing.Pixels`; packed bytes are red, green and blue, or one
    grey.  ``about``: for people."""

    about: str
    kind: str
    pixel_bytes: int
    at: tuple[int, ...]

    @property
    def even(self) -> tuple[bool, bool]:
        """Whether height, and width, must be even: pixels share colours."""
        return self.kind == YUV420, self.kind in (YUV420, YUV422)

    def lines(self, height: int) -> int:
        """Rows of bytes in a frame: of yuv420 those of the plane of colours, too."""
        return height + height // 2 if self.kind == YUV420 else height

    def pixels(self, channels: str, name: str) -> Pixels:
        """Its pixels, by the ``name`` of the format, as those ``channels`` of a network, a key of
        `CHANNELS`."""
        return replace(self._pixels(channels), words=f"{name} ({self.about})")

    def _pixels(self, channels: str) -> Pixels:
        order, grey = CHANNELS[channels], channels == "grey"
        if self.kind == PACKED and len(self.at) == 1:
            return Pixels(PACKED, self.pixel_bytes, self.at * max(1, len(order)))
        if self.kind == PACKED and not grey:
            return Pixels(PACKED, self.pixel_bytes, tuple(self.at[colour] for colour in order))
        if grey and self.kind in (YUV422, YUV420):  # luma is one
            return Pixels(PACKED, self.pixel_bytes, self.at[:1])
        return Pixels(self.kind, self.pixel_bytes, self.at, order, grey)

    def shape(self, height: int, width: int, stride: int) -> tuple[int, ...]:
        """The shape of a frame as an input: pixels where nothing but these is in its rows."""
        if self.kind != PACKED or stride != width * self.pixel_bytes:
            return (1, self.lines(height), stride)
        return (1, height, width, *((self.pixel_bytes,) if self.pixel_bytes > 1 else ()))


FORMATS: Mapping[str, PixelFormat] = MappingProxyType(
    {
        "rgb": PixelFormat("a byte each of red, green, blue", PACKED, 3, (0, 1, 2)),
        "bgr": PixelFormat("a byte each of blue, green, red", PACKED, 3, (2, 1, 0)),
        "rgba": PixelFormat("red, green, blue and a byte that is not read", PACKED, 4, (0, 1, 2)),
        "bgra": PixelFormat("blue, green, red and a byte that is not read", PACKED, 4, (2, 1, 0)),
        "grey": PixelFormat("a byte", PACKED, 1, (0,)),
        "rgb565": PixelFormat("16 bits, the lower byte first", RGB565, 2, (0, 1)),
        "rgb565be": PixelFormat("16 bits, the upper byte first", RGB565, 2, (1, 0)),
        "yuyv": PixelFormat("4:2:2, bytes Y0 U Y1 V of two pixels", YUV422, 2, (0, 1, 3)),
        "uyvy": PixelFormat("4:2:2, bytes U Y0 V Y1 of two pixels", YUV422, 2, (1, 0, 2)),
        "nv12": PixelFormat("4:2:0, a plane of Y, one of pairs U V", YUV420, 1, (0, 0, 1)),
        "nv21": PixelFormat("4:2:0, a plane of Y, one of pairs V U", YUV420, 1, (0, 1, 0)),
    }
)
