"""Strips, filter tiles, packing and layout choice of the direct convolution."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.ir.encoding import FLOAT32, INT8, Encoding
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, blocked
from edgeconv.ir.work import CacheTraffic
from edgeconv.kernels import headers
from edgeconv.kernels.algorithms.direct.band import band_bytes, band_elements
from edgeconv.kernels.algorithms.direct.packing import pack_filters, packed_elements
from edgeconv.kernels.algorithms.direct.plan import channels_per_chunk, make_plan, sums_bytes
from edgeconv.kernels.algorithms.direct.tiles import DirectPlan, filter_tiles
from edgeconv.kernels.algorithms.direct.traffic import traffic
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.strips import segments, widths
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target
from tests.examples import examples

_INCLUDED = re.compile(r'#include "(ec_\w+\.h)"')
COMPLETE = list(TARGETS.values())


@given(st.integers(1, 400), st.integers(1, 30))
def test_widths_are_few_and_even(pixels: int, largest: int) -> None:
    cut = widths(pixels, largest)
    assert sum(cut) == pixels
    assert len(cut) == math.ceil(pixels / largest)
    assert max(cut) - min(cut) <= 1


@st.composite
def problems(draw: st.DrawFn) -> ConvProblem:
    groups = draw(st.sampled_from([1, 1, 1, 2, 3, 5]))
    in_c, out_c = groups * draw(st.integers(1, 20)), groups * draw(st.integers(1, 40))
    kernel, dilation = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    stride, pad = draw(st.integers(1, 3)), draw(st.integers(0, 4))
    width = draw(st.integers(1, 70))
    out = (width + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    if out < 1:
        width, out = width + dilation * kernel, 1 + (width + 2 * pad + dilation - 1) // stride
    lanes = draw(st.sampled_from([1, 4, 8, 16]))
    return ConvProblem(
        batch=1,
        in_c=in_c,
        out_c=out_c,
        groups=groups,
        in_size=(1, 1, width),
        out_size=(1, 1, out),
        kernel=(1, 1, kernel),
        strides=(1, 1, stride),
        dilations=(1, 1, dilation),
        pads=(0, 0, pad),
        in_layout=draw(st.sampled_from([ROW_MAJOR, CHANNELS_LAST, blocked(lanes)])),
        out_layout=blocked(lanes),
    )


@given(problems(), st.integers(1, 28))
def test_segments_cover_the_row_and_find_the_edges(problem: ConvProblem, largest: int) -> None:
    row = problem.out_size[2]
    column = 0
    for part in segments(problem, row, largest):
        assert part.column == column
        for x in range(part.column, part.end):
            first = x * problem.strides[2] - problem.pads[2]
            last = first + (problem.kernel[2] - 1) * problem.dilations[2]
            inside = first >= 0 and last < problem.in_size[2]
            assert inside or part.edge
        column = part.end
    assert column == row


@given(problems(), st.sampled_from(COMPLETE))
@settings(max_examples=examples(60))
def test_packed_filters_are_where_the_kernel_reads_them(
    problem: ConvProblem, target: Target
) -> None:
    """Walk the packed filters in the kernel's order and find each weight once, zeros elsewhere."""
    plan = make_plan(problem, target)
    tiles = filter_tiles(problem, plan, target)
    taps = math.prod(problem.kernel)
    shape = (problem.out_c, problem.group_in_c, *problem.kernel)
    weights = np.arange(1, math.prod(shape) + 1, dtype=np.float32).reshape(shape)
    packed = pack_filters(weights, problem, tiles, target.lanes)
    assert packed.size == packed_elements(problem, tiles, target.lanes)
    flat = weights.reshape(problem.out_c, problem.group_in_c, taps)
    block = problem.in_c if problem.in_layout == CHANNELS_LAST else problem.in_layout.block
    at = 0
    for tile in tiles:
        c = tile.c0
        while c < tile.c1:
            count = min(block - c % block, tile.c1 - c)
            for tap in range(taps):
                for channel in range(c, c + count):
                    for lane in range(tile.vectors * target.lanes):
                        f = tile.filter + lane
                        group = f // problem.group_out_c
                        own = channel - group * problem.group_in_c
                        inside = f < problem.out_c and 0 <= own < problem.group_in_c
                        assert packed[at] == (flat[f, own, tap] if inside else 0)
                        at += 1
            c += count
    assert at == packed.size


def pointwise(layout: Layout) -> ConvProblem:
    one = (1, 1, 1)
    size = (1, 7, 7)
    return ConvProblem(1, 512, 512, 1, size, size, one, one, one, (0, 0, 0), layout, blocked(16))


def test_pointwise_rows_are_regrouped() -> None:
    """7 x 7 pixels as one row of 49: strips of 13 and 12 instead of 7."""
    plan = make_plan(pointwise(blocked(16)), TARGETS["avx512"])
    assert (plan.rows, plan.row) == (1, 49)
    assert plan.largest_rows > 7


