"""Units of filters and biases with which sums become results in integers alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from edgeconv.ir.requantisation import most_right
from edgeconv.search.calibration.rounding import Rounded

Singles = npt.NDArray[np.float32]
_MOST = 2**31 - 1  # of an int32 bias
_ROOM = 2**29  # of a bias, so that sums have the rest
_NEAR = 128  # float32 numbers on each side of a unit that are tried


def settled(entry: Rounded, x: float, y: float) -> Rounded:
    """``entry`` in units almost the same, of which none is too small for its bias, and each makes
    the multiplier that integer kernels have nearly a whole number.

    ``x`` and ``y``: scales of the layer's input and result.  Kernels multiply sums by a word for
    each channel, unit * x / y times a power of two that all channels share; what a small unit's
    word lacks in bits puts results on the wrong side of a threshold (`ir.requantisation.fixed`).  A
    unit is a float32 number, and one of its neighbours is nearer to a word.
    """
    assert entry.units is not None
    old = np.asarray(entry.units, np.float64)
    bias = np.zeros(len(old)) if entry.parameters.bias is None else entry.parameters.bias
    enough = np.maximum(old, np.abs(bias).astype(np.float64) / (x * _ROOM)).astype(np.float32)
    units = _with_whole_multipliers(enough, x / y)
    rows = (-1, *(1,) * (entry.parameters.weights.ndim - 1))
    count = np.rint(entry.parameters.weights / units.reshape(rows))
    weights = (count * units.reshape(rows)).astype(np.float32)
    parameters = replace(entry.parameters, weights=weights)
    return replace(entry, parameters=parameters, units=tuple(map(float, units)))


def _with_whole_multipliers(units: Singles, by: float) -> Singles:
    """For each unit that neighbour whose product with ``by`` is nearest to a word."""
    power = 32 + most_right(units.astype(np.float64) * by)
    away = np.arange(-_NEAR, _NEAR + 1, dtype=np.int32)
    tried = (units.view(np.int32)[:, None] + away).view(np.float32)
    words = np.ldexp(tried.astype(np.float64) * by, power)
    best = np.abs(words - np.rint(words)).argmin(axis=1)
    found: Singles = tried[np.arange(len(units)), best]
    return found


def whole_bias(entry: Rounded, x: float) -> Rounded:
    """``entry`` with its bias rounded to whole multiples of the product of both scales, as an
    int32 holds it; as it is where some channel's is larger.  ``x``: scale of the input."""
    bias = entry.parameters.bias
    if bias is None or entry.units is None:
        return entry
    unit = np.asarray(entry.units, np.float32) * np.float32(x)
    count = np.rint(bias.astype(np.float64) / unit)
    if not (np.abs(count) <= _MOST).all():
        return entry
    parameters = replace(entry.parameters, bias=(count * unit).astype(np.float32))
    return replace(entry, parameters=parameters)
