"""Predicted traffic: against a simulation of every line touched, and what always holds of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.kernels.algorithms.sconv.search import Search
from edgeconv.kernels.algorithms.sconv.shape import Shape, Window
from edgeconv.kernels.algorithms.sconv.slicing import Schedule, slice_convolution
from edgeconv.kernels.algorithms.sconv.traffic import traffic
from edgeconv.target.cache import Cache
from tests.sconv_cache import simulate, slice_first

IS, WS = Schedule.INPUT_STATIONARY, Schedule.WEIGHT_STATIONARY


def caches_of(*sizes: int, line: int = 64) -> tuple[Cache, ...]:
    """Caches of so many KiB, the nearest first."""
    return tuple(Cache(n, size * 1024, line) for n, size in enumerate(sizes, 1))


def conv(
    in_c: int, size: tuple[int, int], out_c: int, kernel: int, stride: int = 1, dilation: int = 1
) -> Shape:
    """A two-dimensional convolution, padded to its input's size over the stride."""
    pad = (kernel - 1) * dilation // 2
    reach = (kernel - 1) * dilation + 1
    out_h, out_w = ((n + 2 * pad - reach) // stride + 1 for n in size)
    window = Window(
        (1, *size),
        (1, out_h, out_w),
        (1, kernel, kernel),
        (1, stride, stride),
        (1, dilation, dilation),
        (0, pad, pad),
    )
    return Shape(in_c, out_c, kernel**2, out_h * out_w, window=window)


# Caches are scaled with the convolutions, so that every kind of reuse is lost in some case.
SMALL, MIDDLE = caches_of(4, 32, 128), caches_of(8, 64, 256)
CASES = {
    "3x3": (conv(24, (28, 28), 48, 3), (8, 8), SMALL),
    "3x3, few channels": (conv(3, (40, 40), 32, 3), (8, 8), SMALL),
    "3x3, late": (conv(60, (7, 7), 64, 3), (16, 8), SMALL),
    "3x3, stride 2": (conv(16, (29, 29), 64, 3, 2), (8, 8), SMALL),
    "3x3, dilated": (conv(16, (24, 24), 20, 3, 1, 2), (8, 4), MIDDLE),
    "5x5": (conv(12, (14, 14), 32, 5), (8, 8), MIDDLE),
    "1x1": (conv(64, (14, 14), 64, 1), (8, 8), SMALL),
    "1x1, wide": (conv(20, (30, 37), 30, 1), (16, 6), MIDDLE),
    "1x1, stride 2": (conv(48, (28, 28), 64, 1, 2), (8, 8), MIDDLE),
    "one column": (conv(16, (64, 1), 24, 3), (8, 8), SMALL),
}


@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize("case", CASES)
def test_lines_brought_in_are_as_simulated(case: str, schedule: Schedule) -> None:
    shape, tile, caches = CASES[case]
    sliced = slice_convolution(shape, *tile, caches, schedule=schedule)
    predicted = traffic(sliced, shape, caches)
    for cache, level_traffic, played in zip(
        caches, predicted, simulate(sliced, shape, caches), strict=True
    ):
        counted = sum(played.misses.values())
        assert level_traffic.misses(cache.line) == pytest.approx(counted, rel=0.15)


@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize("case", CASES)
def test_eight_ways_with_several_tiles_in_l1(case: str, schedule: Schedule) -> None:
    """The model knows no conflicts; behind the nearest level it comes close all the same."""
    shape, tile, caches = CASES[case]
    sliced = slice_convolution(
        shape, *tile, caches, schedule=schedule, fill_l1=True, search=Search.EVEN
    )
    level_traffic = traffic(sliced, shape, caches)[0]
    counted = sum(simulate(sliced, shape, caches[:1], ways=8)[0].misses.values())
    assert level_traffic.misses(caches[0].line) == pytest.approx(counted, rel=0.25)


def test_by_hand() -> None:
    """Everything fits the second level: each operand crosses once, packed tiles never."""
    shape = Shape(in_c=16, out_c=32, taps=1, pixels=64)
    caches = caches_of(2, 64)
    sliced = slice_convolution(shape, 16, 8, caches, schedule=IS)
    near, far = traffic(sliced, shape, caches)
    assert (far.input, far.filters, far.output_writes) == (16 * 64 * 4, 16 * 32 * 4, 32 * 64 * 4)
    assert (far.output_reads, far.packed_writes, far.packed) == (0, 0, sliced.workspace)
    assert far.reads + far.writes == far.total == shape.compulsory_bytes + sliced.workspace
    assert near.filters == sliced.in_tiles * far.filters


@st.composite
def problems(draw: st.DrawFn) -> Shape:
    kernel, dilation = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    size = draw(st.tuples(st.integers(1, 60), st.integers(1, 60)))
    channels = st.integers(1, 200)
    if dilation * (kernel - 1) >= 2 * min(size):
        kernel = 1
    if kernel % 2 == 0:
        kernel -= 1
    stride = draw(st.integers(1, 4))
    return conv(draw(channels), size, draw(channels), kernel, stride, dilation)


CACHES = st.builds(
    lambda sizes, line: caches_of(*sizes, line=line),
    st.sampled_from([(32,), (16, 128), (32, 256, 2048), (48, 1280, 4096)]),
    st.sampled_from([4, 32, 64, 128]),
)
TILES = st.tuples(st.sampled_from([1, 4, 16, 48]), st.sampled_from([1, 4, 6, 14]))
SLICERS = st.builds(
    lambda **options: partial(slice_convolution, **options),
    schedule=st.sampled_from(Schedule),
    search=st.sampled_from(Search),
    fill_l1=st.booleans(),
    workspace_limit=st.sampled_from([None, 50_000]),
)


@given(problems(), TILES, CACHES, SLICERS)
def test_never_less_than_compulsory(
    shape: Shape, tile: tuple[int, int], caches: tuple[Cache, ...], slicer: partial[object]
) -> None:
    bound = partial(slice_convolution, caches=caches, **slicer.keywords)
    sliced = slice_first(shape, [tile, (1, 1)], bound)
    for level_traffic in traffic(sliced, shape, caches):
        assert level_traffic.input >= shape.input_bytes
        assert level_traffic.filters >= shape.filter_bytes
        assert level_traffic.output_writes >= shape.output_bytes
        assert (
            min(level_traffic.packed, level_traffic.packed_writes, level_traffic.output_reads) >= 0
        )
        assert level_traffic.total >= shape.compulsory_bytes


@given(problems(), TILES, CACHES, SLICERS, st.integers(1, 64))
def test_a_larger_cache_moves_no_more(
    shape: Shape,
    tile: tuple[int, int],
    caches: tuple[Cache, ...],
    slicer: partial[object],
    factor: int,
) -> None:
    bound = partial(slice_convolution, caches=caches, **slicer.keywords)
    sliced = slice_first(shape, [tile, (1, 1)], bound)
    last = caches[-1]
    larger = replace(last, level=last.level + 1, size=last.size * factor)
    levels = [*traffic(sliced, shape, caches), traffic(sliced, shape, (larger,))[0]]
    for near, far in pairwise(levels):
        assert near.total >= far.total * (1 - 1e-9)
        assert near.misses(last.line) >= far.misses(last.line) * (1 - 1e-9)
