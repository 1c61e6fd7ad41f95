"""Permutation of the dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR
from edgeconv.kernels.lowering.moves import Move, move_layer, plan_move
from edgeconv.kernels.lowering.nest import logical_strides
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import axes_of, ints, make_node
from edgeconv.target.targets import Target


def _import_transpose(source: Source, ctx: ImportContext) -> Sequence[Node]:
    rank = len(ctx.tensor(source.inputs[0]).shape)
    perm = axes_of(source, ctx, ints(source.attrs.get("perm", range(rank)[::-1])), rank)
    if len(perm) != rank:
        raise ctx.reject(source, f"perm {list(perm)}", f"an entry for each of {rank} dimensions")
    return [make_node(source, "Transpose", perm=perm)]


def _move(node: Node, graph: Graph, option: LayoutOption) -> Move:
    """Loop d of the output reads dimension perm[d] of the input."""
    x, out = graph[node.inputs[0]], graph[node.output]
    in_strides = logical_strides(x.shape, option.reads[0])
    return plan_move(
        out.shape,
        [in_strides[d] for d in node.attrs["perm"]],
        logical_strides(out.shape, option.writes[0]),
    )


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Pairs of layouts that make it a view first, then the copy of row-major tensors.

    (N, C, H, W) to (N, H, W, C) reads channels-last: those bytes are the row-major result.
    """
    free, copies = [], []
    orders = (ROW_MAJOR, CHANNELS_LAST) if len(graph[node.output].shape) > 2 else (ROW_MAJOR,)
    for read in orders:
        for write in orders:
            option = LayoutOption((read,), (write,))
            if _move(node, graph, option).is_block:
                free.append(option)
            elif read == write == ROW_MAJOR:
                size = float(graph[node.output].size)
                copies.append(LayoutOption((read,), (write,), 2 * size))
    return [*free, *copies]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A move with the strides of both layouts."""
    option = LayoutOption((graph[node.inputs[0]].layout,), (graph[node.output].layout,))
    return move_layer(node, graph, target, _move(node, graph, option))


OPERATOR = Operator(
    name="Transpose",
    onnx={"Transpose": _import_transpose},
    lower=lower,
    layouts=layouts,
    stored=Stored.BOTH,
)
