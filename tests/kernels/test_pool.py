"""Pooling kernels in every layout, against float64."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np

from edgeconv.ir.activation import Activation
from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check

rng = np.random.default_rng(11)

# spatial size, kernel, strides, dilations, pads (begins, ends), extra rows from ceil_mode
WINDOWS = (
    ((9, 11), (3, 3), (1, 1), (1, 1), (1, 1, 1, 1)),
    ((9, 12), (3, 3), (2, 2), (1, 1), (0, 0, 0, 0)),
    ((10, 12), (3, 3), (2, 2), (1, 1), (1, 1, 1, 1)),
    ((8, 22), (2, 2), (2, 2), (1, 1), (0, 0, 0, 0)),
    ((7, 40), (3, 5), (1, 1), (1, 1), (0, 2, 2, 1)),
    ((13, 14), (3, 2), (2, 3), (2, 3), (2, 0, 1, 1)),
    ((7, 7), (7, 7), (1, 1), (1, 1), (0, 0, 0, 0)),
    ((7, 5), (7, 5), (1, 1), (1, 1), (3, 2, 3, 2)),
    ((37,), (4,), (2,), (1,), (1, 2)),
    ((23,), (23,), (1,), (1,), (0, 0)),
    ((4, 5, 9), (2, 3, 2), (1, 2, 2), (1, 1, 2), (1, 1, 0, 0, 1, 1)),
    ((3, 2, 5), (3, 2, 5), (1, 1, 1), (1, 1, 1), (0,) * 6),
)
Window = tuple[tuple[int, ...], ...]


def out_sizes(window: Window, ceil_mode: bool) -> tuple[int, ...]:
    sizes = []
    size, kernel, strides, dilations, pads = window
    rank = len(size)
    for d in range(rank):
        span = size[d] + pads[d] + pads[rank + d] - (kernel[d] - 1) * dilations[d] - 1
        out = (-(-span // strides[d]) if ceil_mode else span // strides[d]) + 1
        if (out - 1) * strides[d] >= size[d] + pads[d]:  # no window starts in the end padding
            out -= 1
        sizes.append(out)
    return tuple(sizes)


def spec_of(
    window: Window, channels: int, mode: str, ceil_mode: bool, padding_counts: bool
) -> Spec:
    size, kernel, strides, dilations, pads = window
    x: Array = rng.uniform(-2, 2, (2, channels, *size)).astype(np.float32)
    attrs = {
        "mode": mode,
        "kernel": kernel,
        "strides": strides,
        "dilations": dilations,
        "pads": pads,
        "count_include_pad": padding_counts,
    }
    exact = mode == "max"
    shape = (2, channels, *out_sizes(window, ceil_mode))
    return Spec("Pool", {"x": x}, shape, attrs, tolerance=0 if exact else 3, scale=2)


def test_windows(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    specs = [
        spec_of(window, channels, mode, ceil_mode, padding_counts)
        for window in WINDOWS
        for channels in (lanes, lanes + 1)
        for ceil_mode in {out_sizes(window, ceil): ceil for ceil in (False, True)}.values()
        for mode, padding_counts in (("max", False), ("average", False), ("average", True))
        if not padding_counts or any(window[4])
    ]
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_strips(build: Build, folder: Path) -> None:
    """Rows of every length around a strip of pixels whose windows lie inside, with padding at
    either end or at none: strips end where the last such window does."""
    windows = [
        ((2, width), (1, kernel), (1, stride), (1, 1), (0, before, 0, after))
        for width in range(3, 13)
        for kernel, stride in ((2, 1), (3, 1), (3, 2))
        for before, after in ((0, 0), (0, 1), (1, 1))
    ]
    lanes = build.target.lanes
    specs = [spec_of(window, lanes, mode, False, False) for window in windows
             for mode in ("max", "average")]  # fmt: skip
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def test_epilogue(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    specs = []
    for mode, window in product(("max", "average"), (WINDOWS[2], WINDOWS[6])):
        for channels in (1, 2 * lanes, 2 * lanes + 3):
            plain = spec_of(window, channels, mode, False, False)
            residual: Array = rng.uniform(-2, 2, plain.shape).astype(np.float32)
            specs.append(
                Spec(
                    "Pool",
                    plain.inputs,
                    plain.shape,
                    plain.attrs,
                    (),
                    Activation("abs"),
                    residual,
                    Activation("relu"),
                    3,
                    2,
                )
            )
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)
