"""Convolution of any spatial rank, grouped and depthwise included."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import Shape
from edgeconv.kernels import algorithms
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.formula import Formula, Term
from edgeconv.kernels.ops.importing import Window, ints, optional_input, window_of
from edgeconv.kernels.ops.run_time_filters import convolved, with_bias


def _window(source: Source, ctx: ImportContext) -> Window:
    """The window of a node whose operands fit together.  Rejects others."""
    x, w = (ctx.tensor(name) for name in source.inputs[:2])
    if len(x.shape) < 3 or len(w.shape) != len(x.shape):
        got = f"input {list(x.shape)}, weights {list(w.shape)}"
        raise ctx.reject(source, got, "both need the same rank, 3 or more")
    kernel = ints(source.attrs.get("kernel_shape") or w.shape[2:])
    groups = int(source.attrs["group"])
    if kernel != w.shape[2:]:
        got = f"kernel_shape {list(kernel)}, weights {list(w.shape)}"
        raise ctx.reject(source, got, "kernel_shape must be the weights' spatial shape")
    if groups < 1 or w.shape[1] * groups != x.shape[1] or w.shape[0] % groups:
        got = f"input {list(x.shape)}, weights {list(w.shape)}, group {groups}"
        rule = "weights are [out_c, in_c / group, kernel...] and group divides out_c"
        raise ctx.reject(source, got, rule)
    bias = optional_input(source, 2)
    if bias and (have := ctx.tensor(bias).shape) != w.shape[:1]:
        raise ctx.reject(source, f"bias {list(have)}", f"bias is [{w.shape[0]}]")
    window = window_of(source, ctx, kernel)
    _require_fitting(window, x.shape[2:], source, ctx)
    return window


def _shape(source: Source, ctx: ImportContext) -> Shape:
    x, w = (ctx.tensor(name).shape for name in source.inputs[:2])
    return (*x[:1], *w[:1], *_window(source, ctx).counts(x[2:]))


def _import_conv(source: Source, ctx: ImportContext) -> Sequence[Node]:
    window, groups = _window(source, ctx), int(source.attrs["group"])
    formula, bias = Formula(source, ctx), optional_input(source, 2)
    return formula.finish(convolution(formula, source.inputs[:2], bias, window, groups))


def _require_fitting(window: Window, pixels: Shape, source: Source, ctx: ImportContext) -> None:
    """Rejects kernels that do not fit: ONNX's inference of shapes and engines make different things
    of them."""
    axes = zip(pixels, window.spans, window.begins, window.ends, strict=True)
    for axis, (size, span, begin, end) in enumerate(axes):
        if 0 < size < span - begin - end:
            got = f"{span} pixels of kernel over {size} + {begin} + {end} of axis {axis + 2}"
            raise ctx.reject(source, got, "a kernel fits into its padded input")


def convolution(
    formula: Formula,
    operands: Sequence[str],
    bias: str,
    window: Window,
    groups: int,
    stored: Mapping[str, Any] | None = None,
) -> Term:
    """The convolution of two operands, input and filters, and a bias, "" for none: by a Conv node
    where filters and bias are constants.

    ``stored``: the attributes that say which integers constant filters are, of filters that were
    made of others; None: those of a DequantizeLinear.
    """
    source, ctx = formula.source, formula.ctx
    x, filters = (Term(formula, name) for name in operands)
    shape = (x.shape[0], filters.shape[0], *window.counts(x.shape[2:]))
    added = bias if ctx.constant(bias) is not None else ""
    if ctx.constant(filters.name) is None:
        y = convolved(x, filters, window, groups, shape)
        return with_bias(y, Term(formula, bias)) if bias else y
    if stored is None:
        stored = ctx.stored_as(filters.name, 0, source.name)
    attrs = {**window.attrs(), "groups": groups, **stored}
    y = formula.add("Conv", (x, filters, added), shape, **attrs)
    return y if added == bias else with_bias(y, Term(formula, bias))


def macs(node: Node, graph: Graph) -> int:
    """Every output is a sum over a filter."""
    weights = graph[node.inputs[1]].shape
    return graph[node.output].size * math.prod(weights[1:])


OPERATOR = Operator(
    name="Conv",
    onnx={"Conv": _import_conv},
    shapes={"Conv": _shape},
    lower=algorithms.lower,
    layouts=algorithms.layouts,
    macs=macs,
    fuses=True,
    stored=Stored.BOTH,
)
