"""Reductions over any set of axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from edgeconv.ir.activation import LARGEST
from edgeconv.ir.choice import Layer, Param
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Layout, Order, Shape
from edgeconv.kernels.lowering.calls import kernel_layer, residual_in_place
from edgeconv.kernels.lowering.images import layouts_of
from edgeconv.kernels.lowering.integers import with_integers
from edgeconv.kernels.lowering.nest import collapse, dense_strides, require_loops
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops import integer_reduce
from edgeconv.kernels.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import axis_of
from edgeconv.kernels.ops.order import REDUCTIONS_OF_INTEGERS
from edgeconv.kernels.ops.reduced_axes import Reduction, reduced
from edgeconv.target.targets import Target


def _importer(reduction: Reduction, of_nothing: float) -> Importer:
    """``of_nothing``: what it makes of no elements."""

    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        return reduced(source, ctx, reduction, of_nothing)

    return importer


def _plain(kind: str, of_nothing: float) -> Importer:
    return _importer(lambda x, axes, keep: x.reduce(kind, axes, keep), of_nothing)


def _log_sum(x: Term, axes: Shape, keep: bool) -> Term:
    return x.reduce("sum", axes, keep).apply("log")


def _log_sum_exp(x: Term, axes: Shape, keep: bool) -> Term:
    """log(sum(exp(x))) = log(sum(exp(x - max))) + max, which does not overflow.

    A largest element that is infinite is brought to the finite numbers: infinity - infinity is not
    a number, but x - max stays infinite as x is, and so does the sum or its logarithm.
    """
    largest = x.reduce("max", axes).apply("clip", -LARGEST, LARGEST)
    whole = (x - largest).apply("exp").reduce("sum", axes).apply("log") + largest
    shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
    return whole if keep else whole.reshape(*shape)


def _import_lp_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = x / norm(x) over one axis; 0 where all of x is 0."""
    formula = Formula(source, ctx)
    x = Term(formula, source.inputs[0])
    axis = axis_of(source, ctx, source.attrs["axis"], len(x.shape))
    p = int(source.attrs["p"])
    if p not in (1, 2):
        raise ctx.reject(source, f"p {p}", "p is 1 or 2")
    norm = x.reduce(f"l{p}", (axis,))
    return formula.finish(x / norm.binary("max", float(np.finfo(np.float32).tiny)))


def _written(node: Node, graph: Graph, layout: Layout) -> Layout | None:
    """The layout of the result of reducing memory in ``layout``; None where it has no name."""
    shape, axes = graph[node.inputs[0]].shape, tuple(node.attrs["axes"])
    if layout == ROW_MAJOR:
        return ROW_MAJOR
    if layout.order is Order.BLOCKED and 1 in axes:
        return None
    if node.attrs["keepdims"]:
        return layout
    pixels_only = axes == tuple(range(2, len(shape)))
    return ROW_MAJOR if pixels_only and shape[1] % layout.block == 0 else None


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Row-major; others where what remains of them is a layout too."""
    options = []
    for layout in layouts_of(graph[node.inputs[0]].shape, target):
        written = _written(node, graph, layout)
        if written is not None:
            residual = (written,) if node.epilogue.residual else ()
            options.append(LayoutOption((layout, *residual), (written,)))
    return with_integers(node, options, integer_reduce.layouts(node, graph))


def _physical_axes(node: Node, rank: int, layout: Layout) -> frozenset[int]:
    """The reduced dimensions in memory order; channel blocks leave the others where they are."""
    axes = frozenset(int(axis) for axis in node.attrs["axes"])
    if layout.order is not Order.CHANNELS_LAST:
        return axes
    return frozenset(rank - 1 if a == 1 else a if a == 0 else a - 1 for a in axes)


def _loops(node: Node, graph: Graph) -> tuple[str, dict[str, Param]]:
    """Which kernel, and its loops: those that remain move the output, those reduced do not."""
    x = graph[node.inputs[0]]
    sizes = x.layout.physical_shape(x.shape)
    reduced = _physical_axes(node, len(x.shape), x.layout)
    remaining = dense_strides([1 if d in reduced else size for d, size in enumerate(sizes)])
    moves = [0 if d in reduced else step for d, step in enumerate(remaining)]
    nest = collapse(sizes, dense_strides(sizes), moves)
    loops = list(zip(nest.sizes, *nest.strides, strict=True))
    # the innermost elements are neighbours in memory; a single element counts as reduced
    inner_size, _, inner_move = loops.pop()
    kept = [(size, step) for size, step, move in loops if move] or [(1, 0)]
    below = [(size, step) for size, step, move in loops if not move] or [(1, 0)]
    require_loops(node, max(len(kept), len(below)))
    return "columns" if inner_move else "rows", {
        "kept": tuple(size for size, _ in kept),
        "kept_strides": tuple(stride for _, stride in kept),
        "reduced": tuple(size for size, _ in below),
        "reduced_strides": tuple(stride for _, stride in below),
        "n": inner_size,
    }


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """Loops over memory: vectors along what remains where that is innermost, else along sums."""
    if node.request.integers:
        return integer_reduce.lower(node, graph, target)
    shape, call = graph[node.inputs[0]].shape, Call(node, graph, target)
    kernel, loops = _loops(node, graph)
    return kernel_layer(
        call,
        f"reduce_{kernel}",
        "ops/reduce.c.j2",
        operands={"in": node.inputs[0]},
        params={
            "kernel_function": kernel,
            "kind": str(node.attrs["kind"]),
            "factor": 1.0 / max(math.prod(shape[a] for a in node.attrs["axes"]), 1),
            **loops,
        },
        headers=("ec_nest.h", "ec_reduce.h"),
        work=call.streams(call.in_vectors),
        aliases=residual_in_place(node, graph),
    )


_REDUCTIONS: dict[str, Importer] = {
    "ReduceMean": _plain("mean", 0.0),  # as ONNX Runtime has it; undefined by ONNX
    "ReduceSum": _plain("sum", 0.0),
    "ReduceMax": _plain("max", -math.inf),
    "ReduceMin": _plain("min", math.inf),
    "ReduceProd": _plain("prod", 1.0),
    "ReduceL1": _plain("l1", 0.0),
    "ReduceL2": _plain("l2", 0.0),
    "ReduceSumSquare": _plain("sum_square", 0.0),
    "ReduceLogSum": _importer(_log_sum, -math.inf),
    "ReduceLogSumExp": _importer(_log_sum_exp, -math.inf),
}


def _typed(op_type: str) -> Importer:
    """By what the data are: axes are integers, too, where they are computed."""

    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        dtype = ctx.tensor(source.inputs[0]).dtype
        of_integers = REDUCTIONS_OF_INTEGERS.get(op_type)
        if dtype == FLOAT32:
            return _REDUCTIONS[op_type](source, ctx)
        if of_integers is None:
            raise ctx.reject(source, dtype, "it is compiled for real numbers", "cast to float")
        return of_integers(source, ctx)

    return importer


OPERATOR = Operator(
    name="Reduce",
    onnx={
        **_REDUCTIONS,
        "LpNormalization": _import_lp_normalization,
    },
    typed={op_type: _typed(op_type) for op_type in _REDUCTIONS},
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
