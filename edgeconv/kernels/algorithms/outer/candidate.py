"""The candidates of direct convolution by outer products: plans and what they take."""

from __future__ import annotations

import math
from functools import partial

from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.work import CacheTraffic, Work
from edgeconv.kernels.algorithms.axis import axes_of
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.outer.plan import WORD_BYTES, OuterPlan, depth, plans
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.traffic import Runs, lost
from edgeconv.kernels.lowering.work import ADDED, finish_slots
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target

OuterCandidate = ConvCandidate[OuterPlan]
BOUNDS = frozenset({"relu", "clip"})  # activations of the unit itself
AGAIN_SLOTS = 2  # to load a vector of results and store it, where others are applied afterwards


def candidates(problem: ConvProblem, target: Target) -> tuple[OuterCandidate, ...]:
    """Plans of ever less workspace; none where the target has no such unit or no memory may be
    taken, or the problem is not of float32, in two dimensions, in whole tensors."""
    units = [row for row in target.float_rows if row.outer]
    if not units or not target.workspaces or not applies(problem):
        return ()
    return tuple(_candidate(problem, each, target) for each in plans(problem, target, units[0]))


def applies(problem: ConvProblem) -> bool:
    """Whether the kernel computes it, on a target that has the unit."""
    finish = problem.finish
    plain = {problem.filters_as, problem.in_as, problem.out_as, finish.residual_as or FLOAT32}
    flat = problem.kernel[0] == problem.in_size[0] == problem.out_size[0] == 1
    whole = not (problem.in_ring or problem.out_ring or problem.in_pitch or problem.out_pitch)
    bounds = not finish.late or finish.functions[0] in BOUNDS  # the first is in front of it
    return plain == {FLOAT32} and flat and whole and bounds and not problem.transposed


def _candidate(problem: ConvProblem, plan: OuterPlan, target: Target) -> OuterCandidate:
    return ConvCandidate(
        algorithm="outer",
        problem=problem,
        plan=plan,
        workspace={"offsets": plan.offsets_bytes(problem), "planes": plan.planes_bytes(problem)},
        work=_work(problem, plan, target),
        cache_traffic=partial(_traffic, problem, plan, target),
    )


def _work(problem: ConvProblem, plan: OuterPlan, target: Target) -> Work:
    """As planned, and functions that ordinary vectors apply afterwards."""
    others = [kind for kind in problem.finish.functions if kind not in {ADDED, *BOUNDS}]
    vectors = problem.out_elements / target.lanes
    after = (finish_slots(others, target) + AGAIN_SLOTS) * vectors if others else 0.0
    read = problem.in_elements + (problem.out_elements if problem.finish.residual_as else 0)
    copied = problem.batch * problem.groups * plan.planes_bytes(problem)
    widest = max(plan.widths)
    pixels = 4 * plan.kernel.row_multiple**2 / widest
    return Work(
        slots=plan.cost + after,
        moves=0.0,
        weight_bytes=WORD_BYTES * problem.macs / pixels,
        data_bytes=WORD_BYTES * (problem.macs / widest + read + problem.out_elements) + 2 * copied,
    )


def _traffic(problem: ConvProblem, plan: OuterPlan, target: Target) -> tuple[CacheTraffic, ...]:
    """Cache traffic behind each of the target's caches, nearest first."""
    caches = sorted(target.caches, key=lambda cache: cache.level)
    return tuple(_cache_traffic(problem, plan, cache) for cache in caches)


def _cache_traffic(problem: ConvProblem, plan: OuterPlan, cache: Cache) -> CacheTraffic:
    """Some rows after the other; under each tile of filters all planes pass, position by position
    of as many filters."""
    rounds, times = problem.batch * problem.groups, -(-problem.out_size[1] // plan.rows)
    read = WORD_BYTES * problem.in_c * math.prod(axis.all_read for axis in axes_of(problem))
    planes = plan.planes_bytes(problem) or read / problem.groups
    result = WORD_BYTES * problem.out_elements
    tiles = len(plan.widths)
    tile = WORD_BYTES * depth(problem) * max(plan.widths)
    filters = WORD_BYTES * depth(problem) * sum(plan.widths)
    positions = plan.positions(problem.out_size[2], plan.rows)
    passes = -(-positions * max(plan.widths) // (4 * plan.kernel.row_multiple**2))
    # A tile of filters again for the next positions, beside what these meet of the planes.
    tile_lost = lost(cache, Runs(1, tile), Runs(1, planes / max(passes, 1)))
    # Planes again under the next tile of filters, all filters again for the next rows.
    planes_lost = lost(
        cache, Runs(1, planes), Runs(1, tile), Runs(1, result / rounds / times / tiles)
    )
    filters_lost = lost(cache, Runs(1, filters), Runs(1, planes), Runs(1, result / rounds / times))
    again = rounds * times * (tiles - 1) * planes * planes_lost
    copied = 0.0 if plan.in_place else rounds * times * planes
    packed_lost = lost(cache, Runs(1, planes))
    return CacheTraffic(
        level=cache.level,
        input=float(problem.batch * read) + (again if plan.in_place else 0.0),
        packed=0.0 if plan.in_place else again + copied * packed_lost + planes,
        filters=filters * (problem.groups + (rounds * times - problem.groups) * filters_lost)
        + rounds * times * (passes - 1) * filters * tile_lost,
        output_reads=0.0,
        packed_writes=copied * packed_lost,
        output_writes=float(result),
    )
