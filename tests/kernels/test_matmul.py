"""Products of run-time matrices against float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgeconv.ir.activation import Activation
from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check

rng = np.random.default_rng(3)
RELU = Activation("relu")


def numbers(*shape: int, reach: float = 2.0) -> Array:
    return rng.uniform(-reach, reach, shape).astype(np.float32)


def run(build: Build, folder: Path, specs: list[Spec]) -> None:
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_matmul(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    specs = []
    for a, b in (
        ((5, 7), (7, 3)),
        ((4, 8), (8, 4 * lanes)),
        ((9, 17), (17, 5 * lanes + 1)),
        ((2, 3, 6, 5), (2, 3, 5, lanes + 2)),
        ((2, 1, 6, 5), (3, 5, 4)),
        ((6, 5), (4, 5, 2)),
        ((5,), (5, 6)),
        ((3, 4, 5), (5,)),
        ((5,), (5,)),
        ((1, 1), (1, 1)),
    ):
        x, y = numbers(*a), numbers(*b)
        out = np.matmul(x, y).shape
        specs.append(Spec("MatMul", {"a": x, "b": y}, out, after=RELU, tolerance=8, scale=4))
    specs.append(
        Spec(
            "MatMul",
            {"a": numbers(6, 5), "b": numbers(5, 20)},
            (6, 20),
            {},
            ("b",),
            RELU,
            numbers(6, 20),
            tolerance=8,
            scale=4,
        )
    )
    run(build, folder, specs)
