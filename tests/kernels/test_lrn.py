"""Local response normalisation in every layout, against float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgeconv.ir.activation import Activation
from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check

rng = np.random.default_rng(13)


def spec_of(shape: tuple[int, ...], size: int, beta: float = 0.75) -> Spec:
    x: Array = rng.uniform(-40, 40, shape).astype(np.float32)
    attrs = {"size": size, "alpha": 0.01, "beta": beta, "bias": 1.5}
    # the base, rounded size times, to a power of at most one
    return Spec("LRN", {"x": x}, shape, attrs, tolerance=2 * size + 6)


def test_windows(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    shapes = [
        *((2, c, 3, 5) for c in (1, lanes, lanes + 1, 3 * lanes, 3 * lanes + 2)),
        *((1, 5, 1, 33), (2, 19, 17), (1, 18, 2, 3, 4), (3, 20)),
    ]
    specs = [spec_of(shape, size) for size in (1, 2, 3, 5, 8, 21) for shape in shapes]
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_powers(build: Build, folder: Path) -> None:
    specs = [spec_of((1, 18, 3, 7), 5, beta) for beta in (0.5, 0.75, 1.0, 0.6, 2.0)]
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_epilogue(build: Build, folder: Path) -> None:
    specs = []
    for channels in (7, 2 * build.target.lanes):
        plain = spec_of((2, channels, 3, 7), 5)
        residual: Array = rng.uniform(-20, 20, plain.shape).astype(np.float32)
        specs.append(
            Spec(
                *("LRN", plain.inputs, plain.shape, plain.attrs),
                before=Activation("abs"),
                residual=residual,
                after=Activation("relu"),
                tolerance=16,
                scale=20,
            )
        )
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)
