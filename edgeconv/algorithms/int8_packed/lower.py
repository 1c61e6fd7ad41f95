"""From a plan to the parameters of its template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.algorithms.filter_order import multiplied
from edgeconv.algorithms.layer import Words, integer_layer
from edgeconv.algorithms.packing import pack_bias
from edgeconv.algorithms.real_sums import real_sums_of
from edgeconv.algorithms.rows.candidate import RowsCandidate
from edgeconv.algorithms.rows.params import HEADERS, displayed, gemm_params
from edgeconv.algorithms.rows.plan import RowsPlan
from edgeconv.algorithms.scaling import scaling_words
from edgeconv.algorithms.sums import multiples
from edgeconv.ir.candidate import REAL
from edgeconv.ir.choice import Arg, ArgKind, Blob, KernelEpilogue, Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.calls import (
    activation_headers,
    blob_arg,
    epilogue_of,
    input_arg,
    output_arg,
    residual_args,
    residual_overwritten,
    storage_of,
)
from edgeconv.lowering.work import Call
from edgeconv.requantisation import Form
from edgeconv.targets import Target

Integers = npt.NDArray[np.integer[Any]]


def _words(filters: npt.NDArray[np.int64], form: Form, plan: RowsPlan, packed: Words) -> Words:
    """What sums start with, multipliers, what else the form has, filters: all but these of every
    channel, then room for a vector that begins with the last one, in lines of cache."""
    sums = filters.reshape(len(filters), -1).sum(axis=1)
    return channel_words((form.start - plan.kernel.shift * sums, *form.words[1:]), packed)


def channel_words(values: Sequence[Integers], packed: Words) -> Words:
    """``values`` of every channel, each in `room_for` them, and filters behind."""
    room = room_for(len(values[0])) - len(values[0])
    each = (np.pad(own, (0, room)) for own in values)
    return np.concatenate([*(values.astype(np.int32) for values in each), packed])


def room_for(channels: int) -> int:
    """Words of all channels: whole lines, and one beyond."""
    return (channels // 16 + 2) * 16


def lower(candidate: RowsCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    if candidate.compute == REAL:
        return _lower_real(candidate, node, graph, target)
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    order, room = plan.order(problem, lanes), room_for(problem.out_c)
    each = scaling_words(graph)

    def words(form: Form) -> Words:
        filters = multiples(node, graph)
        packed = order.pack(multiplied(filters.astype(np.int8), plan.kernel))
        return _words(filters, form, plan, packed.view(np.int32))

    return integer_layer(
        candidate,
        Call(node, graph, target),
        "gemm",
        params={
            **gemm_params(problem, plan, lanes),
            "prefetch": target.prefetch,
            "epilogue": KernelEpilogue(),
            "filters_as": "EC_F32",  # they are multiplied as they are stored
            "units": 0,
            "words_at": (room, each * room),
            "apart": room if each > 2 else 0,  # from multipliers to what else scalings have
            **storage_of(graph, **{"in": node.inputs[0]}, out=node.output),
        },
        headers=(
            plan.kernel.header,
            *HEADERS,
            *("ec_requantise.h", "ec_gemm_spec.h", "ec_gemm.h"),
        ),
        words=(each * room + order.elements // plan.kernel.k, words),
        workspace="panels",
        plan=displayed(candidate, lanes),
    )


def _lower_real(candidate: RowsCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """That of a layer whose sums become real numbers (`real_sums`)."""
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    order, room = plan.order(problem, lanes), room_for(problem.out_c)
    sums = real_sums_of(node, graph)
    assert sums is not None, node.name

    def words() -> Words:
        filters = multiples(node, graph)
        shifted = plan.kernel.shift * filters.reshape(len(filters), -1).sum(axis=1)
        packed = order.pack(multiplied(filters.astype(np.int8), plan.kernel))
        return channel_words((sums.start - shifted,), packed.view(np.int32))

    def scaling() -> npt.NDArray[np.float32]:
        return np.concatenate([pack_bias(own, room) for own in (sums.bias, sums.unit)])

    blobs = (
        Blob("channels", room + order.elements // plan.kernel.k, words, dtype="int32"),
        Blob("scaling", 2 * room, scaling),
    )
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/gemm.c.j2",
        params={
            **gemm_params(problem, plan, lanes),
            "prefetch": target.prefetch,
            "residual": bool(node.epilogue.residual),
            "epilogue": epilogue_of(node, graph),
            "filters_as": "EC_F32",  # they are multiplied as they are stored
            "zero": problem.in_as.zero[0],
            "units": room,
            "requantise": (),
            "words_at": (),
            "real_sums": room,
            **storage_of(graph, **{"in": node.inputs[0]}, out=node.output),
        },
        args=(
            input_arg(graph, node.inputs[0]),
            *map(blob_arg, ("words", "scaling"), blobs),
            *residual_args(node, graph),
            output_arg(node, graph),
            Arg(ArgKind.WORKSPACE, "panels"),
        ),
        headers=(
            *activation_headers(node.epilogue),
            plan.kernel.header,
            *HEADERS,
            *("ec_gemm_spec.h", "ec_gemm.h"),
        ),
        work=candidate.work,
        blobs=blobs,
        aliases=residual_overwritten(node, graph),
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        candidate=candidate,
        plan=displayed(candidate, lanes),
    )
