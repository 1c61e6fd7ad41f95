"""Rows of a stored input decoded once for all tiles of filters: which, and whether it pays."""

from __future__ import annotations

import math
from dataclasses import replace

from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.layout import Order
from edgeconv.kernels.algorithms.axis import axes_of
from edgeconv.kernels.algorithms.direct.tiles import (
    FLOAT_BYTES,
    INPUT_OF_L1,
    INPUT_OF_L2,
    KEEP_SLOTS,
    DirectPlan,
    filter_tiles,
    filters_are_far,
    may_decode,
    near,
    neighbours,
)
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.targets import Target

# Slots that a vector from L2 takes longer than one from L1: an estimate.  On Zen 5, decoded to
# where L2 holds it, ResNet-50's last 1x1 convolutions of flyte16 take some 10 % more time.
FAR_SLOTS = 4


def may_decode_band(problem: ConvProblem, target: Target) -> bool:
    """Rows of an input that is not float32 may be decoded to memory; the same cores as above.

    Not those of a ring, which may lie at its end and its beginning.
    """
    return may_decode(target) and problem.in_as != FLOAT32 and not problem.in_ring


def _rows_read(problem: ConvProblem, plan: DirectPlan) -> list[int]:
    """Input rows from the first to the last that the kernel meets, pass by pass."""
    stride, pad, size = problem.strides[1], problem.pads[1], problem.in_size[1]
    reach = (problem.kernel[1] - 1) * problem.dilations[1] + 1
    if problem.is_pointwise:  # rows as the plan walks them
        size = plan.rows
    found = []
    for first in range(0, plan.rows, plan.chunk):
        last = min(first + plan.chunk, plan.rows) - 1
        end = min(last * stride - pad + reach, size)
        found.append(max(0, end - max(0, first * stride - pad)))
    return found


def band_rows(problem: ConvProblem, plan: DirectPlan) -> int:
    """Rows of the largest pass."""
    return max(1, *_rows_read(problem, plan))


def _row_elements(problem: ConvProblem, plan: DirectPlan) -> int:
    """Elements of one row of every plane and channel, those that fill blocks included."""
    size, block = problem.in_size, problem.in_layout.block
    last = problem.in_layout.order is Order.CHANNELS_LAST
    channels = problem.in_c if last else -(-problem.in_c // block) * block
    planes, row = (plan.planes, plan.row) if problem.is_pointwise else (size[0], size[2])
    return channels * planes * row


def band_elements(problem: ConvProblem, plan: DirectPlan) -> int:
    """Elements of the input that all passes decode to memory, those that two passes read twice."""
    if not plan.band:
        return 0
    rows = sum(_rows_read(problem, plan))
    return problem.batch * rows * _row_elements(problem, plan)


def band_bytes(problem: ConvProblem, plan: DirectPlan) -> int:
    """Workspace for the input rows of one pass in float32; 0 where micro-kernels decode them."""
    return FLOAT_BYTES * plan.band * _row_elements(problem, plan)


def with_band(plan: DirectPlan, problem: ConvProblem, target: Target) -> DirectPlan:
    """The fewest passes whose input rows have room: near, and in no more memory than the formats of
    input and output save.  Near is L1, if a pass of one row has room there and filters are near
    and read as they are; otherwise L2."""
    saved = problem.in_c * math.prod(problem.in_size) * (FLOAT_BYTES - problem.in_bytes)
    saved += problem.out_c * math.prod(problem.out_size) * (FLOAT_BYTES - problem.out_bytes)
    l1, l2 = near(target)
    rooms = [INPUT_OF_L2 * l2]
    if not plan.in_blocks and not filters_are_far(problem, target):
        rooms.insert(0, INPUT_OF_L1 * l1)
    for room in rooms:
        made = _cut(plan, problem, min(room, problem.batch * saved))
        if made.band:
            return made
    return plan


def _cut(plan: DirectPlan, problem: ConvProblem, room: float) -> DirectPlan:
    """The fewest passes whose input rows take no more than ``room`` bytes; no band if none does."""
    passes = -(-plan.rows // plan.chunk)
    made = replace(plan, band=band_rows(problem, plan))
    while band_bytes(problem, made) > room and made.chunk > 1:
        passes += 1
        made = replace(made, chunk=-(-plan.rows // passes))
        made = replace(made, band=band_rows(problem, made))
    return made if band_bytes(problem, made) <= room else replace(plan, band=0)


def band_pays(problem: ConvProblem, plan: DirectPlan, plain: DirectPlan, target: Target) -> bool:
    """To decode the input for every tile of filters and tap (``plain``) takes longer than once to
    memory, from where it is near (seeds/003, Section 8.4)."""
    if not plan.band:
        return False
    price, lanes = target.decoding(problem.in_as), target.lanes
    tiles = sum(tile.c1 - tile.c0 for tile in filter_tiles(problem, plan, target)) / problem.in_c
    once = price.vector + KEEP_SLOTS
    if band_bytes(problem, plan) > INPUT_OF_L1 * near(target)[0]:
        once += tiles * FAR_SLOTS * (1 - problem.in_bytes / FLOAT_BYTES)  # wider elements from L2
    once *= band_elements(problem, plan) / lanes
    if filters_are_far(problem, target):  # for every pass again
        filters = problem.out_c * problem.group_in_c * math.prod(problem.kernel) / lanes
        passes = -(-plan.rows // plan.chunk) + plain.rows // -plain.chunk
        once += problem.batch * max(0, passes) * FAR_SLOTS * filters
    taps = math.prod(axis.read_by(1) for axis in axes_of(problem))
    each = price.vector / lanes if neighbours(problem, target) else price.element
    return problem.batch * problem.in_c * taps * tiles * each > once
