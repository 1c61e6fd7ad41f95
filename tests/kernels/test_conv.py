"""Convolution and dense kernels in every layout they offer, against float64.

Sizes derive from the target: output channels and rows around one vector and one register tile,
so that full tiles, narrower last tiles and partly stored vectors all occur.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.request import Request
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import Target
from tests.kernels import builds
from tests.kernels.cases import Array, Build, Spec
from tests.kernels.harness import check

rng = np.random.default_rng(11)
RELU = Activation("relu")


def numbers(*shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def conv(
    x: tuple[int, ...],
    out_c: int,
    kernel: tuple[int, ...],
    pads: tuple[int, ...] = (),
    strides: tuple[int, ...] = (),
    dilations: tuple[int, ...] = (),
    groups: int = 1,
    bias: bool = True,
    residual: bool = False,
    after: Activation = NONE,
    algorithm: str = "",
) -> Spec:
    """A convolution of random numbers; tolerance for sums of ``depth`` rounded products."""
    rank = len(kernel)
    pads = pads or (0,) * (2 * rank)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    out = tuple(
        (x[2 + i] + pads[i] + pads[rank + i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1
        for i in range(rank)
    )
    shape = (x[0], out_c, *out)
    weights = numbers(out_c, x[1] // groups, *kernel)
    depth = x[1] // groups * math.prod(kernel)
    attrs = {
        "kernel": kernel,
        "strides": strides,
        "dilations": dilations,
        "pads": pads,
        "groups": groups,
    }
    return Spec(
        "Conv",
        {"x": numbers(*x), "w": weights, ("b" if bias else ""): numbers(out_c)},
        shape,
        attrs,
        ("w", "b"),
        residual=numbers(*shape) if residual else None,
        after=after,
        tolerance=4 * math.sqrt(depth),
        scale=math.sqrt(depth),
        request=Request(algorithm),
    )


def run(build: Build, folder: Path, *specs: Spec) -> None:
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)


def tile(target: Target) -> tuple[int, int]:
    """Rows and channels of the target's favourite register tile."""
    return target.tiles[0].rows, target.tiles[0].vectors * target.lanes


def test_channel_tails(build: Build, folder: Path) -> None:
    """Output channels one less, equal and one more than a vector and than a tile."""
    lanes, (_, nr) = build.target.lanes, tile(build.target)
    counts = sorted({max(lanes - 1, 1), lanes, lanes + 1, nr, nr + 1, 2 * nr + lanes + 1})
    run(build, folder, *(conv((1, 3, 4, 5), n, (3, 3), (1, 1, 1, 1)) for n in counts))


def test_pixels_as_operands(folder: Path) -> None:
    """Multiply-adds that load their pixel (Zen 4), of half a vector where channels fill no more."""
    build = builds.find(TARGETS["avx512"], "gcc", ("-O1", "-DEC_HALF_VECTORS"))
    counts = (1, 7, 8, 9, 16, 24, 25, 40, 72)
    run(
        build,
        folder,
        *(conv((1, 3, 4, 5), n, (3, 3), (1, 1, 1, 1), residual=True) for n in counts),
        *(conv((1, 48, 14, 14), n, (1, 1), after=RELU) for n in (8, 24, 40)),
    )


