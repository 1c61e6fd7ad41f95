"""Averages of int8 in fixed point against rationals, over every sum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from edgeconv.ir.requantisation.averages import averages
from edgeconv.ir.requantisation.pair import Affine

X, Y = Affine(float(np.float32(0.043123456)), 17), Affine(float(np.float32(0.035712345)), -40)


def defined(count: int, x: Affine, y: Affine, total: int) -> int:
    real = Fraction(x.scale) * (total - count * x.zero) / count / Fraction(y.scale)
    return min(max(round(real) + y.zero, -128), 127)


@pytest.mark.parametrize(
    ("counts", "y", "kind"),
    [
        ((9,), Y, "linear"),
        ((4, 6, 9), Y, "linear"),
        ((1000,), Y, "high"),
        ((16,), Affine(X.scale, 3), "halves"),
        ((64,), Affine(X.scale, -128), "halves"),
        ((6,), Affine(X.scale, 3), "even"),
        ((36,), Affine(X.scale, -128), "even"),
        ((4, 6, 9), Affine(X.scale, 17), "even"),
        ((196,), Affine(X.scale, 17), "even"),
        ((12544,), Affine(X.scale, -3), "even"),
        ((12,), Affine(X.scale / 2, 100), "even"),
        ((50176,), Y, "high"),
    ],
)
def test_every_sum(counts: tuple[int, ...], y: Affine, kind: str) -> None:
    form = averages(counts, X, y, -128, 127)
    assert form is not None
    assert form.scaling == kind
    for i, count in enumerate(counts):
        sums = np.arange(
            -128 * count, 127 * count + 1, 1 if count < 100 else 97 if count < 9999 else 9973
        )
        found = form.of(sums, i)
        assert found.tolist() == [defined(count, X, y, int(total)) for total in sums]


def test_other_ties_have_no_form() -> None:
    """Three quarters of a step: one sum of four is one and a half."""
    assert averages((4,), Affine(0.75, 0), Affine(0.25, 0), -128, 127) is None
