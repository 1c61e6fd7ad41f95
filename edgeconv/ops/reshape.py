"""Views: the elements in the same order under another static shape."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Shape
from edgeconv.lowering.images import layouts_of
from edgeconv.lowering.moves import flat_copy
from edgeconv.lowering.options import LayoutOption
from edgeconv.ops.base import ImportContext, Operator, Source
from edgeconv.ops.formula import Formula
from edgeconv.ops.importing import make_node
from edgeconv.targets import Target


def _import_view(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """The frontend has already worked out the output's shape from the attributes and inputs."""
    have, want = (ctx.tensor(name) for name in (source.inputs[0], source.outputs[0]))
    if have.size != want.size:  # which shape inference lets pass
        got = f"{list(have.shape)} to {list(want.shape)}"
        raise ctx.reject(source, got, "both shapes have the same number of elements")
    return [make_node(source, "Reshape", source.inputs[:1])]


def _import_depth_to_space(source: Source, ctx: ImportContext) -> Sequence[Node]:
    n, c, h, w = ctx.tensor(source.inputs[0]).shape
    block = int(source.attrs["blocksize"])
    small = c // block**2
    if source.attrs.get("mode", "DCR") == "DCR":
        split, perm = (n, block, block, small, h, w), (0, 3, 4, 1, 5, 2)
    else:
        split, perm = (n, small, block, block, h, w), (0, 1, 4, 2, 5, 3)
    return _rearranged(source, ctx, split, perm)


def _import_space_to_depth(source: Source, ctx: ImportContext) -> Sequence[Node]:
    n, c, h, w = ctx.tensor(source.inputs[0]).shape
    block = int(source.attrs["blocksize"])
    split = (n, c, h // block, block, w // block, block)
    depth_first = source.attrs.get("mode", "DCR") == "DCR"
    perm = (0, 3, 5, 1, 2, 4) if depth_first else (0, 1, 3, 5, 2, 4)
    return _rearranged(source, ctx, split, perm)


def _rearranged(
    source: Source, ctx: ImportContext, split: Shape, perm: tuple[int, ...]
) -> Sequence[Node]:
    """The data seen as ``split``, transposed, and seen as what ONNX makes of it."""
    formula = Formula(source, ctx)
    (x,) = formula.inputs()
    return formula.finish(x.reshape(*split).transpose(*perm))


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Row-major; any where only the spatial dimensions are regrouped."""
    before, after = graph[node.inputs[0]].shape, graph[node.output].shape
    kept = len(before) > 2 and len(after) > 2 and before[:2] == after[:2]
    offered = layouts_of(after, target) if kept else (ROW_MAJOR,)
    return [LayoutOption((layout,), (layout,)) for layout in offered]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A view of the whole input."""
    return flat_copy(node, graph, target, graph[node.output].elements)


OPERATOR = Operator(
    name="Reshape",
    lower=lower,
    layouts=layouts,
    onnx={
        "Reshape": _import_view,
        "Flatten": _import_view,
        "Squeeze": _import_view,
        "Unsqueeze": _import_view,
        "DepthToSpace": _import_depth_to_space,
        "SpaceToDepth": _import_space_to_depth,
    },
)
