"""Kernel calls of layers of int8 whose results are real numbers, on cores without vectors.

Sums as those of ``integer``, then float32 (``real_sums``).  With scales of run time (DynamicDense
and DynamicConv) zero point and unit are inputs, and what channels need is made of them at the call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer, Param
from edgeconv.ir.encoding import int8
from edgeconv.ir.filters import DYNAMIC
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer.candidate import rows_of
from edgeconv.kernels.algorithms.integer.lower import (
    C_TYPES,
    PAIR,
    by_sum_of,
    filters_in_k_blocks,
    filters_in_sixteens,
    strides_of,
    sums_behind,
    unscaled_depthwise,
    zero_points_header,
)
from edgeconv.kernels.algorithms.integer.packing import (
    DEPTHWISE_CHANNELS,
    FOUR,
    depthwise_words,
    padded,
    taps_words,
    words_2x2,
)
from edgeconv.kernels.algorithms.integer.real_candidate import (
    CONVOLVE,
    CONVOLVE_1X4,
    DENSE,
    DENSE_SIXTEENS,
    DEPTHWISE_2X2,
    DEPTHWISE_3X3,
    DEPTHWISE_TAPS,
    RealPlan,
    words_of_channels,
)
from edgeconv.kernels.algorithms.integer.real_cycles import real_cycles_of
from edgeconv.kernels.algorithms.packing import filters_blob
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.real_sums import RealSums, real_sums_of
from edgeconv.kernels.algorithms.sums import filter_rows
from edgeconv.kernels.lowering.activations import FUNCTIONS
from edgeconv.kernels.lowering.calls import (
    activation_headers,
    blob_arg,
    epilogue_of,
    input_arg,
    merge_headers,
    output_arg,
    residual_args,
    residual_overwritten,
)
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.targets import Target

Floats = npt.NDArray[np.float32]
Number = TypeVar("Number", bound=np.generic)
STORED = int8(1.0, -128)  # what DynamicQuantise makes, as memory holds it
_IMAGES = ("ec_int8_channels.h", "ec_window.h", "ec_int8_panel.h")
_KERNEL = ("ec_int8_sums.h", "ec_int8_real.h")
_COLUMNS = ("ec_int8_rows.h", "ec_int8_depthwise_3x3.h", "ec_int8_depthwise.h")
_TWO_ROWS = ("ec_int8_2x2.h", "ec_int8_depthwise_2x2.h", "ec_int8_real_2x2.h")
# Filters of depthwise layers that are taken apart, as their kernels read them.
_ORDERS: Mapping[RealPlan, Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int32]]] = {
    DEPTHWISE_2X2: words_2x2,
    DEPTHWISE_3X3: depthwise_words,
    DEPTHWISE_TAPS: taps_words,
}


def with_results(work: Work, call: Call) -> Work:
    """``work`` on sums, and what makes results of these: a product, the epilogue, encoding."""
    cycles = real_cycles_of(call.target).result * call.output.elements
    slots = call.epilogue_of_numbers + call.encoded
    return replace(work, slots=work.slots + slots, moves=work.moves + cycles)


def lower_real(
    candidate: ConvCandidate[RealPlan], node: Node, graph: Graph, target: Target
) -> Layer:
    """The kernel call of a Conv or Dense node, or of one with scales of run time."""
    problem, plan, call = candidate.problem, candidate.plan, Call(node, graph, target)
    dense, run_time = plan in (DENSE, DENSE_SIXTEENS), node.op in DYNAMIC.values()
    in_sums = plan.in_columns or plan == CONVOLVE  # zero points, of filters or of a panel
    apart = problem.asymmetric and not in_sums
    filters = _filters(plan, node, graph)
    room = words_of_channels(problem.out_c)
    made = _run_time(node, graph) if run_time else _channels(node, graph)
    blobs = filters, *(_with_by_sum(made, node, graph, room) if apart else made)
    bias = node.inputs[2] if len(node.inputs) > 2 else ""
    padding = STORED.zero[0] if run_time else graph[node.inputs[0]].storage.zero[0]
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/integer_real.c.j2",
        params={
            "kernel_function": plan.kernel,
            "sixteens": int(plan.sixteens),
            "images": problem.batch,
            **problem.window,
            **problem.rings,
            "rows": rows_of(problem),
            **_group(problem, plan, filters),
            "in_strides": strides_of(problem.in_c, problem.in_size),
            "out_strides": strides_of(problem.out_c, problem.out_size),
            "padding": padding,
            "epilogue": epilogue_of(node, graph),
            "units_at": room,
            "finite": _is_finite(node, graph, run_time=run_time),
            "all_channels": problem.out_c,
            "run_time": run_time,
            "has_bias": bool(bias),
            "each_unit": run_time and graph[node.inputs[4]].size > 1,
            "window_at": 3 * room if run_time else 0,
            "sums_of_inputs": 0 if dense else sums_behind(problem),
            "by_sum_at": room if apart else 0,
            "workspace": bool(candidate.workspace_bytes),
        },
        args=_arguments(candidate, node, graph, blobs),
        headers=(*zero_points_header(problem), *_headers(plan, node, run_time=run_time)),
        work=with_results(candidate.work, call),
        blobs=blobs,
        aliases=residual_overwritten(node, graph),
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        divides=problem.divides if "Conv" in node.op else None,
        candidate=candidate,
        plan={"sums": "int32"},
    )


def _is_finite(node: Node, graph: Graph, *, run_time: bool) -> bool:
    """Whether no constant unit or bias is infinite or NaN, where kernels ask."""
    if not FUNCTIONS[node.epilogue.before.kind].bounds:
        return False
    if run_time:
        bias = node.inputs[2]
        return not bias or bool(np.isfinite(graph[bias].constant()).all())
    sums = _sums(node, graph)
    return bool(np.isfinite(sums.unit).all() and np.isfinite(sums.bias).all())


def _headers(plan: RealPlan, node: Node, *, run_time: bool) -> tuple[str, ...]:
    fours = ("ec_int8_1x4.h",) if plan == CONVOLVE_1X4 else ()
    columns = ("ec_int8_real_depthwise.h",) if plan.in_columns else ()
    own = (*_IMAGES, *(_COLUMNS if plan.in_columns else ()), *fours, *_KERNEL, *columns)
    own = (*own, *(_TWO_ROWS if plan == DEPTHWISE_2X2 else ()))
    own = (*own, *(("ec_run_time_scale.h",) if run_time else ()))
    return merge_headers([(*activation_headers(node.epilogue), *own)])


def _group(problem: ConvProblem, plan: RealPlan, filters: Blob) -> dict[str, Param]:
    """Channels that a call has, and filters from a group's to the next."""
    if plan.is_depthwise:
        return {"groups": 1, "channels": (problem.in_c, problem.out_c), "group_filters": 0}
    groups = problem.groups
    return {
        "groups": groups,
        "channels": (problem.group_in_c, problem.group_out_c),
        "group_filters": filters.elements // groups,
    }


