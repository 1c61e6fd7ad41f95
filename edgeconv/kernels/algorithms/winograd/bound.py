"""How far rounding can take a Winograd convolution from the exact one, whatever its inputs.

Every number that a kernel computes is one of sums of products, at most n roundings away from its
inputs, so that with u = 2^-24 it is off by at most n u / (1 - n u) times what the same sums are of
magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 2002, Section 3.1):

    |y - exact| <= n u / (1 - n u) |A^T| ((|G| |g| |G^T|) (|B^T| |d| |B|)) |A|, summed over channels

A^T and B^T are those of the straight-line code, in which terms that cancel count twice.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from edgeconv.ir.winograd_form import Nested, WinogradForm
from edgeconv.kernels.algorithms.winograd.plan import routine_of
from edgeconv.kernels.algorithms.winograd.toom_cook import Doubles, doubles, matrices

Floats = npt.NDArray[np.float32]
UNIT = 2.0**-24


def roundings(form: Nested, in_c: int) -> int:
    """One after the other, at most, from inputs and filters to an output with its bias: of both
    transformations, the filters, and a product per channel and row that is summed, where it and its
    addition may each be rounded."""
    sides = (form.down, form.across)
    transformed = sum(
        routine_of(each, side).roundings
        for each in sides
        if not each.is_plain
        for side in ("input", "output")
    )
    return transformed + form.summed * in_c + 3


def amplification(form: Nested) -> float:
    """The bound's part that is the form's: magnitudes that are summed for an output, in parts of
    those of its filter times the largest input."""
    return _amplified(form.down) * _amplified(form.across)


def error_bound(form: Nested, weights: Floats, largest: float) -> float:
    """The error bound of any output of filters (out_c, in_c, rows, columns) without stride, of
    inputs of at most this magnitude; and of a bias no larger than the outputs."""
    n = roundings(form, weights.shape[1])
    (out_down, in_down, g_down), (out_across, in_across, g_across) = (
        _magnitudes(each) for each in (form.down, form.across)
    )
    filters = (g_down @ np.abs(weights.astype(np.float64)) @ g_across.T).sum(axis=1)
    inputs = np.outer(in_down.sum(axis=1), in_across.sum(axis=1)) * largest
    sums = out_down @ (filters * inputs) @ out_across.T
    return float(n * UNIT / (1 - n * UNIT) * sums.max())


def _amplified(form: WinogradForm) -> float:
    if form.is_plain:
        return 1.0
    outputs, inputs, filters = _magnitudes(form)
    return float((outputs @ (filters * inputs.sum(axis=1)[:, None])).max())


@lru_cache(maxsize=256)  # in fractions, and asked for with every layer
def _magnitudes(form: WinogradForm) -> tuple[Doubles, Doubles, Doubles]:
    """The magnitudes of outputs, inputs and filters, which nobody changes."""
    filters = np.abs(doubles(matrices(form).of_filter))
    if form.is_plain:
        one = np.eye(form.taps)
        return np.ones((1, form.taps)), one, filters
    outputs, inputs = (doubles(routine_of(form, side).magnitudes()) for side in ("output", "input"))
    return outputs, inputs, filters
