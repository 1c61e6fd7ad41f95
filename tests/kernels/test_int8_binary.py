"""Sums, differences and products of int8 in integers, against rational arithmetic rounded once."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import grid
from edgeconv.ir.encoding import Encoding, int8
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check

A, B = int8(0.0431, 17), int8(0.0173, -101)
KINDS = {"add": int8(0.0489, -5), "sub": int8(0.0371, 30), "mul": int8(0.0219, -77)}
Shape = tuple[int, ...]


def numbers(shape: Shape, encoding: Encoding, seed: int) -> npt.NDArray[np.int64]:
    """Integers less the zero point; of many all, else extremes among them."""
    count = int(np.prod(shape))
    whole = np.random.default_rng(seed).integers(-128, 128, count)
    whole[: min(count, 2)] = (-128, 127)[: min(count, 2)]
    return whole.reshape(shape) - encoding.zero[0]


def exactly(
    kind: str, a: npt.NDArray[np.int64], b: npt.NDArray[np.int64], y: Encoding, low: int, high: int
) -> npt.NDArray[np.float32]:
    """In steps of the result, from ``low`` to ``high``."""
    unit_a, unit_b, step = (Fraction(each.scale[0]) for each in (A, B, y))
    known: dict[tuple[int, int], int] = {}
    pairs = np.broadcast_arrays(a, b)
    steps = np.empty(pairs[0].shape)
    for place in np.ndindex(steps.shape):
        p, q = int(pairs[0][place]), int(pairs[1][place])
        if (p, q) not in known:
            x, z = p * unit_a, q * unit_b
            real = {"add": x + z, "sub": x - z, "sub_from": z - x, "mul": x * z}[kind]
            known[p, q] = min(max(round(real / step), low), high)
        steps[place] = known[p, q]
    return (steps * np.float32(y.scale[0])).astype(np.float32)


def cases(
    kind: str, build: Build, first: Shape, second: Shape, *, swapped: bool = False, least: int = 0
) -> list[Case]:
    """Those in integers; of the result's steps ``least`` are cut off at the lower end."""
    a, b, y = numbers(first, A, 1), numbers(second, B, 2), KINDS[kind]
    low = -128 - y.zero[0]
    other = "sub_from" if swapped and kind == "sub" else kind
    wanted = exactly(other, a, b, y, low + least, low + 255)
    real = {
        "a": (a * np.float32(A.scale[0])).astype(np.float32),
        "b": (b * np.float32(B.scale[0])).astype(np.float32),
    }
    if swapped:
        real = dict(reversed(real.items()))
    spec = Spec(
        "Binary",
        real,
        wanted.shape,
        attrs={"kind": kind},
        before=grid(y.scale[0], low + least, low + 255),
        storage={"a": str(A), "b": str(B), "out": str(y)},
    )
    found = [
        case for case in spec.cases(build.target, wanted) if case.layer.algorithm == "int8_binary"
    ]
    assert found, (kind, first, second)
    return found


def test_against_rationals(build: Build, folder: Path) -> None:
    """Lengths around four vectors; numbers for each channel, of one image or several, by pixels and
    by planes; either operand first; bounds of an activation."""
    n, found = 4 * build.target.lanes, list[Case]()
    for count in sorted({1, n // 4 + 1, n - 1, n, 2 * n + 3}):
        found += [case for kind in KINDS for case in cases(kind, build, (1, count), (1, count))]
    for c in sorted({1, 3, n // 4 + 1, n, n + n // 4, 2 * n + 5}):
        found += cases("mul", build, (1, c, 2, 3), (1, c, 1, 1), least=30)
    pixels = n // 2 + 3
    for kind in KINDS:
        found += cases(kind, build, (2, 5, 3, pixels), (2, 5, 1, 1))
        found += cases(kind, build, (2, 3, 2, 2), (1, 3, 1, 1))
        found += cases(kind, build, (1, 3, 5, 7), (1, 3, 5, 7), least=9)
        found += cases(kind, build, (1, 4, 3, 3), (1, 4, 1, 1), swapped=True)
    check(build, found, folder)
