"""A tensor and constants by channel, as TensorFlow Lite has them: lines that kernels compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from edgeconv.ir.requantisation import tflite
from edgeconv.ir.requantisation.channel_lines import tflite_with_constants
from edgeconv.ir.requantisation.exact import Integers
from edgeconv.ir.requantisation.pair import STORED, Affine

A, SCALE, Y = Affine(0.021, -7), 0.013, Affine(0.043, 5)
NUMBERS = (-128, -61, 0, 1, 77, 127)
LOW, HIGH = -100, 127
Pairs = Callable[[Affine, Affine, Affine, int, int], "Integers | None"]


@pytest.mark.parametrize(
    ("kind", "pairs", "signs"),
    [
        ("add", tflite.added, (1, 1)),
        ("sub", tflite.added, (1, -1)),
        ("sub_from", tflite.added, (-1, 1)),
        ("mul", tflite.multiplied_pairs, (1, 1)),
    ],
)
def test_a_channel_is_the_column_of_its_constant(
    kind: str, pairs: Pairs, signs: tuple[int, int]
) -> None:
    """That of all pairs of int8, for each of the 256 numbers."""
    of_a, of_b = replace(A, scale=signs[0] * A.scale), Affine(signs[1] * SCALE, 0)
    every = pairs(of_a, of_b, Y, LOW, HIGH)
    lines = tflite_with_constants(kind, A, NUMBERS, SCALE, Y, LOW, HIGH)
    assert every is not None
    assert lines is not None
    found = lines.of(STORED[None], np.zeros((1, 1), np.int64))
    assert np.array_equal(found, every[:, np.array(NUMBERS) + 128].T)


@pytest.mark.parametrize(("kind", "scale"), [("add", 1e-9), ("mul", 1e-4)])
def test_no_factor_of_one_or_more(kind: str, scale: float) -> None:
    assert tflite_with_constants(kind, A, NUMBERS, SCALE, Affine(scale, 0), LOW, HIGH) is None


def test_a_channel_without_a_line() -> None:
    """Rounding twice moves results of 88 away from every line; those of 77 lie on one."""
    lone = [tflite_with_constants("mul", A, (n,), SCALE, Y, LOW, HIGH) for n in (77, 88)]
    assert [line is not None for line in lone] == [True, False]
    assert tflite_with_constants("mul", A, (77, 88), SCALE, Y, LOW, HIGH) is None
