"""Softmax and log-softmax kernels against float64."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np

from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check

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


def test_rows_that_are_not_finite(build: Build, folder: Path) -> None:
    """Infinities and NaN in all places, in the first vector or behind it: numpy's values."""
    inf, nan, specs = np.inf, np.nan, []
    for n in sorted({1, 3, build.target.lanes, 2 * build.target.lanes + 3}):
        rows = [np.full(n, each, np.float32) for each in (-inf, inf, nan)]
        for place, number in product({0, n - 1}, (-inf, inf, nan)):
            for others in (numbers(n), np.full(n, -inf, np.float32)):
                rows.append(others.copy())
                rows[-1][place] = number
        along = np.stack(rows)
        for log, (x, axis) in product(
            (False, True), ((along, 1), (np.ascontiguousarray(along.T), 0))
        ):
            attributes = {"axis": axis, "log": log}
            specs.append(Spec("Softmax", {"x": x}, x.shape, attributes, tolerance=40, scale=1))
    run(build, folder, specs)


def test_far_from_zero(build: Build, folder: Path) -> None:
    """Rows of every number of lanes, alone and behind a vector, whose largest element is not 0, the
    first, the last or one that another lane would stand for."""
    lanes, specs = build.target.lanes, []
    for log, n in product(
        (False, True), sorted({1, 2, 3, lanes - 1, lanes, lanes + 1, 2 * lanes + 3})
    ):
        if n < 1:
            continue
        falling = -200 - 100 * np.arange(n, dtype=np.float32)
        for row in (np.full(n, -200, np.float32), falling, falling[::-1], np.roll(falling, n // 2)):
            along = np.stack([row, row + 500])
            for x, axis in ((along, 1), (np.ascontiguousarray(along.T), 0)):
                attributes = {"axis": axis, "log": log}
                tolerance = (
                    {"tolerance": 8, "scale": 1} if log else {"tolerance": 40, "scale": 1e-30}
                )
                specs.append(Spec("Softmax", {"x": x}, x.shape, attributes, **tolerance))
    run(build, folder, specs)