@pytest.mark.parametrize("target", COMPLETE, ids=lambda t: t.name)
def test_tiles_fit_the_registers(target: Target) -> None:
    """The accumulators that EC_TILE_VECS of the ISA header allows, or of what it builds on."""
    text, seen = "", [target.header]
    for name in seen:  # which grows
        text += headers.find(name).read_text()
        seen += [each for each in _INCLUDED.findall(text) if each not in seen]
    most = int(text.partition("#define EC_TILE_VECS ")[2].split()[0])
    assert max(t.rows * t.vectors for t in target.tiles) <= most


# ResNet-50's last 3 x 3 convolutions: 9 MiB of filters.
FAR = ConvProblem(
    batch=1,
    in_c=512,
    out_c=512,
    groups=1,
    in_size=(1, 7, 7),
    out_size=(1, 7, 7),
    kernel=(1, 3, 3),
    strides=(1, 1, 1),
    dilations=(1, 1, 1),
    pads=(0, 1, 1),
    in_layout=blocked(16),
    out_layout=blocked(16),
)
CACHES = (Cache(1, 48 << 10, 64, 12), Cache(2, 1 << 20, 64, 16))


def cache_traffic(problem: ConvProblem, target: Target) -> tuple[CacheTraffic, ...]:
    return traffic(problem, make_plan(problem, target), target)


def planned(problem: ConvProblem, target: Target) -> tuple[DirectPlan, int, int]:
    """The plan, its channels per pass, and the workspace of sums."""
    plan = make_plan(problem, target)
    channels = channels_per_chunk(problem, plan, target)
    return plan, channels, sums_bytes(problem, plan, target, channels)


@pytest.mark.parametrize("bits", [24, 16, 8])
def test_sums_wait_in_a_workspace_where_the_output_cannot_hold_them(bits: int) -> None:
    """In passes as in float32, through the sums of one tile of filters and the rows of a chunk."""
    target = replace(TARGETS["avx512"], caches=CACHES)
    plain, stored = planned(FAR, target), planned(replace(FAR, out_as=Encoding(bits)), target)
    assert 0 < stored[1] == plain[1] < FAR.in_c
    assert plain[2] == 0
    plan = stored[0]
    assert stored[2] == 4 * plan.vectors * 16 * plan.chunk * 7
    assert stored[2] < 4 * 512 * 7 * 7


def test_passes_have_the_filters_that_the_second_cache_brings_in_time() -> None:
    """An eighth of L2 in place of five twelfths of L1; the whole depth is one pass, which fetches
    the next filters and has no sums that wait.  Not where L2 is too slow, or the core in order."""
    slow, fast = (
        replace(TARGETS["avx512"], caches=(CACHES[0], replace(CACHES[1], bandwidth=each)))
        for each in (8.0, 64.0)
    )
    point = replace(FAR, kernel=(1, 1, 1), pads=(0, 0, 0))
    whole = replace(point, in_c=256, out_c=1024)
    for problem in (FAR, point, whole):
        plan, channels, _ = planned(problem, fast)
        of_channel = 4 * math.prod(problem.kernel) * plan.vectors * 16
        held, room = channels * of_channel, CACHES[1].size / 8
        assert channels == problem.in_c or held <= room < held + 16 * of_channel
        for machine in (slow, replace(fast, in_order=True)):
            plan, less, _ = planned(problem, machine)
            of_channel = 4 * math.prod(problem.kernel) * plan.vectors * 16
            assert 16 <= less < channels
            assert less * of_channel <= max(16 * of_channel, 20 << 10)
    assert planned(whole, fast)[1:] == (256, 0)
    late = replace(whole, finish=replace(whole.finish, residual_as=FLOAT32, late=True))
    assert make_plan(late, fast).channels == 256
    assert make_plan(late, slow).channels == 0


def test_no_passes_where_workspaces_are_not_wanted() -> None:
    """RAM is short, or the core has no caches; sums that wait in the output take no memory."""
    target, stored = replace(TARGETS["avx512"], caches=CACHES), replace(FAR, out_as=Encoding(16))
    for machine in (replace(target, workspaces=False), replace(target, caches=())):
        assert planned(stored, machine)[1:] == (0, 0)
        assert planned(FAR, machine)[1] > 0


def test_near_filters_that_fit_l1_take_no_workspace_for_sums() -> None:
    """36 KiB of decoded filters for a tile, then 72; in the output sums wait in both cases."""
    target = replace(TARGETS["avx512"], caches=CACHES)
    size = (1, 56, 56)
    for channels, passes in ((32, False), (64, True)):
        plain = replace(FAR, in_c=channels, out_c=32, filters_as=INT8)
        plain = replace(plain, in_size=size, out_size=size)
        assert planned(plain, target)[1] > 0
        assert (planned(replace(plain, out_as=Encoding(16)), target)[1] > 0) is passes


