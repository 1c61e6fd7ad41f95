"""SConv against float64: every loop of its macro-kernel, both schedules, every packing routine.

Sizes derive from the target's outer-product tiles.  Tiny caches cut even small convolutions into
several channel sets and several chunks of every kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.request import Request
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.sconv.plan import make_plan
from edgeconv.kernels.algorithms.sconv.slicing import Schedule
from edgeconv.target.cache import Cache
from edgeconv.target.targets import PANELS, Target
from tests.kernels.builds import BY_MICRO_KERNELS
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_conv import RELU, conv

pytestmark = BY_MICRO_KERNELS
TINY = (Cache(1, 6 * 1024, 64), Cache(2, 10 * 1024, 64), Cache(3, 24 * 1024, 64))
SCHEDULES = tuple(schedule.value for schedule in Schedule)


def sconv(spec: Spec, target: Target, schedule: str = "") -> list[Case]:
    """The cases of a convolution computed by SConv, under the schedule if one is given."""
    return replace(spec, request=Request("sconv", schedule=schedule)).cases(target)


def run(build: Build, folder: Path, *specs: Spec) -> None:
    """All of ``specs`` with tiny caches, under both schedules; of tiles that are larger by so much
    more that a channel still fits."""
    rows = (tile.rows for row in build.target.float_rows for tile in row.tiles)
    times = max(1, max(rows) // 32)
    tiny = replace(build.target, caches=tuple(replace(c, size=times * c.size) for c in TINY))
    check(
        build, [case for spec in specs for s in SCHEDULES for case in sconv(spec, tiny, s)], folder
    )


def run_once(build: Build, folder: Path, *groups: Sequence[Spec]) -> None:
    """All specs as the analysis slices them, and the first of each group with prefetching."""
    fetching = replace(build.target, prefetch=True)
    cases = [case for specs in groups for spec in specs for case in sconv(spec, build.target)]
    cases += [case for specs in groups for case in sconv(specs[0], fetching)]
    check(build, cases, folder)


def widest(target: Target) -> tuple[int, int]:
    """N_win and N_f of the target's first outer-product tile."""
    tile = target.kernel(PANELS).tiles[0]
    return tile.vectors * target.lanes, tile.rows


def test_edges(build: Build, folder: Path) -> None:
    """Pixels one less, equal and one more than a panel, filters likewise than a tile."""
    n_win, n_f = widest(build.target)
    around = (
        (n_win - 1, n_f + 1),
        (n_win, n_f),
        (n_win + 1, n_f - 1),
        (3 * n_win + 2, 3 * n_f + 2),
    )
    run(build, folder, *(conv((1, 9, 1, w), f, (1, 3), (0, 1, 0, 1)) for w, f in around))


def test_packing(build: Build, folder: Path) -> None:
    """Row breaks, padding on every side, wide and dilated kernels."""
    run_once(
        build,
        folder,
        *(
            (
                conv((1, 3, 9, 10), 4, (3, 3), (1, 1, 1, 1), strides),
                conv((1, 3, 11, 21), 4, (5, 7), (2, 0, 1, 3), strides),
                conv((1, 2, 13, 40), 4, (3, 3), (2, 3, 2, 1), strides, (2, 3)),
                conv((1, 2, 6, 90), 4, (2, 3), (0, 20, 0, 20), strides, (1, 20)),
                conv((1, 2, 6, 3), 4, (1, 1), (1, 2, 1, 2), strides),
            )
            for strides in ((1, 1), (2, 2), (1, 3))
        ),
    )


def test_as_many_pixels_out_as_in(build: Build, folder: Path) -> None:
    """1x1 kernels whose padding adds the pixels that their strides leave out are no plain copy."""
    specs = (
        conv((1, 3, 3, 3), 4, (1, 1), (1, 1, 1, 1), (2, 2)),
        conv((1, 16, 4, 4), 8, (1, 1), (0, 2, 0, 2), (2, 1)),
        conv((1, 3, 4, 2), 4, (1, 1), (0, 1, 0, 1), (2, 1)),
        conv((1, 2, 3, 2, 3), 4, (1, 1, 1), (2, 0, 0, 2, 0, 1), (2, 2, 1)),
        conv((1, 2, 1, 1), 4, (1, 1), (1, 1, 0, 0), (2, 2)),
        conv((1, 3, 7), 4, (1,), (4, 3), (2,)),
        conv((1, 3, 3, 3), 4, (1, 1)),
    )
    run_once(build, folder, specs)


def test_other_kinds(build: Build, folder: Path) -> None:
    """Pointwise, batches, groups, depthwise, one and three dimensions, a huge kernel."""
    specs = (
        conv((2, 37, 5, 7), 11, (1, 1)),
        conv((2, 12, 5, 6), 6, (3, 3), (1, 1, 1, 1), groups=3),
        conv((1, 6, 5, 6), 6, (3, 3), (1, 1, 1, 1), groups=6),
        conv((1, 2, 3, 4, 5), 3, (2, 3, 3), (1, 1, 1, 0, 1, 1)),
        conv((1, 4, 30), 5, (5,), (2, 2)),
        conv((1, 1, 70, 64), 5, (41, 41)),
    )
    run_once(build, folder, specs)


def test_epilogue(build: Build, folder: Path) -> None:
    """Residual and activations, with all channels at once and in several sets."""
    clip = Activation("clip", 0.0, 1.5)
    specs = []
    for channels in (3, 90):
        base = conv((1, channels, 6, 7), 5, (3, 3), (1, 1, 1, 1), residual=True, after=RELU)
        specs += [
            base,
            replace(base, before=clip, after=NONE),
            conv((1, channels, 6, 7), 5, (3, 3), (1, 1, 1, 1), bias=False),
        ]
    run(build, folder, *specs)


def test_tiny_caches_make_every_loop_run(build: Build) -> None:
    """What the tests above rely on: several channel sets and several chunks of both operands."""
    spec = conv((1, 64, 24, 70), 400, (3, 3), (1, 1, 1, 1))
    (case,) = sconv(spec, build.target)
    problem = problem_of(case.layer.node, case.graph)
    for schedule in Schedule:
        sliced = make_plan(problem, replace(build.target, caches=TINY), schedule).slicing
        assert sliced.schedule is schedule
        assert sliced.channel_sets > 1
        assert sliced.stationary_chunks > 1
        assert sliced.streaming_chunks > 1
