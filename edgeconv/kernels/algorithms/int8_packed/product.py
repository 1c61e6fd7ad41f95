"""Products of two int8 tensors where vectors or matrix units multiply: candidate and kernel call.

One of them is packed to the workspace as filters are, for the kernel that convolves by those.
"""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.candidate import INTEGERS, REAL, Candidate
from edgeconv.ir.choice import Arg, ArgKind, KernelEpilogue, Layer, Number, Param
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.int8_packed.candidate import (
    able_rows,
    has_zero_points,
    int8_plan,
    packed_work,
    real_work,
    with_sums,
)
from edgeconv.kernels.algorithms.int8_packed.lower import around_headers, around_params, room_for
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.product_sums import unit_of_product
from edgeconv.kernels.algorithms.products import Product, nested, product_of, product_problem
from edgeconv.kernels.algorithms.rows.candidate import RowsCandidate, rows_candidate
from edgeconv.kernels.algorithms.rows.params import HEADERS, displayed, gemm_params
from edgeconv.kernels.algorithms.rows.plan import WORD_BYTES, RowsPlan
from edgeconv.kernels.algorithms.scaling import scaled_form, scaling_of
from edgeconv.kernels.algorithms.sums import requantised, result_of
from edgeconv.kernels.lowering.calls import (
    activation_headers,
    epilogue_of,
    input_arg,
    output_arg,
    storage_of,
)
from edgeconv.kernels.lowering.work import Call
from edgeconv.target.micro_kernel import MicroKernel
from edgeconv.target.targets import Target

_LINE = 16  # words
# Cycles of a number that is packed: of those that lie side by side, and word by word.
_PACKED, _BY_NUMBER = 0.5, 3.0


def product_candidates(node: Node, graph: Graph, target: Target) -> tuple[RowsCandidate, ...]:
    """The cheapest plan of one of the products of a MatMul node, where the core has vectors and
    multiplies int8."""
    problem = product_problem(node, graph)
    if problem is None or target.lanes == 1 or not problem.macs:
        return ()
    rows = _able(problem, target)
    if not rows:
        return ()
    plan = int8_plan(problem, target, rows)
    if problem.whole_sums:
        work, compute = packed_work(problem, plan, target), INTEGERS
    else:
        call = Call(node, graph, target)
        around = (call.epilogue + call.encoded) / product_of(node, graph).count
        work, compute = real_work(problem, plan, target, around), REAL
    found = rows_candidate("int8_packed", compute, problem, plan, target, work)
    return (with_sums(found, target),)


def _able(problem: ConvProblem, target: Target) -> tuple[MicroKernel, ...]:
    """The rows that multiply any two int8, or else those of int16."""
    found = able_rows(problem, target)
    return found or tuple(row for row in target.micro_kernels if row.any_int16)


