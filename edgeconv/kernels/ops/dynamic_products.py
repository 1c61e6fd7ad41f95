"""Integers by a scale and a zero point that the model computes, and their products with constants:
what `search.choose.dynamic_quantisation` makes of DynamicQuantizeLinear, MatMulInteger and
ConvInteger.

DynamicQuantise: inputs x, scale, zero point; saturate(round(x / scale) + zero point), 0 to 255;
``ranged``: the scale is that of the range of x.
DynamicDense, DynamicConv: inputs q, filters, bias (or ""), zero point, unit; attributes as Dense
and Conv have them; sums of (q - zero point) times filters, in units, and the bias.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from edgeconv.ir.choice import Layer
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.filters import DYNAMIC
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.int8_packed import run_time as packed
from edgeconv.kernels.algorithms.integer import real_candidate as scalar
from edgeconv.kernels.algorithms.integer.real import lower_real
from edgeconv.kernels.algorithms.problem import ConvProblem, problem_of
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.images import layouts_of, padding
from edgeconv.kernels.lowering.loops import pair_cycles
from edgeconv.kernels.lowering.options import LayoutOption, Stored, convolved
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import Operator
from edgeconv.kernels.ops.conv import macs
from edgeconv.kernels.ops.dense import dense_problem
from edgeconv.target.targets import Target

_SLOTS = 6.0  # of a vector: divided, rounded, the zero point added, bounded


def _quantise_layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any, that of the input."""
    shape = graph[node.output].shape
    return [
        LayoutOption((layout, ROW_MAJOR, ROW_MAJOR), (layout,), padding(shape, layout))
        for layout in layouts_of(shape, target)
    ]


def _lower_quantise(node: Node, graph: Graph, target: Target) -> Layer:
    """One flat loop over memory, channel padding included; on cores without vectors without a
    division, where no integer is beyond those of the range."""
    call, x = Call(node, graph, target), graph[node.inputs[0]]
    work, by_product = call.streams(_SLOTS * call.out_vectors), False
    if target.is_scalar and x.storage == FLOAT32:
        by_product = bool(node.attrs["ranged"]) and graph[node.output].storage == packed.STORED
        kind = "quantise_ranged" if by_product else "quantise_dynamic"
        moves = pair_cycles(kind, target) * x.elements
        work = Work(0.0, moves, 0.0, work.data_bytes)
    return kernel_layer(
        call,
        "quantise",
        "ops/dynamic_quantise.c.j2",
        operands=dict(zip(("x", "scale", "zero"), node.inputs, strict=True)),
        params={"elements": graph[node.output].elements, "by_product": by_product},
        headers=("ec_lanes.h", "ec_quantise.h"),
        work=work,
        epilogue=False,
    )


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Channels side by side; numbers beside the input are vectors."""
    del graph, target
    image = {CHANNELS_LAST if node.op == DYNAMIC["Conv"] else ROW_MAJOR: 0.0}
    return convolved(node, image, image)


_PROBLEMS: dict[str, Callable[[Node, Graph], ConvProblem]] = {
    DYNAMIC["Dense"]: dense_problem,
    DYNAMIC["Conv"]: problem_of,
}


def _lower(node: Node, graph: Graph, target: Target) -> Layer:
    """By packed rows where the target has a kernel; else, of a network that was decided for another
    core, by the loops for those without vectors."""
    problem = _PROBLEMS[node.op](node, graph)
    rows = packed.run_time_candidates(problem, node, graph, target)
    if not rows:
        (plain,) = scalar.run_time_candidates(problem, node, graph, target)
        return lower_real(plain, node, graph, target)
    candidate = rows[0]
    if node.op == DYNAMIC["Dense"]:  # as a Dense, it is taken to move every operand once
        candidate = replace(candidate, cache_traffic=tuple)
    return packed.lower_run_time(candidate, node, graph, target)


def computable(node: Node, graph: Graph, target: Target) -> bool:
    """Whether ``target`` has a kernel for a DynamicDense or DynamicConv."""
    problem = _PROBLEMS[node.op](node, graph)
    candidates = scalar.run_time_candidates if target.lanes == 1 else packed.run_time_candidates
    return bool(candidates(problem, node, graph, target))


OPERATOR = (
    Operator(
        name="DynamicQuantise",
        lower=_lower_quantise,
        layouts=_quantise_layouts,
        stored=Stored.READS,
    ),
    *(
        Operator(
            name=name,
            lower=_lower,
            layouts=_layouts,
            macs=macs,
            fuses=True,
            stored=Stored.WRITES,
        )
        for name in _PROBLEMS
    ),
)
