"""From a plan to the parameters of its template."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.candidate import REAL
from edgeconv.ir.choice import Arg, ArgKind, Blob, KernelEpilogue, Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import Form
from edgeconv.kernels.algorithms.int8_packed.candidate import has_zero_points, words_of_sums
from edgeconv.kernels.algorithms.layer import Words, integer_layer
from edgeconv.kernels.algorithms.packing import pack_bias
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.real_sums import real_sums_of
from edgeconv.kernels.algorithms.rows.candidate import RowsCandidate
from edgeconv.kernels.algorithms.rows.params import HEADERS, displayed, gemm_params
from edgeconv.kernels.algorithms.rows.plan import WORD_BYTES, RowsPlan
from edgeconv.kernels.algorithms.scaling import scaling_words
from edgeconv.kernels.algorithms.sums import filter_rows, filter_zeros, multiples, stored_filters
from edgeconv.kernels.lowering.calls import (
    activation_headers,
    blob_arg,
    epilogue_of,
    input_arg,
    output_arg,
    residual_args,
    residual_overwritten,
    storage_of,
)
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target

Integers = npt.NDArray[np.integer[Any]]


def packed_filters(
    node: Node, graph: Graph, problem: ConvProblem, plan: RowsPlan, lanes: int
) -> Words:
    """The filters of a Conv or Dense node as the kernel of ``plan`` reads them: less their zero
    points, if they have any, where they are widened."""
    around = has_zero_points(problem, plan)
    filters = stored_filters(node, graph) if around else multiples(node, graph)
    stored = filters.astype(np.dtype(plan.kernel.b))
    if problem.transposed:
        *_, columns, rows = problem.kernel
        stored = stored.reshape(len(stored), -1, rows, columns).swapaxes(-1, -2)
    if plan.panel.windows:
        stored = np.ascontiguousarray(np.moveaxis(stored, 1, -1))
    return plan.order(problem, lanes).pack(stored).view(np.int32)


def by_sum_of(
    node: Node, graph: Graph, problem: ConvProblem, plan: RowsPlan
) -> tuple[Integers, ...]:
    """What of each sum the sum of its inputs is multiplied by, if there is anything."""
    return (-filter_zeros(node, graph),) if has_zero_points(problem, plan) else ()


def around_params(problem: ConvProblem, plan: RowsPlan, by_sum_at: int) -> dict[str, Param]:
    """What the template must know of zero points that are multiplied by sums of inputs; nothing
    where there are none."""
    if not has_zero_points(problem, plan):
        return {}
    first = plan.bytes // WORD_BYTES
    windows, pixels = words_of_sums(problem, plan)
    return {"sums_at": (first, first + windows if pixels else first), "by_sum_at": by_sum_at}


def around_headers(problem: ConvProblem, plan: RowsPlan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Their headers, that in front of all others and that in front of ec_gemm.h; of whole windows
    there is one in front."""
    if plan.panel.windows:  # whose filters have no zero points
        return ("ec_packed_windows.h",), ()
    if not has_zero_points(problem, plan):
        return (), ()
    return ("ec_packed_zero_points.h",), ("ec_gemm_around.h",)


def _words(node: Node, graph: Graph, form: Form, candidate: RowsCandidate, packed: Words) -> Words:
    """What sums start with, multipliers, what else the form has, zero points that are multiplied by
    sums of inputs, filters: all but these of every channel, then room for a vector that begins with
    the last one, in lines of cache."""
    problem, plan = candidate.problem, candidate.plan
    start = form.start - plan.kernel.shift * filter_rows(node, graph).sum(axis=1)
    around = by_sum_of(node, graph, problem, plan)
    return channel_words((start, *form.words[1:], *around), packed)


def channel_words(values: Sequence[Integers], packed: Words) -> Words:
    """``values`` of every channel, each in `room_for` them, and filters behind."""
    room = room_for(len(values[0])) - len(values[0])
    each = (np.pad(own, (0, room)) for own in values)
    return np.concatenate([*(values.astype(np.int32) for values in each), packed])


