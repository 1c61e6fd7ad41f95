"""The bounds' blocking as a plan of its own, where it is predicted to beat the slicing analysis.

The blocking for the second-level cache gives block sizes in input channels, filters and output
pixels.  The macro-kernel takes them as Nc, and as the tile counts of the chunk that it goes through
for one set of channels.  What it cannot follow: kernel positions always make one block, pixels
follow each other in rows, the channel sets are the outermost loop, and Nc is no more than fits L1.
"""

from __future__ import annotations

import math
from dataclasses import replace

from edgeconv.kernels.algorithms.movement import WORD_BYTES, best_blocking, conv_shape
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.sconv.levels import Levels
from edgeconv.kernels.algorithms.sconv.plan import SconvPlan, plan_of, schedule_cycles
from edgeconv.kernels.algorithms.sconv.search import Search
from edgeconv.kernels.algorithms.sconv.shape import Shape
from edgeconv.kernels.algorithms.sconv.slicing import Slicing, sliced_as
from edgeconv.kernels.algorithms.sconv.traffic import traffic
from edgeconv.target.bounds import Precision
from edgeconv.target.micro_kernel import Tile
from edgeconv.target.targets import Target

# The share of the plan's cycles below which the blocked one wins: traffic is predicted no better.
WORTHWHILE = 0.95


def final_plan(problem: ConvProblem, target: Target, plan: SconvPlan) -> SconvPlan:
    """The plan to lower: ``plan``, the slicing analysis's, or a blocked one under its schedule.

    The blocked one wins when its computing, packing and traffic are predicted to take fewer cycles,
    and the cost by which the schedule was chosen, which knows of short runs of output, is no
    higher.  With a schedule asked for, or no cache named by the board, it is the analysis's.
    """
    if problem.schedule or not target.caches:
        return plan
    blocked = blocked_plan(problem, target, plan)
    before, after = (predicted_cycles(problem, target, entry) for entry in (plan, blocked))
    if after >= WORTHWHILE * before:
        return plan
    before, after = (
        schedule_cycles(entry.slicing, Levels.of_target(target), prefetch=target.prefetch)
        for entry in (plan, blocked)
    )
    return blocked if after <= before else plan


def blocked_plan(problem: ConvProblem, target: Target, plan: SconvPlan) -> SconvPlan:
    """The plan with the blocking's sizes, and the register tile and the schedule of ``plan``, the
    analysis's.

    The target has a cache.
    """
    tile = Tile(plan.slicing.n_f, plan.vectors)
    return plan_of(problem, target, plan.kernel, tile, _blocked(problem, target, plan.slicing))


def predicted_cycles(problem: ConvProblem, target: Target, plan: SconvPlan) -> float:
    """Slots of computing and packing, and every line that crosses behind a cache at the price of
    the level that it comes from."""
    levels, one = Levels.of_target(target), Shape.of(problem)
    cache_traffic = traffic(plan.slicing, one, target.caches, problem.groups, problem.batch)
    lines = (level_traffic.total / levels.line for level_traffic in cache_traffic)
    return plan.cost + sum(levels.price(index) * count for index, count in enumerate(lines, 1))


def _blocked(problem: ConvProblem, target: Target, slicing: Slicing) -> Slicing:
    """The blocking mapped to the loops of ``slicing``, which has the most channels that fit L1.

    Workspace does not grow beyond the size of L1.
    """
    shape, levels = Shape.of(problem), Levels.of_target(target)
    one = conv_shape(replace(problem, batch=1, in_c=shape.in_c, out_c=shape.out_c, groups=1))
    blocking = best_blocking(one, Precision(), levels.budgets[:2][-1] / WORD_BYTES)
    nc = min(blocking.in_c, slicing.nc)
    pixels = math.prod(axis.out for axis in blocking.axes)
    panel = nc * shape.taps * shape.element_bytes
    inputs = _tiles(shape.pixels, pixels, slicing.n_win), slicing.n_win * panel
    filters = _tiles(shape.out_c, blocking.out_c, slicing.n_f), slicing.n_f * panel
    stationary, streaming = (inputs, filters) if slicing.input_stationary else (filters, inputs)
    (count, size), (k2, passing) = stationary, streaming
    # As many bytes of stationary tiles in L1 as before.
    fit = (levels.budgets[0] - 2 * passing) // (size + slicing.out_bytes)
    k1 = max(1, min(count, fit, slicing.k1 * slicing.nc // nc))
    if not slicing.input_stationary:  # these are packed at once: in no more workspace, or in L1
        k2 = max(1, min(k2, max(slicing.workspace, target.caches[0].size) // passing))
    # K3 is everything or a multiple of K1, as the analysis makes it.
    counts = k1, k2, count if count == slicing.stationary[0] else count - count % k1
    return sliced_as(shape, slicing.n_win, slicing.n_f, nc, counts, slicing.schedule, levels)


def _tiles(whole: int, block: int, tile: int) -> int:
    """Tiles in a block: as many as fit it and at least one, or all there are."""
    count = -(-whole // tile)
    return Search.EVEN.largest(count, lambda n: min(n * tile, whole) <= block) or 1
