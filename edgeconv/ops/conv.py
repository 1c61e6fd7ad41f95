"""Convolution of any spatial rank, grouped and depthwise included."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeconv import algorithms
from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.importing import constant_input, ints, make_node, optional_input, window_of


def _import_conv(source: Source, ctx: ImportContext) -> Sequence[Node]:
    x = ctx.tensor(source.inputs[0])
    w = constant_input(source, ctx, 1, "weights")
    bias = constant_input(source, ctx, 2, "bias")
    assert w is not None
    if len(x.shape) < 3 or w.ndim != len(x.shape):
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
    if bias is not None and bias.shape != w.shape[:1]:
        raise ctx.reject(source, f"bias {list(bias.shape)}", f"bias is [{w.shape[0]}]")
    window = window_of(source, ctx, kernel)
    inputs = (*source.inputs[:2], optional_input(source, 2))
    stored = ctx.stored_as(source.inputs[1], 0, source.name)
    return [make_node(source, "Conv", inputs, **window.attrs(), groups=groups, **stored)]


def _macs(node: Node, graph: Graph) -> int:
    weights = graph[node.inputs[1]].shape
    return graph[node.output].size * math.prod(weights[1:])


OPERATOR = Operator(
    name="Conv",
    onnx={"Conv": _import_conv},
    lower=algorithms.lower,
    layouts=algorithms.layouts,
    macs=_macs,
    fuses=True,
    stored=Stored.BOTH,
)
