"""Reductions over any set of axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Node
from edgeconv.ir.layout import Shape
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.ops.importing import Chain, attribute_or_input, axis_of, flag, ints, make_node
from edgeconv.ops.kernels.reduce import layouts, lower


def _axes(source: Source, ctx: ImportContext) -> Shape:
    """The reduced axes, sorted; none only where the model asks for that."""
    rank = len(ctx.tensor(source.inputs[0]).shape)
    given = attribute_or_input(source, ctx, "axes", 1)
    if given is None or given.size == 0:
        return () if flag(source, ctx, "noop_with_empty_axes") else tuple(range(rank))
    return tuple(sorted({axis_of(source, ctx, axis, rank) for axis in ints(given)}))


def _importer(kind: str) -> Importer:
    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        axes, keep = _axes(source, ctx), flag(source, ctx, "keepdims", 1)
        return [make_node(source, "Reduce", source.inputs[:1], kind=kind, axes=axes, keepdims=keep)]

    return importer


def _import_log_sum(source: Source, ctx: ImportContext) -> Sequence[Node]:
    chain = Chain(source, ctx)
    axes, keep = _axes(source, ctx), flag(source, ctx, "keepdims", 1)
    shape = ctx.tensor(source.outputs[0]).shape
    x = source.inputs[0]
    total = chain.add("sum", "Reduce", (x,), shape, kind="sum", axes=axes, keepdims=keep)
    return chain.finish_unary(Activation("log"), total)


def _import_log_sum_exp(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """log(sum(exp(x))) = log(sum(exp(x - max))) + max, which does not overflow."""
    chain, axes, x = Chain(source, ctx), _axes(source, ctx), source.inputs[0]
    shape = ctx.tensor(x).shape
    small = tuple(1 if i in axes else size for i, size in enumerate(shape))
    largest = chain.add("max", "Reduce", (x,), small, kind="max", axes=axes, keepdims=True)
    shifted = chain.add("shifted", "Binary", (x, largest), shape, kind="sub")
    powers = chain.unary("exp", Activation("exp"), shifted)
    total = chain.add("sum", "Reduce", (powers,), small, kind="sum", axes=axes, keepdims=True)
    logarithm = chain.unary("log", Activation("log"), total)
    if ctx.tensor(source.outputs[0]).shape == small:
        return chain.finish("Binary", (logarithm, largest), kind="add")
    y = chain.add("result", "Binary", (logarithm, largest), small, kind="add")
    return chain.finish("Reshape", (y,))


def _import_lp_normalization(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """y = x / norm(x) over one axis; 0 where all of x is 0."""
    chain, x = Chain(source, ctx), source.inputs[0]
    shape = ctx.tensor(x).shape
    axis = axis_of(source, ctx, source.attrs["axis"], len(shape))
    p = int(source.attrs["p"])
    if p not in (1, 2):
        raise ctx.reject(source, f"p {p}", "p is 1 or 2")
    small = tuple(1 if i == axis else size for i, size in enumerate(shape))
    norm = chain.add("norm", "Reduce", (x,), small, kind=f"l{p}", axes=(axis,), keepdims=True)
    least = chain.constant("least", float(np.finfo(np.float32).tiny))
    safe = chain.add("safe", "Binary", (norm, least), small, kind="max")
    return chain.finish("Binary", (x, safe), kind="div")


OPERATOR = Operator(
    name="Reduce",
    onnx={
        "ReduceMean": _importer("mean"),
        "ReduceSum": _importer("sum"),
        "ReduceMax": _importer("max"),
        "ReduceMin": _importer("min"),
        "ReduceProd": _importer("prod"),
        "ReduceL1": _importer("l1"),
        "ReduceL2": _importer("l2"),
        "ReduceSumSquare": _importer("sum_square"),
        "ReduceLogSum": _import_log_sum,
        "ReduceLogSumExp": _import_log_sum_exp,
        "LpNormalization": _import_lp_normalization,
    },
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
