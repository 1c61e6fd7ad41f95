"""Fixed point of a function of two int8 against what a model says, over all 65,536 pairs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from edgeconv.ir.requantisation import ARITHMETICS, EXACT
from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.pair import Affine, added, multiplied

STORED = np.arange(-128, 128, dtype=np.int64)
PAIRS = np.meshgrid(STORED, STORED, indexing="ij")


def affine(scale: float, zero: int) -> Affine:
    return Affine(float(np.float32(scale)), zero)


A, B = affine(0.0431, 17), affine(0.0173, -101)
RESULTS = {"add": affine(0.0489, -5), "sub": affine(0.037, 30), "mul": affine(0.0219, -77)}
RESULTS["sub_from"] = RESULTS["sub"]
SAYS = ARITHMETICS[EXACT]


def expected(kind: str, low: int, high: int) -> Integers:
    """The results of every pair of A and B."""
    if kind == "mul":
        return multiplied(A, B, RESULTS[kind], low, high)
    a = replace(A, scale=-A.scale) if kind == "sub_from" else A
    b = replace(B, scale=-B.scale) if kind == "sub" else B
    return added(a, b, RESULTS[kind], low, high)


@pytest.mark.parametrize("kind", RESULTS)
def test_every_pair(kind: str) -> None:
    for low, high in ((-128, 127), (-5, 100)):
        form = SAYS.by_value(kind, A, B, RESULTS[kind], low, high)
        assert form is not None
        assert np.array_equal(form.of(*PAIRS), expected(kind, low, high))
        words = form.words
        assert words[3] == form.factor[131]
        assert words[256 + 255] == form.offset[127]


def test_a_product_of_two_tensors() -> None:
    y = RESULTS["mul"]
    form = SAYS.product(A, B, y, -128, 127)
    assert form is not None
    found = form.of(((PAIRS[0] - A.zero) * (PAIRS[1] - B.zero)).reshape(1, -1))
    assert np.array_equal(found.reshape(256, 256), expected("mul", -128, 127))


def test_ties_go_to_the_even_step_and_have_no_form() -> None:
    """Halves of a step, up and down: a kernel rounds them up."""
    a, b, y = affine(0.25, 0), affine(0.5, 3), affine(0.25, 0)
    goal = multiplied(a, b, y, -128, 127)
    for i, j in ((129, 132), (131, 132), (127, 132), (130, 130)):
        real = Fraction(int(STORED[i])) * (int(STORED[j]) - 3) / 2
        assert goal[i, j] == round(real)
    assert SAYS.by_value("mul", a, b, y, -128, 127) is None
