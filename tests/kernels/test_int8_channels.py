"""Sums of int8 in steps of each channel, in integers, against rational arithmetic rounded once."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

from edgeconv.ir.activation import grid
from edgeconv.ir.encoding import int8
from edgeconv.kernels.ops.int8_channels import ALGORITHM, OVER, Over
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_int8_binary import A, B, numbers

Y = int8(1.0, 7)


def cases(kind: str, build: Build, shape: tuple[int, ...], axis: int) -> list[Case]:
    """Of every layout: channels side by side, and planes of them."""
    a, b = numbers(shape, A, 1), numbers(shape, B, 2)
    over = np.random.default_rng(3).uniform(0.02, 0.09, shape[axis]).astype(np.float32)
    low, high = -120 - Y.zero[0], 127 - Y.zero[0]
    unit_a, unit_b = Fraction(A.scale[0]), Fraction(B.scale[0]) * (1 if kind == "add" else -1)
    wanted = np.empty(shape, np.float32)
    for place in np.ndindex(shape):
        real = int(a[place]) * unit_a + int(b[place]) * unit_b
        wanted[place] = min(max(round(real / Fraction(float(over[place[axis]]))), low), high)
    spec = Spec(
        "Binary",
        {
            "a": (a * np.float32(A.scale[0])).astype(np.float32),
            "b": (b * np.float32(B.scale[0])).astype(np.float32),
        },
        shape,
        attrs={"kind": kind, OVER: Over(axis, tuple(map(float, over)))},
        before=grid(1.0, low, high),
        storage={"a": str(A), "b": str(B), "out": str(Y)},
    )
    found = spec.cases(build.target, wanted)
    assert {case.layer.algorithm for case in found} == {ALGORITHM}
    return list(found)


def test_against_rationals(build: Build, folder: Path) -> None:
    """Channels, and numbers of a channel, around four vectors; along other dimensions too."""
    n = 4 * build.target.lanes
    found = cases("add", build, (2, 3, n + 1), 1)
    found += cases("sub", build, (1, n + 3, 2, 2), 1)
    found += cases("add", build, (1, 2, 5), 2)
    check(build, found, folder)
