"""Repetition along each axis."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.moves import move_layer, plan_move
from edgeconv.kernels.lowering.nest import dense_strides
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import check_stated, make_node
from edgeconv.target.targets import Target


def _import_tile(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """Repeats of run time are what the shape says that the model states."""
    check_stated(source, ctx)
    shapes = (ctx.tensor(name).shape for name in (source.inputs[0], source.outputs[0]))
    x, wide = shapes
    if any(out % size if size else out for size, out in zip(x, wide, strict=True)):
        rule = "repeats are whole numbers"
        raise ctx.reject(source, f"{list(x)} to {list(wide)}", rule)
    repeats = tuple(out // size if size else 1 for size, out in zip(x, wide, strict=True))
    if all(count == 1 for count in repeats):
        return [make_node(source, "Identity", source.inputs[:1])]
    return [make_node(source, "Tile", source.inputs[:1], repeats=repeats)]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A move with two loops per dimension: the repeats, which stay in place, and the input."""
    x = graph[node.inputs[0]]
    sizes: list[int] = []
    strides: list[int] = []
    for repeat, size, stride in zip(
        node.attrs["repeats"], x.shape, dense_strides(x.shape), strict=True
    ):
        sizes += [int(repeat), size]
        strides += [0, stride]
    return move_layer(node, graph, target, plan_move(sizes, strides, dense_strides(sizes)))


OPERATOR = Operator(name="Tile", onnx={"Tile": _import_tile}, lower=lower, stored=Stored.BOTH)