def lower_product(node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of a MatMul node that has a candidate."""
    (each,) = product_candidates(node, graph, target)
    problem, plan, product = each.problem, each.plan, product_of(node, graph)
    lanes = target.lanes
    zero_b = graph[node.inputs[1]].storage.zero[0]
    finish, words = _finish(problem, node, graph)
    room, panels = room_for(problem.out_c), _lines(each.workspace_bytes // WORD_BYTES)
    around = (-zero_b,) if has_zero_points(problem, plan) else ()
    arrays = 1 + len(words) + len(around) + (0 if problem.whole_sums else 2)
    packed_at = panels + arrays * room
    order = plan.order(problem, lanes)
    end = packed_at + order.elements // plan.kernel.k
    candidate = _every(each, product, end * WORD_BYTES, target)
    before, behind = around_headers(problem, plan)
    by_sum_at = room * (1 + len(words)) if around else 0
    return Layer(
        node=node,
        algorithm=each.algorithm,
        template="ops/product.c.j2",
        params={
            **gemm_params(problem, plan, lanes),
            **nested(product),
            **_strides(problem, plan, product),
            **finish,
            **around_params(problem, plan, by_sum_at),
            "by_sum_at": by_sum_at,
            "prefetch": False,  # what is packed is near
            "filters_as": "EC_F32",  # it is multiplied as it is packed
            "zero": problem.in_as.zero[0],
            "zero_b": zero_b,
            "wide": plan.vectors * lanes,
            **_interleaves(plan.kernel),
            "channels_at": panels,
            "packed_at": packed_at,
            "room": room,
            "words": (*words, *around),
            "units": 0 if problem.whole_sums else room,
            "apart": room if len(words) > 1 else 0,
            **storage_of(graph, **{"in": node.inputs[0]}, out=node.output),
        },
        args=_arguments(node, graph),
        headers=(
            *activation_headers(node.epilogue),
            *before,
            "ec_nest.h",
            plan.kernel.header,
            *HEADERS,
            *(("ec_requantise.h",) if problem.whole_sums else ()),
            *("ec_gemm_spec.h", *behind, "ec_gemm.h", "ec_product.h"),
        ),
        work=candidate.work,
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs * product.count,
        candidate=candidate,
        plan=displayed(each, lanes),
        scaling=scaling_of(graph) if problem.whole_sums else "",
    )


def _lines(words: int) -> int:
    return -(-words // _LINE) * _LINE


def _finish(
    problem: ConvProblem, node: Node, graph: Graph
) -> tuple[dict[str, Param], tuple[int, ...]]:
    """How sums become the result, and the words that kernels read of every column beside what its
    sum starts with."""
    params: dict[str, Param]
    if problem.whole_sums:
        form, result = scaled_form(node, graph), result_of(node, graph)
        assert result is not None, node.name
        start, *words = (int(each[0]) for each in form.words)
        params = {
            "epilogue": KernelEpilogue(),
            "requantise": requantised(node, graph, form),
            "result_scale": result.scale[0],
            "start": start,
        }
        return params, tuple(words)
    unit = unit_of_product(node, graph)
    assert unit is not None, node.name
    params = {"epilogue": epilogue_of(node, graph), "requantise": (), "result_scale": 0.0}
    return {**params, "start": 0, "unit": Number(unit)}, ()


def _strides(problem: ConvProblem, plan: RowsPlan, product: Product) -> dict[str, Param]:
    """The strides of rows of a and of the result, which are walked as the plan walks pixels."""
    a, out = product.a.row, product.out.row
    line, plane = plan.row, plan.rows * plan.row
    source = (problem.in_c, 0, 0, plane * a, line * a, a)
    return {"source": source, "out_slice": plane * out, "out_line": line * out, "out_row": out}


def _interleaves(kernel: MicroKernel) -> dict[str, Param]:
    """Words of each interleave, and where each number of them comes from: the filter times the
    numbers that it has in these words, and which of them."""
    taken = [
        of_filter * entry.words * kernel.k + element
        for entry in kernel.interleaves
        for of_filter, element in entry.elements
    ]
    words = tuple(entry.words for entry in kernel.interleaves)
    return {"interleaved": words, "taken": tuple(taken)}


def _every(each: RowsCandidate, product: Product, workspace: int, target: Target) -> Candidate:
    """``each`` of the stack, and what it takes to pack operands."""
    work = each.work.times(product.count)
    cycles = _BY_NUMBER if each.plan.kernel.interleaves else _PACKED
    slots = product.packed * product.k * product.n * cycles / target.slot_cycles
    return Candidate(
        algorithm=each.algorithm,
        workspace={"operand": workspace},
        work=replace(work, slots=work.slots + slots),
        cache_traffic=tuple,  # what it moves is taken to be every operand once
        compute=each.compute,
    )


def _arguments(node: Node, graph: Graph) -> tuple[Arg, ...]:
    a, b = (
        input_arg(graph, name, pointer) for name, pointer in zip(node.inputs, "ab", strict=True)
    )
    return (
        *(replace(arg, c_type="int8_t") for arg in (a, b)),
        output_arg(node, graph),
        Arg(ArgKind.WORKSPACE, "panels"),
    )
