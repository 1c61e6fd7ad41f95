"""Direct convolution by outer products against float64: tiles, depths, rows, epilogues.

Sizes derive from the words of a vector of the unit.  One length runs in `make test`, all of them in
`make test-all`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from convtime.cases import lowered
from counting.program import Counter

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.request import Request
from edgeconv.kernels import algorithms
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.outer.plan import OuterPlan
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.run.build.toolchain import program_named
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target
from tests.kernels import builds
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_conv import RELU, conv

ABLE = [name for name, row in TARGETS.items() if any(kernel.outer for kernel in row.kernels)]
LENGTHS = [pytest.param(n, marks=() if n == "sme512" else pytest.mark.slow) for n in ABLE]
TINY = (Cache(1, 1024, 64), Cache(2, 4096, 64))
CLIP = Activation("clip", -0.5, 1.5)


@pytest.fixture(params=LENGTHS)
def build(request: pytest.FixtureRequest) -> Iterator[Build]:
    """A target whose unit finishes convolutions."""
    with builds.Way(str(request.param), "gcc", memory_sums=True).build() as found:
        yield found


def outer(spec: Spec, target: Target) -> list[Case]:
    """The cases of a convolution computed by outer products."""
    return replace(spec, request=Request("outer")).cases(target)


def words(target: Target) -> int:
    """Words of a vector of the unit."""
    return next(row.row_multiple for row in target.kernels if row.outer)


def run(build: Build, folder: Path, *specs: Spec, target: Target | None = None) -> None:
    """All of ``specs``."""
    check(build, [c for spec in specs for c in outer(spec, target or build.target)], folder)


def test_tiles(build: Build, folder: Path) -> None:
    """Filters and pixels one less, as many and one more than one, two and four vectors; where all
    pixels are one vector, where tiles of filters meet four vectors of them, and two by two."""
    w = words(build.target)
    around = (
        *((w, 1), (w - 1, 4 * w - 1), (1, 4 * w + 1)),  # pixels, filters
        *((w + 1, w), (4 * w + 1, w - 1), (4 * w, 1)),
        *((2 * w, 2 * w), (2 * w - 1, w + 1), (2 * w + 1, 3 * w), (5 * w + 2, 2 * w + 1)),
    )
    run(build, folder, *(conv((1, 6, 1, p), f, (1, 3), (0, 1, 0, 1)) for p, f in around))


def test_depths(build: Build, folder: Path) -> None:
    """So many products that none, one, two and three are left of those at a time, for all tiles;
    a deep sum."""
    w = words(build.target)
    shapes = ((2 * w, 2 * w), (4 * w, w), (w, 4 * w))
    deep = conv((1, 64, 3, 2 * w), 2 * w, (3, 3), (1, 1, 1, 1))
    few = [conv((1, c, 1, p), f, (1, 1)) for p, f in shapes for c in range(1, 10)]
    run(build, folder, *few, deep)


def test_windows(build: Build, folder: Path) -> None:
    """Strides of rows, columns and both, phases that no tap meets, dilations, borders on every
    side, kernels as large as the input; in place and copied; groups and several images."""
    w = words(build.target)
    x = (2, 3, 9, w + 5)
    run(
        build,
        folder,
        *(
            conv(x, w + 3, kernel, pads, strides, dilations)
            for kernel, pads, strides, dilations in (
                ((3, 3), (1, 1, 1, 1), (2, 2), (1, 1)),
                ((7, 7), (3, 3, 3, 3), (2, 2), (1, 1)),
                ((5, 2), (0, 3, 2, 1), (1, 3), (1, 2)),
                ((2, 3), (2, 0, 1, 4), (3, 1), (2, 2)),
                ((1, 1), (0, 0, 0, 0), (2, 2), (1, 1)),
                ((3, 3), (0, 0, 0, 0), (1, 1), (2, 1)),
                ((9, 5), (0, 0, 0, 0), (1, 1), (1, 1)),
                ((3, 3), (5, 7, 4, 6), (1, 2), (1, 1)),  # windows that are border alone
            )
        ),
        conv((1, 12, 5, 11), 9, (3, 3), (1, 1, 1, 1), groups=3),
        conv((3, 8, 4, 4), 2 * w + 2, (1, 1), groups=2),
        conv((1, 4, w + 2), w, (3,), (1, 1)),
    )


def test_stretches(build: Build, folder: Path) -> None:
    """Rows of one pixel, shorter than a vector, and further apart than one and two."""
    w = words(build.target)
    run(
        build,
        folder,
        *(
            conv((1, 2, 7, out_w + reach), w + 1, (1, reach + 1))
            for out_w in (1, 2, w - 1)
            for reach in (1, w, 2 * w + 3)
        ),
    )


def test_epilogues(build: Build, folder: Path) -> None:
    """None, bounds and other functions, alone and around a residual; sums without a bias."""
    w = words(build.target)

    def of(*, residual: bool = False, before: Activation = NONE, after: Activation = NONE) -> Spec:
        spec = conv((1, 5, 3, w + 3), w + 6, (3, 3), (1, 1, 1, 1), residual=residual, after=after)
        return replace(spec, before=before)

    silu = Activation("silu")
    run(
        build,
        folder,
        *(of(after=kind) for kind in (NONE, RELU, CLIP, silu)),
        *(of(residual=True, after=kind) for kind in (NONE, RELU, CLIP, silu)),
        *(of(residual=True, before=kind, after=RELU) for kind in (RELU, CLIP)),
        of(residual=True, before=CLIP, after=silu),
        of(before=RELU),
        of(before=silu),
        conv((1, 5, 3, w + 3), w + 6, (3, 3), bias=False),
    )


def test_other_activations_before_a_residual_are_not_for_it() -> None:
    spec = conv((1, 5, 3, 9), 6, (3, 3), residual=True)
    (graph, _) = replace(spec, before=Activation("silu")).graph()
    found = algorithms.applicable(graph.nodes[0], graph, TARGETS["sme512"], "outer")
    assert not found


def test_rows_at_a_time(build: Build, folder: Path) -> None:
    """Planes of some rows, the last of fewer: where caches are small, and workspace is short."""
    w = words(build.target)
    tiny = replace(build.target, caches=TINY)
    spec = conv((2, 6, 13, w // 2 + 3), w + 2, (3, 3), (1, 1, 1, 1), (1, 1), residual=True)
    graph, _ = spec.graph()
    plans = [
        found.plan
        for found in algorithms.applicable(graph.nodes[0], graph, tiny, "outer")
        if isinstance(found.plan, OuterPlan)
    ]
    problem = problem_of(graph.nodes[0], graph)
    sizes = [plan.planes_bytes(problem) for plan in plans]
    assert sizes == sorted(set(sizes), reverse=True)
    assert plans[-1].rows < 13
    run(build, folder, spec, replace(spec, residual=None), target=tiny)


def test_what_is_not_finite_stays_where_it_is(build: Build, folder: Path) -> None:
    """Infinity and NaN reach the outputs whose windows have them, and no others."""
    w = words(build.target)
    spec = conv((1, 3, 5, w + 4), w, (3, 3), (1, 1, 1, 1))
    x = spec.inputs["x"].copy()
    x[0, 1, 2, 3], x[0, 2, 4, w + 3] = np.inf, np.nan
    run(build, folder, replace(spec, inputs={**spec.inputs, "x": x}))


def test_by_clang_without_a_warning(folder: Path) -> None:
    """Which counts assembly as a string that ISO C limits (-Werror, -Wpedantic)."""
    with builds.Way("sme512", "gcc", memory_sums=True).build() as by_gcc:
        # Clang 14 assembles no SME.
        clang = program_named("clang-19") or pytest.skip("clang-19 is not installed")
        options = ("--target=aarch64-linux-gnu", *by_gcc.compiler[1:])
        by_clang = replace(by_gcc, name="sme512 by clang", compiler=(clang, *options))
        run(by_clang, folder, conv((1, 3, 5, 20), 17, (3, 3), (1, 1, 1, 1), after=RELU))


def test_a_board_without_rates_is_priced_in_instructions(folder: Path) -> None:
    """What is predicted is what QEMU counts, by a fifth at most."""
    builds.find(TARGETS["sme512"], "gcc")  # or it is skipped
    board, same = boards.load("generic-sme"), (1, 1, 1, 1)
    specs = (
        conv((1, 32, 28, 28), 64, (3, 3), same, after=RELU),
        conv((1, 32, 28, 28), 64, (3, 3), same, (2, 2)),
        conv((1, 64, 14, 14), 96, (1, 1)),
        conv((1, 3, 56, 56), 32, (7, 7), (3, 3, 3, 3), (2, 2), after=RELU),
        conv((1, 64, 4, 4), 100, (3, 3), same, residual=True),
    )
    graphs = [spec.graph()[0] for spec in specs]
    calls = [lowered("outer", "outer", graph.nodes[0], graph, board.target) for graph in graphs]
    counter = Counter(board, calls, folder)
    for number, call in enumerate(calls):
        candidate = call.layer.candidate
        assert isinstance(candidate, ConvCandidate)
        counted = counter.instructions(number)
        assert candidate.plan.cost == pytest.approx(counted, rel=0.2), specs[number].shape
