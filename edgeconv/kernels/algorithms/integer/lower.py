"""From an integer candidate to its kernel call."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer, Param, Whole
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import Form
from edgeconv.ir.requantisation.scalings import right_of
from edgeconv.ir.step import Divides
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer.candidate import IntegerPlan, rows_added, rows_of
from edgeconv.kernels.algorithms.integer.depthwise_2x2 import Depthwise2x2
from edgeconv.kernels.algorithms.integer.helium_tiles import BEYOND, is_held
from edgeconv.kernels.algorithms.integer.joined import (
    FILTERS_BEYOND,
    joined,
    parted,
    side_by_side,
)
from edgeconv.kernels.algorithms.integer.overlap import overlapping
from edgeconv.kernels.algorithms.integer.packing import (
    CHANNELS_1X8,
    DEPTHWISE_CHANNELS,
    FOUR,
    K_BLOCK,
    SIXTEEN,
    Words,
    by_group,
    channel_words,
    depthwise_words,
    in_k_blocks,
    in_sixteens,
    padded,
    sums_in,
    taps_words,
    words_1x8,
    words_2x2,
    words_3x3_2x2,
    words_of,
)
from edgeconv.kernels.algorithms.packing import filters_blob
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.scaling import scaled_form, scaling_of
from edgeconv.kernels.algorithms.sums import filter_zeros, larger_of, multiples, pair_of
from edgeconv.kernels.algorithms.widening import is_asymmetric
from edgeconv.kernels.lowering.calls import (
    input_arg,
    output_arg,
    residual_args,
    residual_overwritten,
)
from edgeconv.target.targets import DUAL_ISSUE, Target

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
PAIR = 2  # filters that are computed together; of a dense layer four
C_TYPES = {"float32": "int8_t", "int32": "int32_t"}  # filters count as numbers of one byte


def lower(candidate: ConvCandidate[IntegerPlan], node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a Conv or Dense node."""
    if candidate.plan.kernel.is_dense:
        return _lower_rows(candidate, node, graph)
    problem, form = candidate.problem, scaled_form(node, graph)
    bits = 0
    if candidate.plan.kernel.is_depthwise and right_of(scaling_of(graph)):
        larger = larger_of(node, graph)
        assert larger is not None, node.name
        form, bits = larger.form, larger.bits
    blobs = _constants(candidate, node, graph, form, bits)
    params: dict[str, Param] = {
        "images": problem.batch,
        **problem.window,
        **problem.rings,
        "groups": 1 if candidate.plan.kernel.is_depthwise else problem.groups,
        **_group(candidate, blobs),
        "in_strides": strides_of(problem.in_c, problem.in_rows),
        "out_strides": strides_of(problem.out_c, problem.out_rows),
        "patch": problem.in_pitch > 0,
        "workspace": bool(candidate.workspace_bytes),
        "has_filters": len(blobs) > 1,
        "sums_of_inputs": sums_behind(problem),
        "added": _added(node, graph),
        "residual_rows": rows_added(problem),
        **_residual_at(problem, node, graph),
        "padding": graph[node.inputs[0]].storage.zero[0],
    }
    aliases = (*residual_overwritten(node, graph), *overlapping(candidate, node))
    layer = _layer(candidate, node, graph, "conv/integer.c.j2", params, form, blobs)
    patch = ("ec_columns.h",) if problem.in_pitch else ()
    headers = (*dual_issue_header(target), *layer.headers, *patch)
    return replace(layer, headers=headers, aliases=aliases)


def _divides(problem: ConvProblem, node: Node) -> Divides | None:
    """How a convolution reads its input.  Columns may be computed apart too."""
    divides = problem.divides if node.op == "Conv" else None
    if divides is None:
        return None
    return replace(divides, columns=problem.columns, adds_apart=bool(node.epilogue.residual))


