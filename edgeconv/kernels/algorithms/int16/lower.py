"""From a candidate with int16 to its kernel call."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation.wide import WORDS
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.int16.candidate import Int16Plan
from edgeconv.kernels.algorithms.int16.finish import Finished, finished
from edgeconv.kernels.algorithms.int16.packing import (
    in_k_blocks_of_eight,
    in_pairs,
    row_order,
    taps_first,
    widened_rows,
)
from edgeconv.kernels.algorithms.packing import filters_blob
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.sums import filter_zeros, multiples
from edgeconv.kernels.lowering.calls import (
    blob_arg,
    input_arg,
    output_arg,
    residual_args,
)
from edgeconv.target.targets import HELIUM, Target

_HEADERS = ("ec_window.h", "ec_int16_scaling.h", "ec_int16_window.h")
_KERNELS = {
    "convolve": "ec_int16_tile.h",
    "dense": "ec_int16_tile.h",
    "convolve_rows": "ec_int16_rows.h",
    "depthwise": "ec_int16_depthwise.h",
}
Halves = npt.NDArray[np.int16]


def lower(candidate: ConvCandidate[Int16Plan], node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv or Dense node."""
    problem, plan = candidate.problem, candidate.plan
    finish = finished(candidate, node, graph, target)
    blobs = _constants(candidate, finish, node, graph, target)
    constants = tuple(blob_arg(blob.name, blob) for blob in blobs)
    row = (plan.row.header, "ec_micro_kernel.h") if plan.row else ()
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/int16.c.j2",
        params={
            "kernel_function": plan.kernel,
            "images": problem.batch,
            "groups": 1 if plan.kernel == "depthwise" else problem.groups,
            **problem.window,
            **problem.rings,
            **_shape(candidate, target),
            "padding": problem.in_as.zero[0],
            "numbers": plan.numbers,
            "chunk": plan.chunk,
            "apart": problem.out_c,
            "around": int(has_zero_points(problem, plan)),
            **finish.params,
            "workspace": bool(candidate.workspace_bytes),
            "filters_at": WORDS * problem.out_c if len(blobs) == 1 else 0,
        },
        args=(
            input_arg(graph, node.inputs[0]),
            *constants,
            *residual_args(node, graph),
            output_arg(node, graph),
            *_workspace(candidate),
        ),
        headers=(
            *finish.headers,
            *zero_points_header(problem, plan),
            *row[:1],
            *_HEADERS,
            *row[1:],
            _KERNELS[plan.kernel],
        ),
        work=finish.work,
        blobs=blobs,
        aliases=finish.aliases,
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        candidate=candidate,
        plan={**_tile(plan, target), **finish.displayed},
    )


def _tile(plan: Int16Plan, target: Target) -> dict[str, Param]:
    return {"mr": plan.pixels, "nr": plan.vectors * target.lanes} if plan.row else {}


def _workspace(candidate: ConvCandidate[Int16Plan]) -> tuple[Arg, ...]:
    if not candidate.workspace_bytes:
        return ()
    return (Arg(ArgKind.WORKSPACE, "workspace", c_type="int16_t"),)


def _constants(
    candidate: ConvCandidate[Int16Plan],
    finish: Finished,
    node: Node,
    graph: Graph,
    target: Target,
) -> tuple[Blob, ...]:
    """Words of the channels, and behind them widened filters; or filters of int8 apart."""
    problem, plan = candidate.problem, candidate.plan
    count = WORDS * problem.out_c

    def words(*more: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        return np.concatenate([finish.words(), *more])

    def own() -> npt.NDArray[np.int64]:
        return multiples(node, graph)

    if plan.row is not None:
        order = row_order(plan, problem.group_out_c, problem.groups, target.lanes)
        return (_widened(count, order.elements, words, lambda: widened_rows(own(), order)),)

    if plan.kernel == "depthwise":
        elements = problem.out_c * math.prod(problem.kernel)
        return (_widened(count, elements + elements % 2, words, lambda: taps_first(own())),)
    arrange = in_k_blocks_of_eight if HELIUM in target.features else in_pairs
    together = 4 if HELIUM in target.features else 2
    each = -(-problem.group_out_c // together) * together
    elements = problem.groups * each * plan.numbers
    filters = filters_blob(node, graph, elements, lambda weights: arrange(weights, problem.groups))
    if not has_zero_points(problem, plan):
        return filters, Blob("channels", count, words, dtype="int32")
    behind = np.pad(-filter_zeros(node, graph), (0, together)).astype(np.int32)
    return filters, Blob("channels", count + len(behind), lambda: words(behind), dtype="int32")


def has_zero_points(problem: ConvProblem, plan: Int16Plan) -> bool:
    """What is multiplied are filters with zero points: as int16 they are less these."""
    return problem.asymmetric and plan.row is None and plan.kernel != "depthwise"


def zero_points_header(problem: ConvProblem, plan: Int16Plan) -> tuple[str, ...]:
    """The header of filters that have them."""
    return ("ec_zero_points.h",) if has_zero_points(problem, plan) else ()


def _widened(
    count: int,
    elements: int,
    words: Callable[..., npt.NDArray[np.int32]],
    pack: Callable[[], Halves],
) -> Blob:
    return Blob(
        "channels", count + elements // 2, lambda: words(pack().view(np.int32)), dtype="int32"
    )


def _shape(candidate: ConvCandidate[Int16Plan], target: Target) -> dict[str, Param]:
    """Channels, strides and the tiles of a call."""
    problem, plan = candidate.problem, candidate.plan
    depthwise = plan.kernel == "depthwise"
    channels = problem.group_in_c, problem.group_out_c
    group_filters = plan.numbers * _padded_filters(candidate, target)
    row = plan.row
    packed = row.row_multiple if row and row.row_multiple > 1 else 0
    return {
        "channels": (problem.in_c, problem.out_c) if depthwise else channels,
        "in_strides": _strides(problem, output=False),
        "out_strides": _strides(problem, output=True),
        "group_filters": group_filters,
        "tiles": (plan.pixels, packed, plan.vectors, plan.last) if row else (),
        "in_bytes": problem.in_bytes,
    }


def _padded_filters(candidate: ConvCandidate[Int16Plan], target: Target) -> int:
    out_c = candidate.problem.group_out_c
    if candidate.plan.row:
        return -(-out_c // target.lanes) * target.lanes
    together = 4 if HELIUM in target.features else 2
    return -(-out_c // together) * together


def _strides(problem: ConvProblem, *, output: bool) -> tuple[int, int, int]:
    """From an image to the next, a row, and a pixel; channels lie last."""
    channels, (_, height, width) = (
        (problem.out_c, problem.out_memory) if output else (problem.in_c, problem.in_memory)
    )
    return channels * height * width, channels * width, channels
