"""Element-wise functions of two variables, with numpy broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgeconv.ir.graph import Node
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Importer, Operator, Source
from edgeconv.ops.importing import Chain, broadcast, fold_pairs, make_node
from edgeconv.ops.kernels.binary import layouts, lower


def _pairwise(kind: str) -> Importer:
    return lambda source, ctx: [make_node(source, "Binary", kind=kind)]


def _variadic(kind: str) -> Importer:
    """An operator of n inputs as n - 1 nodes, from left to right."""

    def combine(chain: Chain, left: str, right: str, position: int) -> str:
        shapes = (chain.ctx.tensor(left).shape, chain.ctx.tensor(right).shape)
        shape = broadcast(chain.source, chain.ctx, *shapes)
        return chain.add(f"{kind}{position}", "Binary", (left, right), shape, kind=kind)

    def importer(source: Source, ctx: ImportContext) -> Sequence[Node]:
        if len(source.inputs) == 1:
            return [make_node(source, "Identity")]
        chain, left = fold_pairs(source, ctx, combine)
        return chain.finish("Binary", (left, source.inputs[-1]), kind=kind)

    return importer


def _import_mean(source: Source, ctx: ImportContext) -> Sequence[Node]:
    if len(source.inputs) == 1:
        return [make_node(source, "Identity")]
    *partial, last = _variadic("add")(source, ctx)
    chain = Chain(source, ctx, list(partial))
    total = chain.add("sum", "Binary", last.inputs, ctx.tensor(last.output).shape, kind="add")
    share = chain.constant("share", 1.0 / len(source.inputs))
    return chain.finish("Binary", (total, share), kind="mul")


def _import_prelu(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """The slope must not be wider than the data; runtimes that allow it widen the output."""
    x, slope = (ctx.tensor(name).shape for name in source.inputs)
    if broadcast(source, ctx, x, slope) != x:
        got = f"slope {list(slope)}, data {list(x)}"
        raise ctx.reject(source, got, "the slope must broadcast to the data's shape")
    return [make_node(source, "Binary", kind="prelu")]


def _import_pow(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """The exponent may be of another type than the base: a constant one becomes float32."""
    base, exponent = source.inputs
    value = ctx.constant(exponent)
    if value is not None and value.dtype != np.float32:
        exponent = ctx.add_constant(f"{exponent}/float", value.astype(np.float32))
    return [make_node(source, "Binary", (base, exponent), kind="pow")]


OPERATOR = Operator(
    name="Binary",
    onnx={
        "Add": _pairwise("add"),
        "Sub": _pairwise("sub"),
        "Mul": _pairwise("mul"),
        "Div": _pairwise("div"),
        "PRelu": _import_prelu,
        "Pow": _import_pow,
        "Sum": _variadic("add"),
        "Min": _variadic("min"),
        "Max": _variadic("max"),
        "Mean": _import_mean,
    },
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
