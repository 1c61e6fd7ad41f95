"""Sums of two quantised tensors: fixed point against rationals."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from edgeconv.ir.requantisation.pair import Affine, added, pair_sum


def _drawn(draw: random.Random) -> Affine:
    return Affine(float(np.float32(draw.uniform(0.001, 0.2))), draw.randint(-128, 127))


def test_what_is_said_is_rounded_once_with_ties_to_even() -> None:
    draw = random.Random(1)
    scales = [_drawn(draw) for _ in range(6)]
    scales += [Affine(0.5, 3), Affine(0.25, -128), Affine(1.0, 0)]
    for _ in range(12):
        a, b, y = draw.sample(scales, 3)
        found = added(a, b, y, -128, 127)
        for _ in range(300):
            i, j = draw.randrange(256), draw.randrange(256)
            real = (i - 128 - a.zero) * Fraction(a.scale) + (j - 128 - b.zero) * Fraction(b.scale)
            wanted = min(max(round(real / Fraction(y.scale)) + y.zero, -128), 127)
            assert found[i, j] == wanted


def test_what_is_found_is_the_same_for_every_pair_and_fits_into_int32() -> None:
    draw = random.Random(2)
    found = 0
    for _ in range(40):
        a, b, y = _drawn(draw), _drawn(draw), _drawn(draw)
        low = draw.choice([-128, y.zero])
        form = pair_sum(a, b, y, low, 127)
        if form is None:
            continue
        found += 1
        stored = np.arange(-128, 128)
        sums = stored[:, None] * form.by_a + stored[None, :] * form.by_b
        assert max(abs(sums.min()), sums.max()) + abs(form.offset) < 2**31
        q = np.clip((sums + form.offset) >> form.right, low, 127)
        assert np.array_equal(q, added(a, b, y, low, 127))
    assert found >= 36


def test_exact_ties_need_a_bit_of_the_result() -> None:
    """Halves of steps go to the even one, which a shift alone cannot do."""
    found = pair_sum(Affine(0.5, 0), Affine(0.5, 0), Affine(1.0, 0), -128, 127)
    assert found
    assert found.ties
