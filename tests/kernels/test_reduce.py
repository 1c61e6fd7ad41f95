"""Reductions over every set of axes in every layout, against float64."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np

from edgeconv.ir.activation import Activation
from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check

rng = np.random.default_rng(17)
KINDS = ("sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square")


def reduced(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if d in axes else size for d, size in enumerate(shape))
    return tuple(size for d, size in enumerate(shape) if d not in axes)


def spec_of(
    shape: tuple[int, ...], axes: tuple[int, ...], kind: str, keepdims: bool = True
) -> Spec:
    # positive, so that sums lose nothing; around 1, so that products stay in range
    x: Array = rng.uniform(0.75, 1.25, shape).astype(np.float32)
    if kind in ("max", "min", "l1", "l2", "sum_square"):
        x *= rng.choice(np.array([-1, 1], np.float32), shape)
    attrs = {"kind": kind, "axes": axes, "keepdims": keepdims}
    exact = kind in ("max", "min")
    # the roundings of the longest of four chains and of what joins them
    terms = int(np.prod([shape[axis] for axis in axes], dtype=int))
    tolerance = 0 if exact else terms / 2 + 8
    return Spec("Reduce", {"x": x}, reduced(shape, axes, keepdims), attrs, tolerance=tolerance)


def test_axes(build: Build, folder: Path) -> None:
    """Every set of axes of one to five dimensions."""
    shape = (2, 2 * build.target.lanes + 3, 4, 7, 3)
    specs = [
        spec_of(shape[:rank], axes, KINDS[(len(axes) + rank + keepdims) % len(KINDS)], keepdims)
        for rank in range(1, len(shape) + 1)
        for count in range(rank + 1)
        for axes in combinations(range(rank), count)
        for keepdims in (False, True)
    ]
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_kinds(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    specs = [
        spec_of(shape, axes, kind, keepdims)
        for kind in KINDS
        for shape, axes in (
            *(((2, c, 5, 7), (2, 3)) for c in (3, lanes, 2 * lanes)),
            *(((3, n), (1,)) for n in (1, lanes - 1 or 1, lanes, 9 * lanes + 5)),
            *(((7, n), (0,)) for n in (1, lanes + 1, 4 * lanes, 5 * lanes + 3)),
            ((2, 18, 5, 7), (1,)),
            ((2, 18, 5, 7), (1, 3)),
            ((2, 3, 4, 5), ()),
            ((1, 1, 1, 1), (2, 3)),
        )
        for keepdims in (False, True)
    ]
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_epilogue(build: Build, folder: Path) -> None:
    specs = []
    for axes in ((2, 3), (1,), (0, 2)):
        plain = spec_of((2, 2 * build.target.lanes, 5, 19), axes, "mean")
        residual: Array = rng.uniform(-2, 2, plain.shape).astype(np.float32)
        specs.append(
            Spec(
                *("Reduce", plain.inputs, plain.shape, plain.attrs),
                before=Activation("neg"),
                residual=residual,
                after=Activation("relu"),
                tolerance=plain.tolerance,
                scale=2,
            )
        )
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)
