"""The functions of ec_int8_*.h that compute layers in integers: a row for each."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class IntegerKernel:
    """A kernel of ec_int8_*.h.  ``name``: of its function, behind ec_int8_.  ``headers``: its own,
    and ``adds`` those of the same that adds a residual, where there is one.  ``helium``: it
    computes with Helium's vectors.  ``is_dense``: it computes row by row.  ``joined``: filters are
    joined in pairs, and ``reads_beyond``: some bytes beyond panels and filters are read.  Of a
    tile: ``pixels`` and ``filters``; ``runs``: panels are packed, one behind the other, by the
    function that multiplies them, and with ``pointwise`` those of the input's pixels in its own
    loop.  Of a depthwise layer: ``is_3x3``: with a kernel of nine numbers, and ``is_transposed``:
    with rows and columns exchanged."""

    name: str
    headers: tuple[str, ...]
    adds: tuple[str, ...] = ()
    helium: bool = False
    is_dense: bool = False
    joined: bool = False
    reads_beyond: bool = False
    pixels: int = 3
    filters: int = 2
    runs: bool = False
    pointwise: bool = False
    is_depthwise: bool = False
    is_3x3: bool = False
    is_transposed: bool = False

    def with_residual(self, *, added: bool) -> IntegerKernel:
        """The one for a layer to whose results a residual is ``added``, or is not."""
        if not added:
            return self
        return replace(self, name=f"{self.name}_add", headers=(*self.headers, *self.adds))


_IMAGES = ("ec_int8_channels.h", "ec_window.h", "ec_int8_panel.h")
_HEADERS_1X4, _COLUMNS = (*_IMAGES, "ec_int8_1x4.h"), (*_IMAGES, "ec_int8_rows.h")
_HEADERS_2X2 = (*_COLUMNS, "ec_int8_depthwise.h", "ec_int8_2x2.h", "ec_int8_depthwise_2x2.h")
_SUMS = ("ec_int8_add.h", "ec_int8_residual.h")
_TILES = ("ec_int8_tile.h", *_SUMS)

CONVOLVE = IntegerKernel("convolve", (*_IMAGES, "ec_int8_tile.h"), _SUMS)
CONVOLVE_JOINED = IntegerKernel(
    "convolve_joined",
    (*_IMAGES, "ec_int8_tile.h", "ec_int8_joined.h"),
    (*_SUMS, "ec_int8_residual_joined.h"),
    joined=True,
    runs=True,
)
CONVOLVE_JOINED_DUAL_ISSUE = replace(CONVOLVE_JOINED, reads_beyond=True)
CONVOLVE_JOINED_2X4 = replace(
    CONVOLVE_JOINED,
    name="convolve_joined_2x4",
    headers=(*_IMAGES, "ec_int8_tile.h", "ec_int8_joined_2x4.h"),
    adds=(*_SUMS, "ec_int8_residual_joined_2x4.h"),
    pixels=2,
    filters=4,
    pointwise=True,
)
CONVOLVE_1X4 = IntegerKernel(
    *("convolve_1x4", _HEADERS_1X4, (*_TILES, "ec_int8_residual_1x4.h")), helium=True
)
DENSE = IntegerKernel("dense", ("ec_int8_channels.h", "ec_int8_dot.h"), is_dense=True)
DENSE_JOINED = replace(
    DENSE, name="dense_joined", headers=(*DENSE.headers, "ec_int8_dot_joined.h"), joined=True
)
DENSE_AROUND = IntegerKernel(
    "dense_around", (*_IMAGES, "ec_int8_sums.h", "ec_int8_dense_around.h"), is_dense=True
)
DENSE_1X4 = IntegerKernel("dense_1x4", _HEADERS_1X4, helium=True, is_dense=True)
DENSE_1X4_AROUND = replace(DENSE_1X4, name="dense_1x4_around")
DEPTHWISE = IntegerKernel(
    *("depthwise", (*_COLUMNS, "ec_int8_depthwise.h")),
    adds=(*_TILES, "ec_int8_residual_depthwise.h"),
    is_depthwise=True,
)
DEPTHWISE_3X3 = IntegerKernel(
    "depthwise_3x3", (*_COLUMNS, "ec_int8_depthwise_3x3.h"), is_depthwise=True, is_3x3=True
)
DEPTHWISE_3X3_BORDER = replace(
    DEPTHWISE_3X3,
    name="depthwise_3x3_border",
    headers=(*DEPTHWISE_3X3.headers, "ec_int8_depthwise_3x3_border.h"),
)
DEPTHWISE_1X8 = IntegerKernel(
    *("depthwise_1x8", (*_COLUMNS, "ec_int8_depthwise_1x8.h")),
    adds=(*_TILES, "ec_int8_residual_1x8.h"),
    helium=True,
    is_depthwise=True,
)
_HEADERS_3X3_1X8 = (*_COLUMNS, "ec_int8_depthwise_3x3_1x8.h")
DEPTHWISE_3X3_1X8 = replace(
    DEPTHWISE_3X3, name="depthwise_3x3_1x8", headers=_HEADERS_3X3_1X8, helium=True
)
DEPTHWISE_2X2 = IntegerKernel("depthwise_2x2", _HEADERS_2X2, is_depthwise=True)
DEPTHWISE_2X2_TRANSPOSED = replace(
    DEPTHWISE_2X2, name="depthwise_2x2_transposed", is_transposed=True
)
DEPTHWISE_3X1 = replace(
    DEPTHWISE_2X2, name="depthwise_3x1", headers=(*_HEADERS_2X2, "ec_int8_depthwise_3x1.h")
)
DEPTHWISE_3X1_TRANSPOSED = replace(
    DEPTHWISE_3X1, name="depthwise_3x1_transposed", is_transposed=True
)
_HEADERS_3X3_2X2 = (*_COLUMNS, "ec_int8_2x2.h", "ec_int8_depthwise_3x3_2x2.h")
DEPTHWISE_3X3_2X2 = replace(DEPTHWISE_3X3, name="depthwise_3x3_2x2", headers=_HEADERS_3X3_2X2)
DEPTHWISE_3X3_6X2 = replace(
    DEPTHWISE_3X3_2X2,
    name="depthwise_3x3_6x2",
    headers=(*_HEADERS_3X3_2X2, "ec_int8_depthwise_3x3_6x2.h"),
)
