"""How far two tensors are apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from ml_dtypes import finfo

from edgeconv.base.decibels import sqnr_db
from edgeconv.ir.layout import Shape

Floats = npt.NDArray[np.float32]
Array = npt.NDArray[np.generic]
_FLOAT32_BYTES = 4
_ROUNDING = 1e-5  # multiples of a step are rounded to float32: neighbours may be that much farther


@dataclass(frozen=True, slots=True)
class Difference:
    """Distance of a result from its reference, over all elements.

    ``max_abs``: largest absolute difference; infinite where one side is NaN and the other is not,
    and where an infinity meets anything else than itself.  ``largest``: largest finite magnitude
    of the reference.  ``max_ulp``: largest number of float32 numbers between two elements (large
    without meaning where cancellation leaves a reference near zero).  ``sqnr_db``: signal to
    noise ratio, 10 log10(sum ref^2 / sum (got - ref)^2).  ``worst``: index of the first element
    with the largest difference, () for a scalar.  ``spacing``: of a quantised tensor the distance
    between neighbouring values, 0 of others; where it is ``assumed``, of a tensor that the model
    computes from quantised ones and does not quantise itself, what eight bits would have.
    ``whole``: of integers or tests, of which no difference is a rounding.  ``shapes``: the result's
    and the reference's where these differ, and no number has another to be compared with.
    ``beyond``: of a type narrower than float32 the largest difference without a step of that type,
    since float32 numbers a rounding apart may become neighbours in it; None of others.
    """

    name: str
    max_abs: float
    largest: float
    max_ulp: float
    sqnr_db: float
    worst: tuple[int, ...]
    spacing: float = 0.0
    assumed: bool = False
    whole: bool = False
    shapes: tuple[Shape, Shape] | None = None
    beyond: float | None = None

    @property
    def relative(self) -> float:
        """``max_abs / largest``: the measure that tolerances apply to; absolute for all zeros."""
        return self.max_abs / self.largest if self.largest > 0 else self.max_abs

    @property
    def spacings(self) -> float:
        """``max_abs`` in spacings; 0 of a tensor that has none."""
        return self.max_abs / self.spacing if self.spacing else 0.0

    def within(self, tolerance: float) -> bool:
        """Whether the relative difference is at most ``tolerance``, or the absolute the grid's;
        of integers none without a grid."""
        far = self.max_abs if self.beyond is None else self.beyond
        near = not self.whole and (far / self.largest if self.largest > 0 else far) <= tolerance
        return near or self.max_abs <= self.spacing * (1 + _ROUNDING)


def compare(name: str, got: Array, reference: Array, spacing: float = 0.0) -> Difference:
    """Compare two arrays; those of different shapes are infinitely far apart.

    ``spacing``: that of the grid of the reference, 0 where it has none.
    """
    if got.shape != reference.shape:
        shapes = got.shape, reference.shape
        infinite = math.inf, 0.0, math.inf, -math.inf
        return Difference(name, *infinite, (), spacing, shapes=shapes)
    if not got.size:
        return Difference(name, 0.0, 0.0, 0.0, math.inf, (), spacing)
    mine, theirs = got.astype(np.float64), reference.astype(np.float64)
    same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):  # inf - inf: equal ones are masked, others count as inf
        distance = np.where(same, 0.0, np.abs(mine - theirs))
    distance = np.where(np.isnan(distance), np.inf, distance)
    finite = np.abs(theirs[np.isfinite(theirs)])
    ulps = np.where(same, 0.0, _ulps(got.astype(np.float32), reference.astype(np.float32)))
    ulps = np.where(np.isfinite(distance), ulps, np.inf)
    worst = np.unravel_index(int(np.argmax(distance)), distance.shape)
    return Difference(
        name,
        float(distance.max()),
        float(finite.max(initial=0.0)),
        float(ulps.max()),
        _sqnr(theirs, distance),
        tuple(int(i) for i in worst),
        spacing,
        whole=reference.dtype.kind in "iub",
        beyond=_beyond(distance, theirs, reference.dtype),
    )


def _beyond(
    distance: npt.NDArray[np.float64], values: npt.NDArray[np.float64], dtype: np.dtype[np.generic]
) -> float | None:
    """The largest distance without a step of a narrow type, None of any other."""
    if dtype.kind in "iub" or dtype.itemsize >= _FLOAT32_BYTES:
        return None
    info = finfo(dtype)
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 0))
    steps = np.maximum(np.ldexp(float(info.eps), exponent - 1), float(info.smallest_subnormal))
    return float(np.maximum(distance - steps * (1 + _ROUNDING), 0.0).max())


def assumed_spacing(reference: npt.NDArray[np.generic]) -> float:
    """The spacing of an eight-bit grid over the values of a tensor that a quantised network
    computes and does not quantise itself; 0 of integers and tests, which no rounding moves: an
    index is another one or it is not."""
    if reference.dtype.kind in "iub":
        return 0.0
    values = np.abs(reference[np.isfinite(reference)].astype(np.float64))
    return float(values.max(initial=0.0)) / 127


def _ulps(one: Floats, other: Floats) -> npt.NDArray[np.float64]:
    """Float32 values between two arrays, element by element; both zeros are the same value."""
    ulps: npt.NDArray[np.float64] = np.abs(_rank(one) - _rank(other)).astype(np.float64)
    return ulps


def _rank(values: Floats) -> npt.NDArray[np.int64]:
    """Integers in the order of the floats, neighbours one apart."""
    bits = np.ascontiguousarray(values).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def _sqnr(reference: npt.NDArray[np.float64], distance: npt.NDArray[np.float64]) -> float:
    finite = np.isfinite(reference)
    signal = float(np.square(reference[finite]).sum())
    return sqnr_db(signal, float(np.square(distance).sum()))
