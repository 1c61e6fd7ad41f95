"""The candidate of the convolution on pairs of bfloat16: its plan, and what it takes."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.candidate import OPERANDS
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.rows.candidate import RowsCandidate, rows_candidate
from edgeconv.kernels.algorithms.rows.plan import RowsPlan, make_plan
from edgeconv.kernels.algorithms.work import encoding, taps_met, tiled
from edgeconv.kernels.lowering.work import width
from edgeconv.target.micro_kernel import Lies
from edgeconv.target.targets import Target

COMPUTE = "bfloat16"
# Slots to bring a vector of channels of one pixel to the panel: load, half a rounding, half a
# store; of a rounding in steps and a transposition where the pixels lie side by side.
PACK_SLOTS = {Lies.STRIDED: 2.0, Lies.PACKED: 12.0}


def candidates(problem: ConvProblem, target: Target) -> tuple[RowsCandidate, ...]:
    """The cheapest plan, where the core multiplies pairs and filters are stored for it; a depthwise
    convolution has no second channel to make a pair with."""
    able = target.multiplying(COMPUTE)
    if not able or problem.filters_as != OPERANDS[COMPUTE] or problem.group_in_c == 1:
        return ()
    decode = target.decoding(problem.in_as).vector
    plan = make_plan(problem, target, able, lambda kernel: PACK_SLOTS[kernel.lies] + decode)
    work = _work(problem, plan, target)
    return (rows_candidate("bfloat16", COMPUTE, problem, plan, target, work),)


def _work(problem: ConvProblem, plan: RowsPlan, target: Target) -> Work:
    """Two multiply-adds in a lane per slot, as planned; the tile reads pairs from a panel."""
    pixels, filters = plan.largest_rows, plan.vectors * target.lanes
    tiles = tiled(problem, target, (pixels, filters), plan.cost, met=taps_met(problem))
    pairs = tiles.weight_bytes * pixels / filters  # per tile
    read = problem.in_elements * width(problem.in_as)
    if problem.finish.residual_as:
        read += problem.out_elements * width(problem.finish.residual_as)
    data = pairs + read + problem.out_elements * width(problem.out_as)
    return replace(tiles, data_bytes=data, decoding=encoding(problem, target))
