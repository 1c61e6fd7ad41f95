"""How outer products cover a convolution: planes, rows of the output at a time, and tiles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.cache import ASSUMED
from edgeconv.target.micro_kernel import MicroKernel
from edgeconv.target.targets import Target

WORD_BYTES = 4
_LINE = 16  # words that a cache line holds
# Slots to copy a vector of a plane, and what a row takes beside them; strided, where words that are
# left of the last vector are copied one by one.
COPY_SLOTS = 2
ROW_SLOTS = 16
STRIDED_COPY_SLOTS, STRIDED_ROW_SLOTS = 6, 32
# Slots that a tile takes beside its products, and a stretch of a row beside its vectors of results;
# of each product of a sum those that write its offset.
TILE_SLOTS = 40
STRETCH_SLOTS = 30
OFFSET_SLOTS = 3


@dataclass(frozen=True, slots=True)
class OuterPlan:
    """``rows`` of the output are computed at a time, from planes of ``held`` rows of ``pitch``
    words: those of the input ``in_place``, or copies, one of each of so many ``phases`` of rows and
    columns.  ``alone``: all pixels of the output are a vector of ``kernel`` at most.  ``widths``:
    filters of each tile of a group, padding included; ``cost`` in slots."""

    kernel: MicroKernel
    in_place: bool
    phases: tuple[int, int]
    rows: int
    held: int
    pitch: int
    alone: bool
    widths: tuple[int, ...]
    cost: float = 0.0

    def positions(self, out_w: int, rows: int) -> int:
        """Positions of so many rows of the output, from the first pixel to the last."""
        return (rows - 1) * self.pitch + out_w

    def offsets_bytes(self, problem: ConvProblem) -> int:
        """Bytes of the offsets of products, whole lines."""
        return WORD_BYTES * _LINE * -(-depth(problem) // _LINE)

    def planes_bytes(self, problem: ConvProblem) -> int:
        """Bytes of copied planes."""
        words = math.prod(self.phases) * problem.group_in_c * self.held * self.pitch
        return 0 if self.in_place else WORD_BYTES * words


def depth(problem: ConvProblem) -> int:
    """Products of a sum."""
    return problem.group_in_c * math.prod(problem.kernel)


def plans(problem: ConvProblem, target: Target, kernel: MicroKernel) -> tuple[OuterPlan, ...]:
    """The cheapest plan whose planes find room in half of the largest cache, and the cheapest of
    ever less workspace, down to a tile of positions at a time."""
    out_h, out_w = problem.out_size[1:]
    found: list[OuterPlan] = []
    for rows in dict.fromkeys(-(-out_h // pieces) for pieces in range(1, out_h + 1)):
        plan = _of_rows(problem, kernel, rows)
        found.append(_with_cost(problem, target, plan))
        if plan.in_place or plan.alone or plan.positions(out_w, rows) <= 2 * kernel.row_multiple:
            break
    room = max(target.caches or ASSUMED, key=lambda cache: cache.level).size // 2
    fitting = [plan for plan in found if plan.planes_bytes(problem) <= room] or found[-1:]
    chosen = [min(fitting, key=lambda plan: plan.cost)]
    while smaller := [plan for plan in found if 2 * plan.rows <= chosen[-1].rows]:
        chosen.append(min(smaller, key=lambda plan: plan.cost))
    return tuple(chosen)


def _of_rows(problem: ConvProblem, kernel: MicroKernel, rows: int) -> OuterPlan:
    """So many rows of the output at a time, or all where the input is read in place."""
    words = kernel.row_multiple
    taps = [
        [divmod(k * dilation, stride) for k in range(size)]
        for size, dilation, stride in zip(
            problem.kernel[1:], problem.dilations[1:], problem.strides[1:], strict=True
        )
    ]
    (phases_h, down), (phases_w, across) = (
        (max(phase for _, phase in axis) + 1, max(step for step, _ in axis)) for axis in taps
    )
    out_h, out_w = problem.out_size[1:]
    in_h, in_w = problem.in_size[1:]
    in_place = (
        problem.strides == (1, 1, 1)
        and problem.pads == (0, 0, 0)
        and (out_h + down <= in_h and out_w + across <= in_w)
    )
    pitch = in_w if in_place else out_w + across
    plan = OuterPlan(
        kernel=kernel,
        in_place=in_place,
        phases=(phases_h, phases_w),
        rows=out_h if in_place else rows,
        held=in_h if in_place else rows + down,
        pitch=pitch,
        alone=(out_h - 1) * pitch + out_w <= words,
        widths=(),
    )
    wide = (4 if plan.alone else 2) * words
    count, left = divmod(problem.group_out_c, wide)
    last = words if left <= words and not plan.alone else wide
    return replace(plan, widths=(wide,) * count + ((last,) if left else ()))


def _with_cost(problem: ConvProblem, target: Target, plan: OuterPlan) -> OuterPlan:
    """``plan``, and what it takes: products by the rate of the unit, results by what its row says
    of vectors in its mode, copies by ordinary ones, and a stretch of the mode for some rows."""
    kernel, lanes = plan.kernel, target.lanes
    unit, words = kernel.outer, kernel.row_multiple
    assert unit is not None, kernel.name
    out_h, out_w = problem.out_size[1:]
    functions = len(problem.finish.functions)
    result = words / lanes * (unit.result + functions * unit.function)
    strided = problem.strides[2] > 1
    row = STRIDED_ROW_SLOTS if strided else ROW_SLOTS
    vector = STRIDED_COPY_SLOTS if strided else COPY_SLOTS
    total = 0.0
    for rows, times in ((plan.rows, out_h // plan.rows), (out_h % plan.rows, 1)):
        if not rows:
            continue
        positions = plan.positions(out_w, rows)
        each = kernel.enter
        for width in plan.widths:
            vectors = 4 * words // width  # of positions in a tile
            tiles = -(-positions // (vectors * words))
            step = target.tile_slots(kernel, width, vectors * words // lanes)
            each += tiles * ((depth(problem) + 1) * step + TILE_SLOTS)
        joined = plan.pitch == out_w
        stretches = -(-positions // words) + (0 if joined else rows - 1)
        each += stretches * (problem.group_out_c * result + len(plan.widths) * STRETCH_SLOTS)
        if not plan.in_place:
            held = rows + plan.held - plan.rows
            copied = math.prod(plan.phases) * problem.group_in_c * held
            each += copied * (row + vector * plan.pitch / lanes)
        total += times * each
    offsets = OFFSET_SLOTS * depth(problem)
    return replace(plan, cost=problem.batch * problem.groups * total + offsets)
