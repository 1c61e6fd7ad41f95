"""Softmax and log-softmax kernels against float64."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np

from tests.kernels.harness import Array, Build, Spec, check

rng = np.random.default_rng(1)


def numbers(*shape: int, reach: float = 2.0) -> Array:
    return rng.uniform(-reach, reach, shape).astype(np.float32)


def run(build: Build, folder: Path, specs: list[Spec]) -> None:
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


SHAPES = (
    ((3, 10), 1),
    ((2, 16), 1),
    ((1, 1000), 1),
    ((2, 21, 5, 7), 1),
    ((2, 3, 33), 2),
    ((4, 1), 1),
    ((7,), 0),
    ((5, 4, 1, 1), 1),
    ((5, 19), 0),
)


def test_softmax(build: Build, folder: Path) -> None:
    specs = []
    for log, (shape, axis) in product((False, True), SHAPES):
        x = numbers(*shape, reach=30.0)
        specs.append(
            Spec(
                "Softmax",
                {"x": x},
                shape,
                {"axis": axis, "log": log},
                tolerance=8 if log else 40,
                scale=60 if log else 1e-30,
            )
        )
    run(build, folder, specs)