def test_input_channels(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    counts = sorted({1, max(lanes - 1, 1), lanes, lanes + 1, 2 * lanes + 3})
    run(build, folder, *(conv((1, n, 3, 5), lanes, (3, 2), (1, 0, 1, 1)) for n in counts))


def test_row_lengths(build: Build, folder: Path) -> None:
    """Output rows around the tile: strips at one border, at both, and between."""
    rows, nr = tile(build.target)
    run(
        build,
        folder,
        *(
            conv((1, 2, 3, n), nr, (3, 3), (1, 1, 1, 1), after=RELU)
            for n in (1, rows - 1, rows, rows + 1, 2 * rows, 3 * rows + 1)
        ),
        conv((1, 3, 5, 6 * rows), nr, (3, 3), (1, 1, 1, 1), strides=(2, 2), after=RELU),
        conv((1, 2, 4, 3 * rows + 8), nr, (3, 5), dilations=(1, 2)),
    )


def test_pointwise(build: Build, folder: Path) -> None:
    rows, nr = tile(build.target)
    run(
        build,
        folder,
        conv((1, 5, 1, 1), nr + 1, (1, 1)),
        conv((1, 4, rows, rows), nr, (1, 1), residual=True, after=RELU),
        conv((2, 3, 7, 7), nr, (1, 1), bias=False),
        conv((1, 3, 9, 9), nr, (1, 1), strides=(2, 2)),
        conv((1, 3, 5, 5), nr, (1, 1), (1, 2, 0, 1)),
        *(conv((1, n * build.target.lanes, 2, rows), nr, (1, 1), residual=True) for n in (1, 4, 5)),
    )


def test_pointwise_with_filters_from_far(build: Build, folder: Path) -> None:
    """More of them than stay in L2, so that strips fetch the next ones, in whatever layout."""
    run(build, folder, conv((1, 149, 5, 7), 136, (1, 1), residual=True))


def test_windows(build: Build, folder: Path) -> None:
    """Strides, dilations, asymmetric and wide padding, even and long kernels."""
    lanes = build.target.lanes
    run(
        build,
        folder,
        conv((1, 3, 9, 11), lanes, (3, 3), (0, 1, 2, 1), strides=(2, 2)),
        conv((1, 2, 9, 9), lanes, (3, 3), (2, 2, 2, 2), dilations=(2, 2), residual=True),
        conv((1, 2, 5, 17), lanes, (1, 7), (0, 3, 0, 3)),
        conv((1, 2, 17, 5), lanes, (7, 1), (3, 0, 3, 0)),
        conv((1, 2, 12, 13), lanes, (7, 7), (3, 3, 3, 3), strides=(2, 2)),
        conv((1, 1, 4, 4), lanes, (2, 3), (4, 5, 4, 5), strides=(3, 2), dilations=(3, 4)),
        conv((1, 1, 3, 40), lanes, (1, 3), (0, 20, 0, 20), dilations=(1, 20)),
    )


def test_groups(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    run(
        build,
        folder,
        conv((1, 6, 3, 5), 4, (3, 3), (1, 1, 1, 1), groups=2),
        conv((1, 9, 3, 5), 6, (1, 1), groups=3, residual=True),
        conv((1, 2 * lanes, 3, 4), 4 * lanes, (1, 1), groups=2),
        conv((1, 12, 3, 4), 24, (1, 1), groups=12),
        conv((1, 5, 3, 4), 5, (3, 3), (1, 1, 1, 1), groups=5, algorithm="direct"),
    )


def test_depthwise(build: Build, folder: Path) -> None:
    lanes, rows = build.target.lanes, build.target.depthwise_rows
    one = (1, 1, 1, 1)
    run(
        build,
        folder,
        *(
            conv((1, c, 5, rows + 3), c, (3, 3), one, groups=c, after=RELU)
            for c in (max(2, lanes - 1), lanes + 2)
        ),
        conv((2, 4, 7, 2 * rows + 1), 4, (3, 3), (0, 0, 1, 1), strides=(2, 2), groups=4),
        conv((1, 3, 9, 9), 3, (5, 5), (2, 2, 2, 2), groups=3, residual=True),
        conv((1, 3, 9, 9), 3, (3, 3), (2, 2, 2, 2), dilations=(2, 2), groups=3, bias=False),
        conv((1, 2, 3, 4, 5), 2, (3, 3, 3), (1,) * 6, groups=2),
    )


def test_other_ranks(build: Build, folder: Path) -> None:
    lanes = build.target.lanes
    run(
        build,
        folder,
        conv((1, 3, 9), lanes, (3,), (1, 1)),
        conv((1, 2, 3, 4, 5), lanes + 1, (3, 3, 3), (1, 1, 1, 1, 0, 1), strides=(2, 1, 1)),
        conv((1, 2, 5, 4, 3), lanes, (3, 2, 1), (3, 1, 0, 2, 1, 0), dilations=(2, 2, 1)),
        conv((1, 3, 6, 4, 3), 3, (3, 2, 1), (3, 1, 0, 2, 1, 0), dilations=(2, 2, 1), groups=3),
    )


def test_dense(build: Build, folder: Path) -> None:
    """One row, as after Flatten, and several; features around vectors and tiles."""
    lanes, (rows, nr) = build.target.lanes, tile(build.target)
    specs = []
    for m, n in [(1, 1), (1, lanes + 1), (1, 9 * lanes), (1, 300), (rows + 1, nr + 1), (3, 7)]:
        k = 37
        specs.append(
            Spec(
                "Dense",
                {"x": numbers(m, k), "w": numbers(n, k), "b": numbers(n)},
                (m, n),
                constants=("w", "b"),
                after=RELU,
                tolerance=4 * math.sqrt(k),
                scale=math.sqrt(k),
            )
        )
    run(build, folder, *specs)
