"""From a plan to the parameters of its template."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgeconv.algorithms.filter_order import multiplied
from edgeconv.algorithms.rows.candidate import RowsCandidate
from edgeconv.algorithms.rows.params import HEADERS, displayed, gemm_params
from edgeconv.algorithms.rows.plan import RowsPlan
from edgeconv.algorithms.sums import form_of, multiples, requantised, result_of
from edgeconv.ir.choice import Arg, ArgKind, Blob, KernelEpilogue, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.calls import (
    activation_headers,
    blob_arg,
    input_arg,
    output_arg,
    residual_args,
    residual_overwritten,
    storage_of,
)
from edgeconv.requantisation import Fixed
from edgeconv.targets import Target

Words = npt.NDArray[np.int32]
SHIFT = 128  # of bytes that are multiplied as unsigned ones


def _words(filters: npt.NDArray[np.int64], form: Fixed, plan: RowsPlan, packed: Words) -> Words:
    """What sums start with, multipliers, filters: the first two of every channel, then room for a
    vector that begins with the last one, in lines of cache."""
    sums = filters.reshape(len(filters), -1).sum(axis=1)
    start = form.start - (SHIFT if plan.kernel.unsigned else 0) * sums
    room = _room(len(filters)) - len(filters)
    each = (np.pad(values, (0, room)) for values in (start, form.multiplier))
    return np.concatenate([*(values.astype(np.int32) for values in each), packed])


def _room(channels: int) -> int:
    """Words of all channels: whole lines, and one beyond."""
    return (channels // 16 + 2) * 16


def lower(candidate: RowsCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    form, result = form_of(node, graph), result_of(node, graph)
    assert form is not None, node.name
    assert result is not None, node.name
    residual = node.epilogue.residual
    order, room = plan.order(problem, lanes), _room(problem.out_c)

    def words() -> Words:
        filters = multiples(node, graph)
        packed = order.pack(multiplied(filters.astype(np.int8), plan.kernel))
        return _words(filters, form, plan, packed.view(np.int32))

    blob = Blob("channels", 2 * room + order.elements // plan.kernel.k, words, dtype="int32")
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/gemm.c.j2",
        params={
            **gemm_params(problem, plan, lanes),
            "prefetch": target.prefetch,
            "epilogue": KernelEpilogue(),
            "residual": bool(residual),
            "filters_as": "EC_F32",  # they are multiplied as they are stored
            "units": 0,
            "words_at": (room, 2 * room),
            "zero": problem.in_as.zero[0],
            "requantise": requantised(node, graph, form),
            "result_scale": result.scale[0],
            **storage_of(graph, **{"in": node.inputs[0]}, out=node.output),
        },
        args=(
            input_arg(graph, node.inputs[0]),
            blob_arg("words", blob),
            *residual_args(node, graph),
            output_arg(node, graph),
            Arg(ArgKind.WORKSPACE, "panels"),
        ),
        headers=(
            *activation_headers(node.epilogue),
            plan.kernel.header,
            *HEADERS,
            *("ec_requantise.h", "ec_gemm_spec.h", "ec_gemm.h"),
        ),
        work=candidate.work,
        blobs=(blob,),
        aliases=residual_overwritten(node, graph) if residual != node.inputs[0] else (),
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        candidate=candidate,
        plan=displayed(candidate, lanes),
    )
