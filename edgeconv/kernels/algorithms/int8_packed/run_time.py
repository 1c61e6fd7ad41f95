"""Products of int8 whose input's scale and zero point are known at run time only.

    y = epilogue((sum_i (q_i - zero) w_i) * unit + bias)

The sums are whole numbers in int32, exactly those of the model; what a zero point adds is known but
for a factor, the sum of a filter's weights, so that sums start with it.  They become float32 in the
epilogue, rounded once where they are beyond 2^24.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgeconv.ir.candidate import REAL
from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.encoding import int8
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.int8_packed.candidate import (
    able_rows,
    int8_plan,
    real_work,
    with_sums,
)
from edgeconv.kernels.algorithms.int8_packed.lower import filters_at, real_layer, room_for
from edgeconv.kernels.algorithms.packing import pack_bias
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.real_sums import largest_reach
from edgeconv.kernels.algorithms.rows.candidate import RowsCandidate, rows_candidate
from edgeconv.kernels.algorithms.rows.plan import WORD_BYTES
from edgeconv.kernels.algorithms.sums import Facts, filter_rows, pair_in, stored_filters, two_fit
from edgeconv.kernels.lowering.calls import blob_arg, input_arg
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target

STORED = int8(1.0, -128)  # what DynamicQuantizeLinear makes, 0 to 255, as memory holds it
_LARGEST = 2**31 - 1


def run_time_candidates(
    problem: ConvProblem, node: Node, graph: Graph, target: Target
) -> tuple[RowsCandidate, ...]:
    """The cheapest plan, where the core multiplies int8 and no part of a sum is beyond int32."""
    most = int(largest_reach(node, graph, 2 * 255).max(initial=0))
    if target.lanes == 1 or problem.group_in_c == 1 or most > _LARGEST:
        return ()
    facts = Facts(pair_in(stored_filters(node, graph)))
    fits = replace(problem, sum_facts=facts, two_fit=two_fit(node, graph))
    able = able_rows(fits, target)
    if not able:
        return ()
    plan = int8_plan(fits, target, able)
    call = Call(node, graph, target)
    work = real_work(fits, plan, target, call.epilogue + call.encoded)
    found = with_sums(rows_candidate("int8_packed", REAL, fits, plan, target, work), target)
    channels = 3 * WORD_BYTES * room_for(problem.out_c)
    return (replace(found, workspace={**found.workspace, "channels": channels}),)


def lower_run_time(candidate: RowsCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a node whose inputs are the integers, filters, bias, zero point and unit
    (one number, or one per output channel), layouts decided."""
    room, first = room_for(candidate.problem.out_c), filters_at(candidate)
    _, _, bias, zero, unit = node.inputs
    values = graph[bias].constant().astype(np.float32).reshape(-1) if bias else None
    addends = (Blob("addends", room, lambda: pack_bias(values, room)),) if bias else ()
    given = (
        *(blob_arg("bias", each) for each in addends),
        input_arg(graph, zero, "zero"),
        input_arg(graph, unit, "unit"),
    )
    params: dict[str, Param] = {
        "zero": STORED.zero[0],
        "run_time": room,
        "filters_at": first,
        "in_panel": sum(candidate.workspace.values()) // WORD_BYTES - 3 * room,
        "has_bias": bool(bias),
        "each_unit": graph[unit].size > 1,
    }
    return real_layer(
        candidate,
        Call(node, graph, target),
        lambda: filter_rows(node, graph).sum(axis=1),
        given,
        addends,
        params,
        ("ec_run_time_scale.h",),
    )
