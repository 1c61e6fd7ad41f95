"""Convolution Slicing Analysis on drawn shapes: tiles and chunks fit, leave no room, cover all."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from edgeconv.kernels.algorithms.sconv.search import Search
from edgeconv.kernels.algorithms.sconv.shape import Shape
from edgeconv.kernels.algorithms.sconv.slicing import (
    Residency,
    Schedule,
    Slicing,
    slice_convolution,
)
from edgeconv.target.cache import Cache
from tests.sconv_cache import hierarchy, slice_first


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    kernel = draw(st.sampled_from([1, 3, 5, 7]))
    return Shape(
        in_c=draw(st.integers(1, 600)),
        out_c=draw(st.integers(1, 600)),
        taps=kernel * kernel,
        pixels=draw(st.integers(1, 5000)),
    )


@st.composite
def hierarchies(draw: st.DrawFn) -> tuple[Cache, ...]:
    l1 = draw(st.sampled_from([8, 16, 32, 48]))
    l2 = l1 * draw(st.sampled_from([4, 8, 32]))
    return hierarchy(*(l1, l2, l2 * draw(st.sampled_from([2, 4, 16])))[: draw(st.integers(1, 3))])


TILES = st.tuples(st.sampled_from([1, 4, 8, 16, 48]), st.sampled_from([1, 4, 6, 8, 24]))
SLICERS = st.builds(
    lambda **options: partial(slice_convolution, **options),
    caches=hierarchies(),
    rule=st.sampled_from(Residency),
    schedule=st.sampled_from(Schedule),
    fill_l1=st.booleans(),
    workspace_limit=st.sampled_from([None, 20_000, 100_000]),
)


def l1_bytes(s: Slicing, nc: int, k1: int) -> int:
    """Bytes of k1 stationary tiles of nc channels, their outputs, and what streams past."""
    size, passing = (part[1] // s.nc * nc for part in (s.stationary, s.streaming))
    return k1 * (size + s.out_bytes) + min(k1, 2) * passing


def l2_bytes(s: Slicing, k2: int) -> int:
    return s.k1 * s.stationary[1] + k2 * (s.streaming[1] + s.k1 * s.out_bytes)


def l3_bytes(s: Slicing, rule: Residency, k3: int) -> int:
    outputs = s.k2 * s.out_bytes * (s.k1 if rule is Residency.RESIDENT else k3)
    return k3 * s.stationary[1] + s.k2 * s.streaming[1] + outputs


def workspace_fits(slicer: partial[Slicing], size: int) -> bool:
    limit = slicer.keywords["workspace_limit"]
    return limit is None or size <= limit


@given(shapes(), TILES, SLICERS, st.sampled_from(Search))
def test_constraints_hold(
    shape: Shape, tile: tuple[int, int], slicer: partial[Slicing], search: Search
) -> None:
    s = slice_first(shape, [tile, (1, 1)], partial(slicer, search=search))
    budgets = [int(0.8 * cache.size) for cache in slicer.keywords["caches"]]
    assert l1_bytes(s, s.nc, s.k1) <= budgets[0]
    assert len(budgets) < 2 or s.k2 == 1 or l2_bytes(s, s.k2) <= budgets[1]
    rule = slicer.keywords["rule"]
    assert len(budgets) < 3 or s.k3 == s.k1 or l3_bytes(s, rule, s.k3) <= budgets[2]
    assert workspace_fits(slicer, s.workspace)


@given(shapes(), TILES, SLICERS)
def test_binary_search_leaves_no_room(
    shape: Shape, tile: tuple[int, int], slicer: partial[Slicing]
) -> None:
    s = slice_first(shape, [tile, (1, 1)], slicer)
    budgets = [int(0.8 * cache.size) for cache in slicer.keywords["caches"]]
    (count, size), (passing, passing_size) = s.stationary, s.streaming
    if s.nc < shape.in_c:
        workspace = s.in_bytes // s.nc * (s.nc + 1)
        assert l1_bytes(s, s.nc + 1, 1) > budgets[0] or not workspace_fits(slicer, workspace)
    if slicer.keywords["fill_l1"] and s.k1 < count:
        packed = (s.k1 + 1) * size if s.input_stationary else 0
        assert l1_bytes(s, s.nc, s.k1 + 1) > budgets[0] or not workspace_fits(slicer, packed)
    if s.k2 < passing:
        packed = 0 if s.input_stationary else (s.k2 + 1) * passing_size
        full = len(budgets) > 1 and l2_bytes(s, s.k2 + 1) > budgets[1]
        assert full or not workspace_fits(slicer, packed)
    if s.k3 < count:
        more = min(count, s.k3 + s.k1)
        assert l3_bytes(s, slicer.keywords["rule"], more) > budgets[2]


@given(shapes(), TILES, SLICERS, st.sampled_from(Search))
def test_parts_cover_everything(
    shape: Shape, tile: tuple[int, int], slicer: partial[Slicing], search: Search
) -> None:
    s = slice_first(shape, [tile, (1, 1)], partial(slicer, search=search))
    (count, _), (passing, _) = s.stationary, s.streaming
    for whole, part, rest, number in (
        (shape.in_c, s.nc, s.last_nc, s.channel_sets),
        (shape.pixels, s.n_win, s.last_n_win, s.in_tiles),
        (shape.out_c, s.n_f, s.last_n_f, s.filter_tiles),
        (passing, s.k2, s.last_k2, s.streaming_chunks),
        (count, s.k3, s.last_k3, s.stationary_chunks),
    ):
        assert (number - 1) * part + rest == whole
        assert 1 <= rest <= part
    assert s.k3 % s.k1 == 0 or s.k3 == count  # groups do not straddle chunks
    assert (s.last_k3 - s.last_k1) % s.k1 == 0


@given(shapes(), TILES, SLICERS)
def test_halving_and_even_parts_take_no_more_than_binary_search(
    shape: Shape, tile: tuple[int, int], slicer: partial[Slicing]
) -> None:
    binary, halved, even = (
        slice_first(shape, [tile, (1, 1)], partial(slicer, search=search))
        for search in (Search.BINARY, Search.HALVING, Search.EVEN)
    )
    assert max(halved.nc, even.nc) <= binary.nc
    assert even.channel_sets == binary.channel_sets


@given(st.integers(1, 3000), st.integers(0, 3000))
def test_search(most: int, room: int) -> None:
    found = {search: search.largest(most, lambda value: value <= room) for search in Search}
    assert found[Search.BINARY] == min(most, room)
    halved = found[Search.HALVING]
    assert halved <= room
    assert halved in {most >> n for n in range(13)}
    assert 2 * halved + 1 > min(most, room)
    if room:
        parts = math.ceil(most / min(most, room))
        assert math.ceil(most / found[Search.EVEN]) <= parts
        assert found[Search.EVEN] == math.ceil(most / parts)


@given(shapes(), TILES, SLICERS, st.integers(0, 2))
def test_a_larger_cache_takes_more(
    shape: Shape, tile: tuple[int, int], slicer: partial[Slicing], level: int
) -> None:
    """The number that a level decides grows with it, the nearer ones being as they were."""
    caches = list(slicer.keywords["caches"])
    level = min(level, len(caches) - 1)
    small = slice_first(shape, [tile, (1, 1)], slicer)
    caches[level] = replace(caches[level], size=2 * caches[level].size)
    large = slice_first(shape, [(small.n_win, small.n_f)], partial(slicer, caches=tuple(caches)))
    order = [(s.nc, s.k2, s.k3) for s in (small, large)]
    assert order[0][:level] == order[1][:level]
    assert order[0][level] <= order[1][level]
