"""The functions of ec_int8_*.h that compute layers in integers: a row for each."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class IntegerKernel:
    """``name``: of its function, behind ec_int8_.  ``headers``: its own, and ``adds`` those of the
    same that adds a residual, where there is one.  ``helium``: it computes with Helium's vectors.
    ``is_dense``: it computes row by row.  Of a depthwise layer: ``is_3x3``: with a kernel of nine
    numbers, and ``is_turned``: with rows and columns exchanged."""

    name: str
    headers: tuple[str, ...]
    adds: tuple[str, ...] = ()
    helium: bool = False
    is_dense: bool = False
    is_depthwise: bool = False
    is_3x3: bool = False
    is_turned: bool = False

    def with_residual(self, *, added: bool) -> IntegerKernel:
        """The one for a layer to whose results a residual is ``added``, or is not."""
        if not added:
            return self
        return replace(self, name=f"{self.name}_add", headers=(*self.headers, *self.adds))


_IMAGES = ("ec_int8_channels.h", "ec_window.h", "ec_int8_panel.h")
_FOURS, _COLUMNS = (*_IMAGES, "ec_int8_fours.h"), (*_IMAGES, "ec_int8_rows.h")
_TWO = (*_COLUMNS, "ec_int8_depthwise.h", "ec_int8_two.h", "ec_int8_depthwise_two.h")
_SUMS = ("ec_int8_add.h", "ec_int8_residual.h")
_TILES = ("ec_int8_tile.h", *_SUMS)

CONVOLVE = IntegerKernel("convolve", (*_IMAGES, "ec_int8_tile.h"), _SUMS)
CONVOLVE_FOURS = IntegerKernel(
    *("convolve_fours", _FOURS, (*_TILES, "ec_int8_residual_fours.h")), helium=True
)
DENSE = IntegerKernel("dense", ("ec_int8_channels.h", "ec_int8_dot.h"), is_dense=True)
DENSE_AROUND = IntegerKernel(
    "dense_around", (*_IMAGES, "ec_int8_sums.h", "ec_int8_dense_around.h"), is_dense=True
)
DENSE_FOURS = IntegerKernel("dense_fours", _FOURS, helium=True, is_dense=True)
DENSE_FOURS_AROUND = replace(DENSE_FOURS, name="dense_fours_around")
DEPTHWISE = IntegerKernel(
    *("depthwise", (*_COLUMNS, "ec_int8_depthwise.h")),
    adds=(*_TILES, "ec_int8_residual_depthwise.h"),
    is_depthwise=True,
)
DEPTHWISE_3X3 = IntegerKernel(
    "depthwise_3x3", (*_COLUMNS, "ec_int8_depthwise_3x3.h"), is_depthwise=True, is_3x3=True
)
DEPTHWISE_EIGHTS = IntegerKernel(
    *("depthwise_eights", (*_COLUMNS, "ec_int8_eights.h")),
    adds=(*_TILES, "ec_int8_residual_eights.h"),
    helium=True,
    is_depthwise=True,
)
_EIGHTS_3X3 = (*_COLUMNS, "ec_int8_eights_3x3.h")
DEPTHWISE_3X3_EIGHTS = replace(
    DEPTHWISE_3X3, name="depthwise_3x3_eights", headers=_EIGHTS_3X3, helium=True
)
DEPTHWISE_TWO = IntegerKernel("depthwise_two", _TWO, is_depthwise=True)
DEPTHWISE_TWO_TURNED = replace(DEPTHWISE_TWO, name="depthwise_two_turned", is_turned=True)
_TWO_3X3 = (*_COLUMNS, "ec_int8_two.h", "ec_int8_depthwise_two_3x3.h")
DEPTHWISE_TWO_3X3 = replace(DEPTHWISE_3X3, name="depthwise_two_3x3", headers=_TWO_3X3)
