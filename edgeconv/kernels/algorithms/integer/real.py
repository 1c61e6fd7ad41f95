"""Layers of int8 whose results are real numbers, on cores without vectors: candidates and calls.

Sums as those of ``integer``, then float32 (``real_sums``).  With scales of run time (DynamicDense
and DynamicConv) zero point and unit are inputs, and what channels need is made of them at the call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from edgeconv.ir.candidate import REAL
from edgeconv.ir.choice import Arg, ArgKind, Blob, Layer, Param
from edgeconv.ir.encoding import int8
from edgeconv.ir.filters import DYNAMIC
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer.beside import ROWS_TOGETHER, is_column, taken
from edgeconv.kernels.algorithms.integer.candidate import (
    NUMBERS_BYTES,
    PIXELS,
    gathering,
    is_image,
    leaves,
    panel_quads,
    panels_of,
    summing,
    windows_copied,
)
from edgeconv.kernels.algorithms.integer.cycles import (
    FOURS_BLOCK,
    FOURS_SUMMED,
    cycles_of,
    real_cycles_of,
)
from edgeconv.kernels.algorithms.integer.lower import (
    C_TYPES,
    PAIR,
    by_sum_of,
    filters_in_quads,
    filters_in_sixteens,
    sums_behind,
    unscaled_depthwise,
    zero_points_header,
)
from edgeconv.kernels.algorithms.integer.packing import (
    DEPTHWISE_CHANNELS,
    FOUR,
    QUAD,
    SIXTEEN,
    padded,
)
from edgeconv.kernels.algorithms.packing import filters_blob
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.real_sums import RealSums, largest_reach, real_sums_of
from edgeconv.kernels.algorithms.sums import filter_rows
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
from edgeconv.target.targets import DSP, HELIUM, Target

Floats = npt.NDArray[np.float32]
Number = TypeVar("Number", bound=np.generic)
WORD = 4  # bytes
STORED = int8(1.0, -128)  # what DynamicQuantise makes, as memory holds it
_LARGEST = 2**31 - 1
_IMAGES = ("ec_int8_channels.h", "ec_window.h", "ec_int8_panel.h")
_KERNEL = ("ec_int8_sums.h", "ec_int8_real.h")
_COLUMNS = ("ec_int8_rows.h", "ec_int8_depthwise_3x3.h", "ec_int8_depthwise.h")
_IN_COLUMNS = ("depthwise_3x3", "depthwise_taps")


@dataclass(frozen=True, slots=True)
class RealPlan:
    """``kernel``: what its function is called behind ec_int8_real_."""

    kernel: str
    sixteens: bool = False

    @property
    def is_depthwise(self) -> bool:
        return self.kernel.startswith("depthwise")

    @property
    def in_columns(self) -> bool:
        """Of a depthwise layer: inputs and filters are taken apart as int16."""
        return self.kernel in _IN_COLUMNS


def real_candidates(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[RealPlan], ...]:
    """One, where sums of integers make the real numbers of the result and nothing is vectorised;
    what makes these of sums is the work of the call alone."""
    return () if target.lanes > 1 or problem.integers else _images(problem, target)


def dense_real_candidates(
    problem: ConvProblem, target: Target
) -> tuple[ConvCandidate[RealPlan], ...]:
    """That of a fully connected layer, which needs no panel."""
    return () if target.lanes > 1 or problem.integers else _rows(problem, target)


def product_candidate(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[RealPlan], ...]:
    """That of a product of two tensors, one of which is packed as filters of an image are."""
    return (_dense(problem, target),)


def _images(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[RealPlan], ...]:
    if not problem.real_sums or not is_image(problem):
        return ()
    if problem.groups > 1 and problem.group_in_c == 1:
        in_columns = DSP in target.features and HELIUM not in target.features
        return (_by_columns(problem, target) if in_columns else _depthwise(problem, target),)
    return (_dense(problem, target),)


def _rows(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[RealPlan], ...]:
    if not problem.real_sums:
        return ()
    sixteens = HELIUM in target.features
    core, real = cycles_of(target), real_cycles_of(target)
    rows, fours = math.prod(problem.out_size), -(-problem.out_c // FOUR)
    block, step = (SIXTEEN, FOURS_BLOCK) if sixteens else (QUAD, core.dot)
    cycles = rows * fours * (-(-problem.in_c // block) * step + real.four)
    if problem.asymmetric:
        summed = FOURS_SUMMED if sixteens else core.summed
        cycles += rows * (summing(problem, block, summed) + fours * real.around)
    return (_found(problem, RealPlan("dense", sixteens), {}, cycles),)


def run_time_candidates(
    problem: ConvProblem, node: Node, graph: Graph, target: Target
) -> tuple[ConvCandidate[RealPlan], ...]:
    """Those of a DynamicDense or DynamicConv, where no part of a sum is beyond int32; on cores with
    vectors, too, on which they are as right and no faster."""
    if int(largest_reach(node, graph, 2 * 255).max(initial=0)) > _LARGEST:
        return ()
    whole = replace(problem, real_sums=True)
    dense = node.op == DYNAMIC["Dense"]
    made = _rows(whole, target) if dense else _images(whole, target)
    channels = 3 * WORD * _room(problem.out_c)
    room = {"channels": channels}
    return tuple(replace(each, workspace={**room, **each.workspace}) for each in made)


def _dense(problem: ConvProblem, target: Target) -> ConvCandidate[RealPlan]:
    group_c = problem.group_out_c
    group = replace(problem, groups=1, in_c=problem.group_in_c, out_c=group_c)
    core, real = cycles_of(target), real_cycles_of(target)
    numbers = group.in_c * math.prod(group.kernel)
    pixels = group.batch * math.prod(group.out_size)
    if HELIUM in target.features:
        fours, blocks = -(-group_c // FOUR), -(-numbers // SIXTEEN)
        copied, copying = windows_copied(group)
        cycles = pixels * (fours * (FOURS_BLOCK * blocks + real.four) + copying)
        if group.asymmetric:
            cycles += pixels * (summing(group, SIXTEEN, FOURS_SUMMED) + fours * real.around)
        room = {"window": padded(numbers, QUAD)} if copied else {}
        plan = RealPlan("convolve_fours", sixteens=True)
    else:
        quads, (panels, packed) = panel_quads(group, numbers), panels_of(group)
        cycles = panels * -(-group_c // 2) * (quads * core.tile + real.tile)
        gathered = gathering(group, core.windows, apart=problem.groups > 1)
        cycles += packed * (quads * core.widened + gathered)
        cycles += packed * summing(group, QUAD, core.summed) if group.asymmetric else 0.0
        room, plan = {"panel": 2 * PIXELS * QUAD * quads}, RealPlan("convolve")
    return _found(problem, plan, room, problem.groups * cycles)


def _depthwise(problem: ConvProblem, target: Target) -> ConvCandidate[RealPlan]:
    real, taps = real_cycles_of(target), math.prod(problem.kernel)
    windows = float(problem.batch * math.prod(problem.out_size))
    fours, lone = divmod(problem.out_c, DEPTHWISE_CHANNELS)
    if not problem.is_depthwise:
        fours, lone = 0, problem.out_c
    cycles = fours * (real.window + taps * real.tap) + lone * (real.lone + taps * real.lone_tap)
    cycles *= 2 if problem.asymmetric else 1  # inputs are summed as products are
    return _found(problem, RealPlan("depthwise"), {}, windows * cycles)


def _by_columns(problem: ConvProblem, target: Target) -> ConvCandidate[RealPlan]:
    """Four channels at a time, as those of int8 results."""
    core, real, each = cycles_of(target), real_cycles_of(target), taken(problem, in_pairs=True)
    fours = -(-problem.out_c // DEPTHWISE_CHANNELS)
    height, width = problem.kernel[1:]
    plain = problem.is_depthwise and (height, width) == (3, 3) and problem.dilations[2] == 1
    if plain:
        window, packed, row = real.nine, each.lone * core.column, core.row_of_four
    else:
        pairs, lone = divmod(height, 2)
        window = real.taps + width * (pairs * core.pair_tap + lone * core.lone_tap)
        packed = each.pairs * core.pair_column + each.lone * core.lone_column
        row = core.rows_of_taps if is_column(problem) else core.row_of_taps
    windows = float(problem.batch * math.prod(problem.out_size))
    cycles = fours * (windows * window + problem.batch * each.batches * (packed + row))
    along = min(problem.out_size[1], ROWS_TOGETHER) if is_column(problem) else problem.out_size[2]
    outside = problem.in_size[2] * problem.in_c
    room = {
        "sums": WORD * DEPTHWISE_CHANNELS * along,
        "columns": (2 * each.pairs + each.lone) * NUMBERS_BYTES,
        "outside": padded(outside, WORD) if leaves(problem) else 0,
    }
    plan = RealPlan("depthwise_3x3" if plain else "depthwise_taps")
    return _found(problem, plan, room, cycles)


def _found(
    problem: ConvProblem, plan: RealPlan, room: dict[str, int], cycles: float
) -> ConvCandidate[RealPlan]:
    pixels = problem.batch * math.prod(problem.out_size)
    passes = float(problem.macs) if plan.is_depthwise else problem.macs / PIXELS
    data = float(problem.macs) / (1 if plan.is_depthwise else 2)
    return ConvCandidate(
        algorithm="integer",
        problem=problem,
        plan=plan,
        workspace=room,
        work=Work(0.0, cycles, passes + 3.0 * WORD * problem.out_c * pixels, data),
        crossings=tuple,  # what it moves is taken to be every operand once
        compute=REAL,
    )


def with_results(work: Work, call: Call) -> Work:
    """``work`` on sums, and what makes results of these: a product, the epilogue, encoding."""
    cycles = real_cycles_of(call.target).result * call.output.elements
    slots = call.epilogue + call.encoded
    return replace(work, slots=work.slots + slots, moves=work.moves + cycles)


def lower_real(
    candidate: ConvCandidate[RealPlan], node: Node, graph: Graph, target: Target
) -> Layer:
    """The kernel call of a Conv or Dense node, or of one with scales of run time."""
    problem, plan, call = candidate.problem, candidate.plan, Call(node, graph, target)
    dense, run_time = plan.kernel == "dense", node.op in DYNAMIC.values()
    in_sums = plan.in_columns or plan.kernel == "convolve"  # zero points, of filters or of a panel
    apart = problem.asymmetric and not in_sums
    filters = _filters(plan, node, graph)
    room = _room(problem.out_c)
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
            "rows": math.prod(problem.out_size),
            **_group(problem, plan, filters),
            "in_strides": _strides(problem.in_c, problem.in_size),
            "out_strides": _strides(problem.out_c, problem.out_size),
            "padding": padding,
            "epilogue": epilogue_of(node, graph),
            "units_at": room,
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
        divides=None if dense else problem.divides,
        candidate=candidate,
        plan={"sums": "int32"},
    )


def _headers(plan: RealPlan, node: Node, *, run_time: bool) -> tuple[str, ...]:
    fours = ("ec_int8_fours.h",) if plan.kernel == "convolve_fours" else ()
    columns = ("ec_int8_real_depthwise.h",) if plan.in_columns else ()
    own = (*_IMAGES, *(_COLUMNS if plan.in_columns else ()), *fours, *_KERNEL, *columns)
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
        return unscaled_depthwise(plan.kernel == "depthwise_3x3", node, graph)
    if plan.is_depthwise:
        out_c, *window = graph[node.inputs[1]].shape
        elements = padded(out_c, DEPTHWISE_CHANNELS) * math.prod(window)
        return filters_blob(node, graph, elements, taps_first)
    if plan.sixteens:
        return filters_in_sixteens(node, graph, groups)
    if plan.kernel == "dense":
        return filters_in_quads(node, graph, FOUR, groups)
    return filters_in_quads(node, graph, PAIR, groups, in_panel=True)


def taps_first(weights: Floats) -> Floats:
    """Filters (channels, 1, kernel ...): of every kernel position all channels, and zeros up to a
    multiple of four."""
    flat = weights.reshape(len(weights), -1)
    whole = np.pad(flat, ((0, -len(flat) % DEPTHWISE_CHANNELS), (0, 0)))
    return np.ascontiguousarray(whole.T).reshape(-1)


def _room(channels: int) -> int:
    """Words of all channels, whole tiles of any kernel."""
    return padded(channels, FOUR)


def _channels(node: Node, graph: Graph) -> tuple[Blob, Blob]:
    """What sums start with; biases, then units."""
    room = _room(graph[node.inputs[1]].shape[0])

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
    room = _room(graph[node.inputs[1]].shape[0])

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


def _strides(channels: int, size: tuple[int, int, int]) -> tuple[int, int, int]:
    """From an image to the next, a row, and a pixel; channels lie last."""
    return channels * size[1] * size[2], channels * size[2], channels
