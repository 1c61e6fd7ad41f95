"""Inputs and filters on which Winograd's algorithm makes no error at all, and what does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from edgeconv.ir.straight_line import Routine
from edgeconv.ir.winograd_form import Nested, WinogradForm
from edgeconv.kernels.algorithms.winograd.plan import routine_of
from edgeconv.kernels.algorithms.winograd.toom_cook import matrices

Floats = npt.NDArray[np.float32]
FLOAT64 = 2.0**-40  # of the largest filter: what rounding of float64 makes of transformed ones


def is_exact(form: Nested) -> bool:
    """Whether float32 has all factors of its transformations."""
    ways = [way for way in (form.down, form.across) if not way.is_plain]
    codes = [routine_of(way, side) for way in ways for side in ("input", "output")]
    factors = [factor for code in codes for each in code.sums for factor, _ in each.terms]
    return all(factor.denominator.bit_count() == 1 for factor in factors)


def filters(form: Nested, out_c: int, in_c: int) -> Floats:
    """Of 0 and plus and minus what G divides by, so that transformed ones are whole, but for what
    float64 makes of fractions."""
    whole = math.prod(_divisor(way) for way in (form.down, form.across))
    random = np.random.default_rng(1)
    shape = out_c, in_c, form.down.taps, form.across.taps
    return (whole * random.integers(-1, 2, shape)).astype(np.float32)


def _divisor(way: WinogradForm) -> int:
    return math.lcm(*(factor.denominator for row in matrices(way).of_filter for factor in row))


def one_ulp_off(code: Routine) -> Iterator[Routine]:
    """``code`` with one factor of float32 replaced by a neighbour."""
    for i, each in enumerate(code.sums):
        for j, (factor, name) in enumerate(each.terms):
            for side in (-np.inf, np.inf) if abs(factor) != 1 else ():
                near = Fraction(float(np.nextafter(np.float32(factor), np.float32(side))))
                terms = (*each.terms[:j], (near, name), *each.terms[j + 1 :])
                sums = (*code.sums[:i], replace(each, terms=terms), *code.sums[i + 1 :])
                yield replace(code, sums=sums)