def test_traffic_of_sums_that_wait() -> None:
    """They come in once, and again from behind a cache that does not hold them beside the filters
    of a pass; the output crosses once, in its own bytes."""
    target = replace(TARGETS["avx512"], caches=(Cache(1, 8 << 10, 64, 8), CACHES[1]))
    stored = replace(FAR, out_as=Encoding(16))
    size = planned(stored, target)[2]
    near, far = cache_traffic(stored, target)
    assert near.packed > size == far.packed
    assert near.packed_writes > 0 == far.packed_writes
    assert near.output_writes == far.output_writes == 2 * 512 * 7 * 7
    assert cache_traffic(stored, replace(target, workspaces=False))[0].packed == 0


def test_rows_are_decoded_once_where_many_tiles_and_taps_meet_them() -> None:
    """In no more bytes than formats save, half of L1 here; not for one tile, nor without a
    workspace.  They cross the cache as they are stored, and the workspace beside them."""
    target = replace(TARGETS["neon"], caches=(Cache(1, 32 << 10, 64, 4), Cache(2, 2 << 20, 64, 16)))
    size, layout = (1, 28, 28), blocked(4)
    plain = replace(FAR, in_c=64, out_c=64, in_size=size, out_size=size, kernel=(1, 3, 3))
    plain = replace(plain, in_layout=layout, out_layout=layout)
    stored = replace(plain, in_as=Encoding(16), out_as=Encoding(16))
    plan = make_plan(stored, target)
    assert make_plan(plain, target).band == 0 < plan.band
    taken = band_bytes(stored, plan)
    assert taken == 4 * 64 * 28 * plan.band <= 2 * 2 * 64 * 28 * 28
    assert band_elements(stored, plan) >= 64 * 28 * 28
    assert make_plan(stored, replace(target, workspaces=False)).band == 0
    assert make_plan(replace(stored, out_c=4, kernel=(1, 1, 1), pads=(0, 0, 0)), target).band == 0
    once, again = (
        cache_traffic(stored, machine)[0] for machine in (target, replace(target, workspaces=False))
    )
    assert once.packed >= taken > again.packed == 0
    assert 2 * 64 * 28 * 28 <= once.input < again.input


def test_rounding_errors_choose_no_tile() -> None:
    """flyte8 and flyte16 differ by slots of decoding that are the same for both tiles."""
    target = boards.load("odroid-xu3").target
    layout, size = blocked(target.lanes), (1, 35, 35)
    problem = replace(FAR, in_c=64, out_c=96, in_size=size, out_size=size)
    problem = replace(problem, in_layout=layout, out_layout=layout)
    found = {
        make_plan(replace(problem, in_as=form, out_as=form, filters_as=form), target).vectors
        for form in map(Encoding, (24, 16, 8))
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    ("channels", "stride", "most"), [(1024, 1, 8), (2048, 1, 8), (512, 2, 8), (1280, 1, 14)]
)
def test_pixels_of_a_tile_fit_the_ways_of_the_set_that_they_share(
    channels: int, stride: int, most: int
) -> None:
    """With all channels of a pixel side by side, a power of two of them bring the same channel of
    all pixels to one set of the cache: a step of a tile of more pixels than ways would find none of
    the lines that the step before it has read."""
    target, size = boards.load("zen4").target, 14 * stride
    blocks = replace(
        pointwise(blocked(16)),
        in_c=channels,
        in_size=(1, size, size),
        out_size=(1, 14, 14),
        strides=(1, stride, stride),
    )
    problem = replace(blocks, in_layout=CHANNELS_LAST)
    assert make_plan(problem, target).largest_rows <= most
    tall = make_plan(blocks, target)
    assert tall.largest_rows > 8
    read, least = (traffic(each, tall, target)[0].input for each in (problem, blocks))
    assert (read > 4 * least) == (most == 8)


def test_sums_do_not_wait_in_an_output_with_channels_last() -> None:
    """Pixels lie apart there, and so would the sums that every pass reads and writes."""
    target, blocks = boards.load("zen4").target, replace(pointwise(blocked(16)), in_c=4096)
    assert 0 < make_plan(blocks, target).channels < blocks.in_c
    assert not make_plan(replace(blocks, out_layout=CHANNELS_LAST), target).channels


@pytest.mark.parametrize("in_layout", [blocked(16), CHANNELS_LAST])
@pytest.mark.parametrize("out_layout", [blocked(16), CHANNELS_LAST])
def test_the_next_filters_are_fetched_in_whatever_layout(
    in_layout: Layout, out_layout: Layout
) -> None:
    """Those of the next tile, where one pass has all channels."""
    target = boards.load("zen4").target
    problem = replace(pointwise(blocked(16)), in_layout=in_layout, out_layout=out_layout)
    assert make_plan(problem, target).channels == problem.in_c
    wide = replace(problem, kernel=(1, 3, 3), pads=(0, 1, 1))
    plan = make_plan(wide, target)
    assert bool(plan.channels) == (in_layout == out_layout == blocked(16))
    in_order = replace(target, in_order=True)
    assert make_plan(problem, in_order).channels < problem.in_c  # a distance fetches them