def _filters(plan: RealPlan, node: Node, graph: Graph) -> Blob:
    groups = node.attrs.get("groups", 1)
    if plan.in_columns:
        return unscaled_depthwise(_ORDERS[plan], node, graph)
    if plan.is_depthwise:
        out_c, *window = graph[node.inputs[1]].shape
        elements = padded(out_c, DEPTHWISE_CHANNELS) * math.prod(window)
        return filters_blob(node, graph, elements, taps_first)
    if plan.sixteens:
        return filters_in_sixteens(node, graph, groups)
    if plan == DENSE:
        return filters_in_k_blocks(node, graph, FOUR, groups)
    return filters_in_k_blocks(node, graph, PAIR, groups, in_panel=True)


def taps_first(weights: Floats) -> Floats:
    """Filters (channels, 1, kernel ...): of every kernel position all channels, and zeros up to a
    multiple of four."""
    flat = weights.reshape(len(weights), -1)
    whole = np.pad(flat, ((0, -len(flat) % DEPTHWISE_CHANNELS), (0, 0)))
    return np.ascontiguousarray(whole.T).reshape(-1)


def _channels(node: Node, graph: Graph) -> tuple[Blob, Blob]:
    """What sums start with; biases, then units."""
    room = words_of_channels(graph[node.inputs[1]].shape[0])

    def words() -> npt.NDArray[np.int32]:
        return _filled(_sums(node, graph).start, room)

    def scaling() -> Floats:
        sums = _sums(node, graph)
        return np.concatenate([_filled(sums.bias, room), _filled(sums.unit, room)])

    return (
        Blob("start", room, words, dtype="int32"),
        Blob("scaling", 2 * room, scaling),
    )


def _with_by_sum(blobs: tuple[Blob, ...], node: Node, graph: Graph, room: int) -> tuple[Blob, ...]:
    """``blobs``, behind the first of which are the zero points of filters, negative."""
    first, *others = blobs
    by_sum = by_sum_of(node, graph)
    assert by_sum is not None, node.name

    def words() -> npt.NDArray[np.generic]:
        return np.concatenate([first.pack(), _filled(by_sum.astype(np.int32), room)])

    return replace(first, elements=2 * room, pack=words), *others


def _filled(values: npt.NDArray[Number], room: int) -> npt.NDArray[Number]:
    return np.pad(values, (0, room - len(values)))


def _run_time(node: Node, graph: Graph) -> tuple[Blob, ...]:
    """Sums of filters, by which a zero point counts, and biases, if any."""
    room = words_of_channels(graph[node.inputs[1]].shape[0])

    def sums() -> npt.NDArray[np.int32]:
        return _filled(filter_rows(node, graph).sum(axis=1).astype(np.int32), room)

    def bias() -> Floats:
        return _filled(graph[node.inputs[2]].constant().astype(np.float32).reshape(-1), room)

    addends = (Blob("addends", room, bias),) if node.inputs[2] else ()
    return (Blob("weights", room, sums, dtype="int32"), *addends)


def _arguments(
    candidate: ConvCandidate[RealPlan], node: Node, graph: Graph, blobs: tuple[Blob, ...]
) -> tuple[Arg, ...]:
    filters, *others = blobs
    names = {"addends": "bias"}
    run_time = node.op in DYNAMIC.values()
    return (
        replace(input_arg(graph, node.inputs[0]), c_type="int8_t"),
        Arg(ArgKind.WEIGHTS, "filters", filters.name, C_TYPES[filters.dtype]),
        *(blob_arg(names.get(each.name, each.name), each) for each in others),
        *((input_arg(graph, node.inputs[3], "zero"),) if run_time else ()),
        *((input_arg(graph, node.inputs[4], "unit"),) if run_time else ()),
        *residual_args(node, graph),
        output_arg(node, graph),
        *(
            (Arg(ArgKind.WORKSPACE, "workspace", c_type="int32_t"),)
            if candidate.workspace_bytes
            else ()
        ),
    )


def _sums(node: Node, graph: Graph) -> RealSums:
    sums = real_sums_of(node, graph)
    assert sums is not None, node.name
    return sums