def room_for(channels: int) -> int:
    """Words of all channels: whole lines, and one beyond."""
    return (channels // 16 + 2) * 16


def fetches_filters(problem: ConvProblem, target: Target) -> bool:
    """Whether the next filters are fetched meanwhile.  A single row multiplies each filter once, so
    that a core out of order takes as long to fetch a line of them as to load it."""
    rows = problem.batch * math.prod(problem.out_size)
    return target.prefetch and (target.in_order or rows > 1)


def lower(candidate: RowsCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv node whose layouts are decided."""
    if candidate.compute == REAL:
        return _lower_real(candidate, node, graph, target)
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    order, room = plan.order(problem, lanes), room_for(problem.out_c)
    each = scaling_words(graph)
    whole = each + has_zero_points(problem, plan)
    before, behind = around_headers(problem, plan)

    def words(form: Form) -> Words:
        packed = packed_filters(node, graph, problem, plan, lanes)
        return _words(node, graph, form, candidate, packed)

    return integer_layer(
        candidate,
        Call(node, graph, target),
        "gemm",
        params={
            **gemm_params(problem, plan, lanes),
            "prefetch": plan.fetches(target) and fetches_filters(problem, target),
            "epilogue": KernelEpilogue(),
            "filters_as": "EC_F32",  # they are multiplied as they are stored
            "units": 0,
            "words_at": (room, whole * room),
            **around_params(problem, plan, each * room),
            "apart": room if each > 2 else 0,  # from multipliers to what else scalings have
            **storage_of(graph, **{"in": node.inputs[0]}, out=node.output),
        },
        headers=(
            *before,
            plan.kernel.header,
            *HEADERS,
            *("ec_requantise.h", "ec_gemm_spec.h", *behind, "ec_gemm.h"),
        ),
        words=(whole * room + order.elements // plan.kernel.k, words),
        workspace="panels",
        plan=displayed(candidate, lanes),
    )


def _lower_real(candidate: RowsCandidate, node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a layer whose sums become real numbers (`real_sums`)."""
    plan, room = candidate.plan, room_for(candidate.problem.out_c)
    sums = real_sums_of(node, graph)
    assert sums is not None, node.name

    def start() -> Integers:
        less: Integers = plan.kernel.shift * filter_rows(node, graph).sum(axis=1)
        return sums.start - less

    def scaling() -> npt.NDArray[np.float32]:
        return np.concatenate([pack_bias(own, room) for own in (sums.bias, sums.unit)])

    blob = Blob("scaling", 2 * room, scaling)
    params: dict[str, Param] = {
        "zero": candidate.problem.in_as.zero[0],
        "real_sums": filters_at(candidate),
    }
    return real_layer(
        candidate, Call(node, graph, target), start, (blob_arg("scaling", blob),), (blob,), params
    )


def filters_at(candidate: RowsCandidate) -> int:
    """Words in front of the filters of a layer whose sums become real numbers."""
    problem = candidate.problem
    return (1 + has_zero_points(problem, candidate.plan)) * room_for(problem.out_c)


def real_layer(
    candidate: RowsCandidate,
    call: Call,
    start: Callable[[], Integers],
    given: Sequence[Arg],
    constants: tuple[Blob, ...],
    params: Mapping[str, Param],
    headers: tuple[str, ...] = (),
) -> Layer:
    """The kernel call of a layer whose sums become real numbers, layouts decided.

    ``start``: what sums begin with.  ``given``: pointers to what becomes of them, ``constants``
    among it.  ``params``: beside those of all such layers; ``headers``: behind theirs.
    """
    node, graph, target = call.node, call.graph, call.target
    problem, plan, lanes = candidate.problem, candidate.plan, target.lanes
    order, room, first = plan.order(problem, lanes), room_for(problem.out_c), filters_at(candidate)
    before, behind = around_headers(problem, plan)

    def words() -> Words:
        packed = packed_filters(node, graph, problem, plan, lanes)
        return channel_words((start(), *by_sum_of(node, graph, problem, plan)), packed)

    channels = Blob("channels", first + order.elements // plan.kernel.k, words, dtype="int32")
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/gemm.c.j2",
        params={
            **gemm_params(problem, plan, lanes),
            "prefetch": plan.fetches(target) and fetches_filters(problem, target),
            "residual": bool(node.epilogue.residual),
            "epilogue": epilogue_of(node, graph),
            "filters_as": "EC_F32",  # they are multiplied as they are stored
            "units": room,
            "requantise": (),
            "words_at": (),
            **around_params(problem, plan, room),
            **storage_of(graph, **{"in": node.inputs[0]}, out=node.output),
            **params,
        },
        args=(
            input_arg(graph, node.inputs[0]),
            blob_arg("words", channels),
            *given,
            *residual_args(node, graph),
            output_arg(node, graph),
            Arg(ArgKind.WORKSPACE, "panels"),
        ),
        headers=(
            *activation_headers(node.epilogue),
            *before,
            plan.kernel.header,
            *HEADERS,
            *("ec_gemm_spec.h", *behind, "ec_gemm.h", *headers),
        ),
        work=candidate.work,
        blobs=(channels, *constants),
        aliases=residual_overwritten(node, graph),
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        candidate=candidate,
        plan=displayed(candidate, lanes),
    )
