"""Resize of int8: bytes that move, and linear interpolation against rationals rounded once."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from edgeconv.ir.activation import grid
from edgeconv.ir.encoding import Encoding, int8
from edgeconv.kernels.ops.interpolation import tables, whole_weights
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check

X, Y = int8(0.043123456, 17), int8(0.035712345, -40)
Shape = tuple[int, ...]


def attributes(mode: str, shape: Shape, out: Shape, **others: Any) -> dict[str, Any]:
    scales = tuple(m / n for n, m in zip(shape, out, strict=True))
    return {
        "mode": mode,
        "coordinate_transformation_mode": "half_pixel",
        "nearest_mode": "round_prefer_floor",
        "cubic_coeff_a": -0.75,
        "exclude_outside": False,
        "scales": scales,
        **others,
    }


def linear(
    build: Build, shape: Shape, out: Shape, y: Encoding = Y, least: int = 0, **others: Any
) -> list[Case]:
    """Those in integers; of the result's steps ``least`` are cut off at the lower end."""
    attrs = attributes("linear", shape, out, **others)
    stored = np.random.default_rng(sum(shape)).integers(-128, 128, shape)
    stored.reshape(-1)[:3] = -128, 127, -128
    sums, over = stored - X.zero[0], 1
    for axis, (size, wanted) in enumerate(zip(shape, out, strict=True)):
        index, weight = tables(size, wanted, attrs["scales"][axis], attrs)
        found = whole_weights(weight)
        assert found is not None
        dims = [-1 if i == axis else 1 for i in range(len(shape))]
        each = zip(index, found[0].astype(np.int64), strict=True)
        sums = sum(np.take(sums, i, axis) * w.reshape(dims) for i, w in each)
        over *= found[1]
    unit, low = Fraction(X.scale[0]) / Fraction(y.scale[0]) / over, -128 - y.zero[0]
    made = np.array([round(int(total) * unit) for total in sums.reshape(-1)]).reshape(out)
    steps = np.clip(made, low + least, low + 255)
    spec = Spec(
        "Resize",
        {"x": ((stored - X.zero[0]) * np.float32(X.scale[0])).astype(np.float32)},
        out,
        attrs,
        before=grid(y.scale[0], low + least, low + 255),
        storage={"x": str(X), "out": str(y)},
    )
    wanted = (steps * np.float32(y.scale[0])).astype(np.float32)
    cases = [c for c in spec.cases(build.target, wanted) if c.layer.algorithm == "int8_resize"]
    assert len(cases) == 1, (shape, out, attrs)
    return cases


def nearest(build: Build, shape: Shape, out: Shape) -> list[Case]:
    """In every layout, as float32 and as int8."""
    stored = np.random.default_rng(sum(shape)).integers(-128, 128, shape) - X.zero[0]
    x, attrs = (
        (stored * np.float32(X.scale[0])).astype(np.float32),
        attributes("nearest", shape, out),
    )
    found = list[Case]()
    for storage in ({}, {"x": str(X), "out": str(X)}):
        made = Spec("Resize", {"x": x}, out, attrs, storage=storage).cases(build.target)
        assert {case.layer.algorithm for case in made} == {"resize_copies"}
        found += made
    return found


def test_linear(build: Build, folder: Path) -> None:
    """Channels around vectors; denominators that are powers of two, and others; halves of a step,
    which go to the even one; one, two and three dimensions, larger and smaller."""
    lanes, found = build.target.lanes, list[Case]()
    for c in sorted({1, 3, lanes, 4 * lanes + 1, 5 * lanes + 3}):
        found += linear(build, (1, c, 4, 3), (1, c, 8, 6))
    same = int8(X.scale[0], -9)
    corners: dict[str, Any] = {"coordinate_transformation_mode": "align_corners"}
    found += linear(build, (2, 5, 3, 4), (2, 5, 6, 8), same, least=30)
    found += linear(build, (2, 5, 4, 6), (2, 5, 2, 3))
    found += linear(build, (1, 6, 3, 5), (1, 6, 9, 5))
    found += linear(build, (1, 6, 4, 4), (1, 6, 7, 9), **corners)
    found += linear(build, (1, 7, 5), (1, 7, 10))
    found += linear(build, (1, 3, 2, 3, 2), (1, 3, 4, 3, 4))
    check(build, found, folder)


def test_nearest(build: Build, folder: Path) -> None:
    """Lines that repeat, that are left out, and images."""
    found = list[Case]()
    for shape, out in (
        ((2, 5, 3, 4), (2, 5, 6, 12)),
        ((1, 18, 4, 3), (1, 18, 4, 9)),
        ((1, 3, 6, 4), (1, 3, 4, 2)),
        ((1, 2, 3, 2, 2), (1, 2, 5, 4, 2)),
        ((1, 4, 5), (1, 4, 11)),
    ):
        found += nearest(build, shape, out)
    check(build, found, folder)