def _residual_at(problem: ConvProblem, node: Node, graph: Graph) -> dict[str, Param]:
    """The ring that a residual lies in, and elements from a row of it to the next, where these are
    not those of the output; else nothing."""
    if not problem.adds_apart:
        return {}
    residual = graph[node.epilogue.residual]
    return {"residual_at": (residual.ring, problem.out_c * residual.held[-1])}


def _lower_rows(candidate: ConvCandidate[IntegerPlan], node: Node, graph: Graph) -> Layer:
    """The kernel call of what is computed row by row."""
    problem, form = candidate.problem, scaled_form(node, graph)
    by_1x4 = partial(filters_in_k_blocks, together=FOUR, join=candidate.plan.kernel.joined)
    by_sixteens = partial(filters_in_sixteens, beyond=_numbers_beyond(candidate))
    filters = (by_sixteens if candidate.plan.kernel.helium else by_1x4)(node, graph)
    join = candidate.plan.kernel.joined and bool(right_of(scaling_of(graph)))
    blobs = (filters, _channels(form, FOUR, by_sum=by_sum_of(node, graph), join=join))
    params: dict[str, Param] = {
        "rows": rows_of(problem),
        "width": problem.out_size[2],
        "channels": (problem.in_c, problem.out_c),
        "padding": 0,
    }
    layer = _layer(candidate, node, graph, "ops/dense_integer.c.j2", params, form, blobs)
    layer = replace(layer, params={**layer.params, "offset": Whole(form.offset)})
    return replace(layer, aliases=overlapping(candidate, node))


def _layer(
    candidate: ConvCandidate[IntegerPlan],
    node: Node,
    graph: Graph,
    template: str,
    params: dict[str, Param],
    form: Form,
    blobs: tuple[Blob, ...],
) -> Layer:
    kernel = candidate.plan.kernel
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template=template,
        params={
            "kernel_function": kernel.name,
            **params,
            "offset": form.offset,
            "right": form.right,
            "low": form.low,
            "high": form.high,
        },
        args=_arguments(node, graph, blobs, candidate),
        headers=(*zero_points_header(candidate.problem), *kernel.headers),
        work=candidate.work,
        blobs=blobs,
        workspace_bytes=candidate.workspace_bytes,
        macs=candidate.problem.macs,
        divides=_divides(candidate.problem, node),
        candidate=candidate,
        plan={"right": form.right},
        scaling=scaling_of(graph),
    )


def zero_points_header(problem: ConvProblem) -> tuple[str, ...]:
    """The header of filters that have them."""
    return ("ec_zero_points.h",) if problem.asymmetric else ()


def dual_issue_header(target: Target) -> tuple[str, ...]:
    """The header that has loops in assembly in the order for a core of that kind."""
    return ("ec_dual_issue.h",) if DUAL_ISSUE in target.features else ()


def sums_behind(problem: ConvProblem) -> int:
    """Numbers behind those of a window in a panel, by which it is multiplied by zero points."""
    return sums_in(problem.group_in_c * math.prod(problem.kernel)) if problem.asymmetric else 0


def by_sum_of(node: Node, graph: Graph) -> Integers | None:
    """What of each sum the sum of its inputs is multiplied by; None where filters have no zero
    points."""
    return -filter_zeros(node, graph) if is_asymmetric(node.storage) else None


def _numbers_beyond(candidate: ConvCandidate[IntegerPlan]) -> int:
    """How many numbers beyond the last filter are read."""
    kernel, problem = candidate.plan.kernel, candidate.problem
    if not kernel.helium:
        return FILTERS_BEYOND * kernel.reads_beyond
    return 0 if is_held(problem.group_in_c * math.prod(problem.kernel)) else BEYOND


