"""Direct convolution that multiplies bfloat16 and sums in float32, where the core does so natively.

Rounding the input changes results, so that it is computed so only where the user asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgeconv.ir.candidate import OPERANDS
from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST, Layout, blocked
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.layer import conv_layer
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.rows.candidate import RowsCandidate, rows_candidate
from edgeconv.kernels.algorithms.rows.params import HEADERS, displayed, gemm_params
from edgeconv.kernels.algorithms.rows.plan import RowsPlan, make_plan
from edgeconv.kernels.algorithms.work import encoding, taps_met, tiled
from edgeconv.kernels.lowering.calls import residual_overwritten
from edgeconv.kernels.lowering.options import LayoutOption, Stored, convolved
from edgeconv.kernels.lowering.work import Call, width
from edgeconv.target.micro_kernel import Lies
from edgeconv.target.targets import Target

COMPUTE = "bfloat16"
# Slots to bring a vector of channels of one pixel to the panel: load, half a rounding, half a
# store; of a rounding in steps and a transposition where the pixels lie side by side.
PACK_SLOTS = {Lies.STRIDED: 2.0, Lies.PACKED: 12.0}


def _candidates(problem: ConvProblem, target: Target) -> tuple[RowsCandidate, ...]:
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


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Channels side by side, in and out; in blocks, where each group begins with one."""
    x, w, y = graph[node.inputs[0]], graph[node.inputs[1]], graph[node.output]
    xc, groups = blocked(target.lanes), int(node.attrs["groups"])
    whole_in = groups == 1 or w.shape[1] % target.lanes == 0
    whole_out = groups == 1 or y.shape[1] // groups % target.lanes == 0
    reads: dict[Layout, float] = {CHANNELS_LAST: 0.0}
    writes: dict[Layout, float] = {CHANNELS_LAST: 0.25 * y.size}
    if whole_in:
        reads = {xc: float(xc.elements(x.shape) - x.size), **reads}
    if whole_out:
        writes = {xc: float(xc.elements(y.shape) - y.size), **writes}
    return convolved(node, reads, writes)


def _lower(candidate: RowsCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    order = plan.order(problem, lanes)
    residual = node.epilogue.residual
    return conv_layer(
        candidate,
        Call(node, graph, target),
        "gemm",
        params={
            **gemm_params(problem, plan, lanes),
            "prefetch": plan.fetches(target),
            "residual": bool(residual),
            "filters_as": "EC_F32",  # they are multiplied as they are stored
            "zero": 0,
            "requantise": (),
            "words_at": (),
        },
        headers=(
            plan.kernel.header,
            *HEADERS,
            *("ec_gemm_spec.h", "ec_gemm.h"),
        ),
        filters=(order.elements, order.pack),
        pieces=order.tiles,
        pointers=("filters", "panels"),
        aliases=residual_overwritten(node, graph),
        plan=displayed(candidate, lanes),
    )


ALGORITHM = Algorithm(
    "bfloat16",
    _candidates,
    _layouts,
    _lower,
    Stored.BOTH,
    compute=COMPUTE,
    requires="it needs a core that multiplies bfloat16 (`bfloat16 = true` in the board's file), "
    "filters in flyte16, and two input channels in a group",
)
