"""Strips, filter tiles, packing and layout choice of the direct convolution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.algorithms.direct.packing import pack_filters, packed_elements
from edgeconv.algorithms.direct.plan import filter_tiles, make_plan
from edgeconv.algorithms.problem import ConvProblem
from edgeconv.algorithms.strips import segments, widths
from edgeconv.codegen.amalgamate import runtime
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, blocked
from edgeconv.targets import TARGETS, Target

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
@settings(max_examples=60)
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
    """The accumulators that EC_TILE_VECS of the ISA header allows."""
    text = (runtime() / "isa" / target.header).read_text()
    most = int(text.partition("#define EC_TILE_VECS ")[2].split()[0])
    assert max(t.rows * t.vectors for t in target.tiles) <= most