def _constants(
    candidate: ConvCandidate[IntegerPlan], node: Node, graph: Graph, form: Form, bits: int
) -> tuple[Blob, ...]:
    """Filters and channels' words of a convolution; ``bits`` as in
    `Larger`."""
    plan, beyond = candidate.plan, _numbers_beyond(candidate)
    if plan.kernel.is_depthwise:
        return (_depthwise(plan, node, graph, form, bits),)
    groups = node.attrs.get("groups", 1)
    if plan.kernel.helium:
        words = _channels(form, FOUR, groups, by_sum_of(node, graph))
        return filters_in_sixteens(node, graph, groups, beyond=beyond), words
    join = plan.kernel.joined
    filters = filters_in_k_blocks(
        node, graph, plan.kernel.filters, groups, in_panel=True, join=join, beyond=beyond
    )
    join = join and bool(right_of(scaling_of(graph)))
    return filters, _channels(form, plan.kernel.filters, groups, join=join)


def unscaled_depthwise(pack: Callable[[Integers], Words], node: Node, graph: Graph) -> Blob:
    """Filters of every four channels of a layer whose sums are results, as ``pack`` orders them."""
    filters = _depthwise_filters(node, graph)
    four = np.zeros((DEPTHWISE_CHANNELS, *filters.shape[1:]), np.int64)
    own = pack(four).size
    return _words(-(-len(filters) // DEPTHWISE_CHANNELS) * own, lambda: pack(filters))


def _depthwise_filters(node: Node, graph: Graph) -> Integers:
    """The filters of two dimensions; of one they are a row."""
    filters = multiples(node, graph)
    return filters.reshape(*filters.shape[:2], -1, filters.shape[-1])


def _depthwise(plan: IntegerPlan, node: Node, graph: Graph, form: Form, bits: int) -> Blob:
    """Words and filters of every few channels, these 2^bits as large as they are."""
    filters = _depthwise_filters(node, graph) << bits
    each = len(form.words)
    if plan.kernel.helium:
        wide = is_asymmetric(node.storage)
        element = np.int16 if wide else np.int8
        own = words_of(CHANNELS_1X8, (1 + wide) * filters[0].size, each)
        count = -(-len(filters) // CHANNELS_1X8) * own
        return _words(count, lambda: words_1x8(filters, form, element))
    if plan.two is not None:
        return _by_2x2(plan.two, filters, form)
    pack = depthwise_words if plan.kernel.is_3x3 else taps_words
    own = words_of(DEPTHWISE_CHANNELS, filters[0].size, each)
    return _words(-(-len(filters) // DEPTHWISE_CHANNELS) * own, lambda: pack(filters, form))


def _by_2x2(two: Depthwise2x2, filters: Integers, form: Form) -> Blob:
    """The words of pairs of rows."""
    if two.kernel.is_transposed:
        filters = filters.transpose(0, 1, 3, 2)
    each, (height, width) = len(form.words), filters.shape[2:]
    fours = -(-len(filters) // DEPTHWISE_CHANNELS)
    if two.kernel.is_3x3:
        return _words(4 * fours * (6 + each), lambda: words_3x3_2x2(filters, form))
    taps = width * (height // 2 + 1)
    return _words(2 * fours * (2 * each + 4 * taps), lambda: words_2x2(filters, form))


def _group(candidate: ConvCandidate[IntegerPlan], blobs: Sequence[Blob]) -> dict[str, Param]:
    """Channels that a call has, and elements of constants from a group's to the next."""
    problem, groups = candidate.problem, candidate.problem.groups
    if candidate.plan.kernel.is_depthwise:
        return {"channels": (problem.in_c, problem.out_c), "constants": (0, 0)}
    filters, words = (blob.elements for blob in blobs)
    filters -= _numbers_beyond(candidate)
    each = filters // groups, words // groups
    return {"channels": (problem.group_in_c, problem.group_out_c), "constants": each}


def strides_of(channels: int, size: tuple[int, int, int]) -> tuple[int, int, int]:
    """From an image to the next, a row, and a pixel; channels lie last."""
    return channels * size[1] * size[2], channels * size[2], channels


def _arguments(
    node: Node, graph: Graph, blobs: Sequence[Blob], candidate: ConvCandidate[IntegerPlan]
) -> tuple[Arg, ...]:
    """Pointers to what the kernel reads and writes: integers, all of them."""
    tensors = (
        input_arg(graph, node.inputs[0]),
        *residual_args(node, graph),
        output_arg(node, graph),
    )
    source, *others = (replace(arg, c_type="int8_t") for arg in tensors)
    held = "int8_t" if candidate.plan.kernel.helium else "int16_t"
    workspace = (Arg(ArgKind.WORKSPACE, "workspace", c_type=held),)
    return (
        source,
        *(Arg(ArgKind.WEIGHTS, blob.name, blob.name, C_TYPES[blob.dtype]) for blob in blobs),
        *others,
        *(workspace if candidate.workspace_bytes else ()),
    )


def _added(node: Node, graph: Graph) -> tuple[int, ...]:
    """How a residual is added, as `ec_int8_residual` has it but for the rows; empty without."""
    if not node.epilogue.residual:
        return ()
    pair = pair_of(node, graph)
    assert pair is not None, node.name
    return pair.by_a, pair.by_b, pair.offset, pair.right, pair.low, pair.high, pair.ties


def filters_in_k_blocks(
    node: Node,
    graph: Graph,
    together: int,
    groups: int = 1,
    *,
    in_panel: bool = False,
    join: bool = False,
    beyond: int = 0,
) -> Blob:
    """The filters of a Conv or Dense node, so many ``together``, as `in_k_blocks`; ``in_panel``:
    windows have their sums behind them, where filters have zero points.  ``join``: in pairs, and so
    many numbers ``beyond`` the last are read."""
    out_c, *window = graph[node.inputs[1]].shape
    numbers, zeros = math.prod(window), None
    if in_panel and is_asymmetric(node.storage):
        own = filter_zeros(node, graph).astype(np.float32)
        zeros = np.tile(by_group(own[:, None], groups, together), sums_in(numbers))
        numbers += zeros.shape[1]

    def arranged(weights: Floats, behind: Floats | None = None) -> Floats:
        return in_k_blocks(by_group(weights, groups, together), together, behind)

    def without(weights: Floats) -> Floats:
        return arranged(weights, None if zeros is None else np.zeros_like(zeros))

    elements = groups * padded(out_c // groups, together) * padded(numbers, K_BLOCK)
    if not join:
        return filters_blob(node, graph, elements, lambda w: arranged(w, zeros), without)

    def beside(weights: Floats) -> Floats:
        return side_by_side(arranged(weights), beyond)

    blob = filters_blob(node, graph, elements + beyond, lambda w: joined(beside(w)), beside)
    return replace(blob, restored=parted)


def filters_in_sixteens(node: Node, graph: Graph, groups: int = 1, *, beyond: int = 0) -> Blob:
    """The filters as `in_sixteens`, and so many numbers ``beyond`` the last are read."""
    out_c, *window = graph[node.inputs[1]].shape
    elements = groups * padded(out_c // groups, FOUR) * padded(math.prod(window), SIXTEEN)

    def arranged(weights: Floats) -> Floats:
        return np.pad(in_sixteens(by_group(weights, groups, FOUR)), (0, beyond))

    return filters_blob(node, graph, elements + beyond, arranged)


def _channels(
    form: Form,
    together: int,
    groups: int = 1,
    by_sum: Integers | None = None,
    *,
    join: bool = False,
) -> Blob:
    each = len(form.words) + (by_sum is not None)
    count = each * groups * padded(len(form.start) // groups, together)
    return _words(count, lambda: channel_words(form, together, groups, by_sum, join=join))


def _words(elements: int, pack: Callable[[], npt.NDArray[np.int32]]) -> Blob:
    return Blob("channels", elements, pack, dtype="int32")
