"""Views: the elements in the same order under another static shape."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, Shape
from edgeconv.kernels.lowering.images import layouts_of
from edgeconv.kernels.lowering.moves import flat_copy
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.formula import Formula
from edgeconv.kernels.ops.importing import make_node
from edgeconv.target.targets import Target


def _import_view(source: Source, ctx: ImportContext) -> Sequence[Node]:
    """The frontend has already worked out the output's shape from the attributes and inputs."""
    have, want = (ctx.tensor(name) for name in (source.inputs[0], source.outputs[0]))
    if have.size != want.size:  # which shape inference lets pass
        got = f"{list(have.shape)} to {list(want.shape)}"
        raise ctx.reject(source, got, "both shapes have the same number of elements")
    return [make_node(source, "Reshape", source.inputs[:1])]


def _deep(source: Source, ctx: ImportContext) -> tuple[Shape, int]:
    """Shape of the input of DepthToSpace, and its blocksize."""
    shape, block = _blocked(source, ctx)
    if shape[1] % block**2:
        rule = f"they are a multiple of {block**2}, blocksize^2"
        raise ctx.reject(source, f"{shape[1]} channels", rule)
    return shape, block


def _wide(source: Source, ctx: ImportContext) -> tuple[Shape, int]:
    """Shape of the input of SpaceToDepth, and its blocksize."""
    shape, block = _blocked(source, ctx)
    if shape[2] % block or shape[3] % block:
        got = f"{shape[2]}x{shape[3]} pixels"
        raise ctx.reject(source, got, f"both are multiples of blocksize {block}")
    return shape, block


def _blocked(source: Source, ctx: ImportContext) -> tuple[Shape, int]:
    shape, block = ctx.tensor(source.inputs[0]).shape, int(source.attrs["blocksize"])
    if len(shape) != 4 or not 0 < block <= max(shape):
        got = f"blocksize {block} of {list(shape)}"
        raise ctx.reject(source, got, "blocks are parts of an image of 4 dimensions")
    return shape, block


def _shape_of_space(source: Source, ctx: ImportContext) -> Shape:
    (n, c, h, w), block = _deep(source, ctx)
    return n, c // block**2, h * block, w * block


def _shape_of_depth(source: Source, ctx: ImportContext) -> Shape:
    (n, c, h, w), block = _wide(source, ctx)
    return n, c * block**2, h // block, w // block


def _import_depth_to_space(source: Source, ctx: ImportContext) -> Sequence[Node]:
    (n, c, h, w), block = _deep(source, ctx)
    small = c // block**2
    if source.attrs.get("mode", "DCR") == "DCR":
        split, perm = (n, block, block, small, h, w), (0, 3, 4, 1, 5, 2)
    else:
        split, perm = (n, small, block, block, h, w), (0, 1, 4, 2, 5, 3)
    return _rearranged(source, ctx, split, perm)


def _import_space_to_depth(source: Source, ctx: ImportContext) -> Sequence[Node]:
    (n, c, h, w), block = _wide(source, ctx)
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
    shapes={"DepthToSpace": _shape_of_space, "SpaceToDepth": _shape_of_depth},
    stored=Stored.BOTH,
)
