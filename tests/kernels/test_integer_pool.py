"""Pools of int8 and int16 in integers: maxima, and averages in rationals, rounded once."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import NONE, grid
from edgeconv.ir.encoding import Encoding, int8, int16
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check

X, Y = int8(0.043123456, 17), int8(0.035712345, -40)
WIDE, NARROW = int16(0.00043123456, -1700), int16(0.000357, 0)
Shape = tuple[int, ...]


def windows(
    q: npt.NDArray[np.int64], attrs: dict[str, Any], out: Shape
) -> Iterator[tuple[Shape, npt.NDArray[np.int64], int]]:
    """Of every output pixel the numbers (N, C, any) that it meets, and how many it counts."""
    rank, size = len(out), q.shape[2:]
    for place in np.ndindex(out):
        spans, counted = [], 1
        for axis in range(rank):
            first = place[axis] * attrs["strides"][axis] - attrs["pads"][axis]
            taps = first + np.arange(attrs["kernel"][axis]) * attrs["dilations"][axis]
            inside = taps[(taps >= 0) & (taps < size[axis])]
            spans.append(inside)
            before, after = attrs["pads"][axis], attrs["pads"][rank + axis]
            within = (taps >= -before) & (taps < size[axis] + after)
            counted *= int(within.sum()) if attrs["count_include_pad"] else len(inside)
        met = q[np.ix_(*(range(n) for n in q.shape[:2]), *spans)]
        yield place, met.reshape(*q.shape[:2], -1), counted


def cases(
    build: Build,
    shape: Shape,
    mode: str,
    *,
    x: Encoding = X,
    y: Encoding = Y,
    least: int = 0,
    **window: Any,
) -> list[Case]:
    """Those in integers; of the result's steps ``least`` are cut off at the lower end."""
    rank = len(shape) - 2
    attrs: dict[str, Any] = {
        "mode": mode,
        "kernel": (3,) * rank,
        "strides": (1,) * rank,
        "dilations": (1,) * rank,
    }
    attrs |= {"pads": (0,) * 2 * rank, "count_include_pad": False, **window}
    spans = [(k - 1) * d + 1 for k, d in zip(attrs["kernel"], attrs["dilations"], strict=True)]
    room = [n + attrs["pads"][i] + attrs["pads"][rank + i] for i, n in enumerate(shape[2:])]
    sizes = zip(room, spans, attrs["strides"], strict=True)
    out = tuple((n - span) // stride + 1 for n, span, stride in sizes)
    whole = np.random.default_rng(sum(shape)).integers(x.low, x.high + 1, shape)
    whole.reshape(-1)[:3] = x.low, x.high, x.low
    q, y = whole - x.zero[0], x if mode == "max" else y
    steps = np.empty((*shape[:2], *out))
    low, high = y.low - y.zero[0], y.high - y.zero[0]
    for place, met, counted in windows(q, attrs, out):
        at: tuple[Any, ...] = (slice(None), slice(None), *place)
        if mode == "max":
            steps[at] = met.max(axis=2)
        else:
            unit = Fraction(x.scale[0]) / Fraction(y.scale[0]) / counted
            made = [round(int(total) * unit) for total in met.sum(axis=2).reshape(-1)]
            steps[at] = np.clip(np.array(made).reshape(shape[:2]), low + least, high)
    spec = Spec(
        "Pool",
        {"x": (q * np.float32(x.scale[0])).astype(np.float32)},
        steps.shape,
        attrs=attrs,
        before=NONE if mode == "max" else grid(y.scale[0], low + least, high),
        storage={"x": str(x), "out": str(y)},
    )
    wanted = (steps * np.float32(y.scale[0])).astype(np.float32)
    own = "int8_pool" if x.bits == y.bits == 8 else "int16_pool"
    found = [c for c in spec.cases(build.target, wanted) if c.layer.algorithm == own]
    assert found, (shape, attrs)
    return found


def of_16_bits(build: Build) -> list[Case]:
    """Channels around vectors, borders that make windows differ, one, two and three dimensions, all
    of the input; one side of eight bits; halves of a step.  `test_int16_function` runs them."""
    found, lanes = list[Case](), build.target.lanes
    half = max(1, build.target.byte_vectors.count // 2)
    pads: dict[str, Any] = {"pads": (1, 1, 1, 1)}
    for c in sorted({1, half - 1, half, 2 * half + 3} - {0}):
        found += cases(build, (1, c, 4, 5), "max", x=WIDE, **pads)
    for c in sorted({1, lanes, 4 * lanes + 1, 5 * lanes + 3}):
        found += cases(build, (1, c, 4, 5), "average", x=WIDE, y=NARROW, **pads)
    for mode in ("max", "average"):
        both: dict[str, Any] = {"x": WIDE, "y": NARROW}
        found += cases(build, (2, 5, 7, 9), mode, **both, kernel=(2, 3), strides=(2, 3))
        found += cases(build, (1, 4, 9), mode, **both, strides=(2,), pads=(1, 1))
        found += cases(build, (1, 3, 4, 4, 5), mode, **both, kernel=(2, 2, 2))
    same = int16(WIDE.scale[0], 5)
    found += cases(build, (1, lanes + 1, 4, 6), "average", x=WIDE, y=same, kernel=(4, 6))
    found += cases(build, (1, 5, 4, 6), "average", x=WIDE, y=Y, least=60, kernel=(4, 6))
    found += cases(build, (1, 4 * lanes + 1, 4, 6), "average", y=NARROW, kernel=(2, 2))
    return found


def test_against_rationals(build: Build, folder: Path) -> None:
    """Channels around vectors; borders, strides, dilations, images; one, two and three dimensions;
    windows that are all of the input; halves of a step, which go to the even one."""
    found, lanes, wide = list[Case](), build.target.lanes, build.target.byte_vectors.count
    for c in sorted({1, wide - 1, wide, wide + 1, 2 * wide + 3} - {0}):
        found += cases(build, (1, c, 4, 5), "max", pads=(1, 1, 1, 1))
    for c in sorted({1, 3, lanes, 4 * lanes + 1, 6 * lanes, 5 * lanes + 3}):
        found += cases(build, (1, c, 4, 5), "average", pads=(1, 1, 1, 1))
    for mode in ("max", "average"):
        found += cases(build, (2, 5, 7, 9), mode, kernel=(2, 3), strides=(2, 3), pads=(1, 0, 0, 2))
        found += cases(build, (1, 6, 9, 7), mode, dilations=(2, 1), pads=(1, 1, 2, 1))
        found += cases(build, (1, 4, 9), mode, strides=(2,), pads=(1, 1))
        found += cases(build, (1, 3, 4, 4, 5), mode, kernel=(2, 2, 2))
        found += cases(build, (2, 2 * lanes + 1, 5, 3), mode, kernel=(5, 3))
    found += cases(build, (1, 5, 4, 6), "average", least=60, kernel=(4, 6))
    centred = int8(0.043123456, 0)
    pads: dict[str, Any] = {"pads": (1, 1, 1, 1), "count_include_pad": True}
    found += cases(build, (1, 5, 4, 6), "average", x=centred, **pads)
    same = int8(X.scale[0], -9)  # halves of a step of windows of 4, 6 and 9 numbers
    found += cases(build, (1, lanes + 1, 4, 6), "average", y=same, pads=(1, 1, 1, 1))
    found += cases(build, (1, 5, 4, 6), "average", y=same, kernel=(4, 6))
    for kernel in ((2, 2), (8, 8)):
        found += cases(
            build, (1, lanes + 1, 8, 8), "average", y=int8(0.043123456, -9), kernel=kernel
        )
    check(build, found, folder)
