"""The candidate of a Winograd convolution: its plan, and what it takes."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.work import CacheTraffic, Work
from edgeconv.kernels.algorithms.axis import axes_of
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.traffic import Runs, lost
from edgeconv.kernels.algorithms.winograd.phases import Divided, phases_of
from edgeconv.kernels.algorithms.winograd.plan import (
    FLOAT_BYTES,
    MOVE_SLOTS,
    Transforms,
    WinogradPlan,
    each_group,
    make_plans,
    row_multiple_of,
    with_cost,
)
from edgeconv.kernels.algorithms.work import epilogue
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target

WinogradCandidate = ConvCandidate[WinogradPlan]


def applies(problem: ConvProblem) -> bool:
    """Whether there is a form of it at all: strides or dilations, the first in one group alone and
    shorter than the kernel, two dimensions, several channels to sum, in float32."""
    plain = problem.in_as == problem.out_as == problem.filters_as == FLOAT32
    whole = problem.in_ring == problem.out_ring == 0
    flat = problem.kernel[0] == problem.in_size[0] == problem.out_size[0] == 1
    summed = problem.groups == 1 or (problem.group_in_c > 1 and problem.strides[1:] == (1, 1))
    near = (1, 1) in (problem.strides[1:], problem.dilations[1:])
    taps = max(each.taps for each in phases_of(problem.kernel[1:], problem.strides[1:]))
    return plain and whole and flat and near and summed and taps > 1


def whole_vectors(problem: ConvProblem, lanes: int) -> bool:
    """Whether groups, if there are several, begin with a vector."""
    return problem.groups == 1 or problem.group_in_c % lanes == problem.group_out_c % lanes == 0


def candidates(problem: ConvProblem, target: Target) -> tuple[WinogradCandidate, ...]:
    """The cheapest plan, in a form that the problem allows, and others of less workspace: it needs
    one."""
    able = applies(problem) and whole_vectors(problem, target.lanes)
    if not problem.winograd_forms or not target.workspaces or not able:
        return ()
    divided = Divided(each_group(problem))
    plans = make_plans(divided.unit, target, divided.phases)
    return tuple(candidate_of(problem, plan, target) for plan in plans)


def candidate_of(problem: ConvProblem, plan: WinogradPlan, target: Target) -> WinogradCandidate:
    """What ``plan``, made for a group of ``problem`` without its strides, takes."""
    divided, lanes = Divided(each_group(problem)), target.lanes
    return ConvCandidate(
        algorithm="winograd",
        problem=problem,
        plan=plan,
        workspace={
            "panel": FLOAT_BYTES * plan.panel_floats,
            "sums": FLOAT_BYTES * plan.sums_floats(lanes),
            "phases": FLOAT_BYTES * divided.floats(lanes),
        },
        work=_work(divided, plan, target),
        cache_traffic=partial(_traffic, divided, plan, target, problem.groups),
    )


def retiled(candidate: WinogradCandidate, target: Target, workers: int) -> WinogradCandidate | None:
    """As many strips as ``workers``, or a multiple of that, of as many register tiles each as are
    needed, and these of as few rows; None where the longest share is no shorter then."""
    plan, problem, tiles = candidate.plan, candidate.problem, math.prod(candidate.plan.tiles)
    strips = -(-plan.strips // workers) * workers
    each, multiple = -(-tiles // (strips * plan.rows)), row_multiple_of(plan.kernel, target.lanes)
    rows = -(-tiles // (strips * each * multiple)) * multiple
    if plan.packed and plan.form.summed > 1:  # rows of tiles begin with a register tile
        rows = plan.rows
    if rows * each >= plan.strip:
        return None
    shorter = replace(plan, rows=rows, strip=rows * each)
    unit = Divided(each_group(problem)).unit
    own = with_cost(unit, shorter, target, Transforms.of(plan.form))
    return candidate_of(problem, own, target)


def _work(divided: Divided, plan: WinogradPlan, target: Target) -> Work:
    """Products read filters once per row of tiles, and tiles once per vector of filters."""
    problem, copied = divided.unit, 2 * divided.floats(target.lanes)  # read and written
    tiles = problem.batch * plan.strips * plan.strip
    filters = plan.filter_floats(problem, target.lanes)
    panels = tiles * plan.form.products * problem.in_c
    many = plan.filter_tiles(problem, target.lanes)
    # Tensors in words, too.
    read = problem.in_bytes * plan.kernel.k * problem.in_elements / FLOAT_BYTES
    written = problem.out_bytes * problem.out_elements / FLOAT_BYTES
    weights, data = filters * tiles / plan.rows, panels * (many + 1) + read + written + copied
    # Vectors of channels where a phase has whole ones.
    moves = copied / target.lanes if divided.own.in_c % target.lanes == 0 else copied
    return Work(
        slots=plan.slots + MOVE_SLOTS * moves + epilogue(problem, target),
        moves=weights + data if target.single_issue else 0.0,
        weight_bytes=FLOAT_BYTES * weights,
        data_bytes=FLOAT_BYTES * data,
    )


def _traffic(
    divided: Divided, plan: WinogradPlan, target: Target, groups: int
) -> tuple[CacheTraffic, ...]:
    """Cache traffic behind each of the target's caches, nearest first, for the whole batch, of
    which so many ``groups`` have filters of their own."""
    caches = sorted(target.caches, key=lambda cache: cache.level)
    return tuple(_cache_traffic(divided, plan, target.lanes, cache, groups) for cache in caches)


def _cache_traffic(
    divided: Divided, plan: WinogradPlan, lanes: int, cache: Cache, groups: int
) -> CacheTraffic:
    """Strip by strip, under which all filters pass, tile by tile of the micro-kernel."""
    image, problem = divided.own, divided.unit
    strips = problem.batch * plan.strips
    many = plan.filter_tiles(problem, lanes)
    filters = float(FLOAT_BYTES * plan.filter_floats(problem, lanes))
    panel, sums = FLOAT_BYTES * plan.panel_floats, FLOAT_BYTES * plan.sums_floats(lanes)
    results = float(problem.out_bytes * problem.out_elements)
    own = Runs(1, panel)
    panel_lost = lost(cache, own, Runs(1, filters / many), Runs(1, sums))
    filters_lost = lost(cache, Runs(1, filters), own, Runs(1, sums), Runs(1, results / strips))
    tile = Runs(1, plan.filter_tile_bytes(problem, lanes))
    again = plan.strip // plan.rows - 1  # rows of tiles under the filters of a position
    tile_lost = lost(cache, tile, Runs(1, panel / plan.positions / (again + 1)))
    # Sums are read as soon as they are written; beside filters and a panel that stay.
    sums_lost = lost(cache, Runs(1, sums), Runs(1, filters / many))
    sums_moved = strips * many * sums * sums_lost
    phases = FLOAT_BYTES * divided.floats(lanes)
    moved = sums_moved + phases * lost(cache, Runs(1, phases))
    return CacheTraffic(
        level=cache.level,
        input=problem.in_bytes * plan.kernel.k * image.batch * image.in_c * _read(image),
        packed=strips * panel * (1 + panel_lost * many) - panel + moved,
        filters=filters * (groups + (strips - groups) * filters_lost + strips * again * tile_lost),
        output_reads=0.0,
        packed_writes=strips * panel * panel_lost + moved,
        output_writes=results,
    )


def _read(problem: ConvProblem) -> float:
    """Pixels that some output reads."""
    return float(math.prod(axis.all_read for axis in axes_of(problem)))
