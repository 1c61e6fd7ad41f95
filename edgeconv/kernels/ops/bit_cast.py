"""BitCast: the bytes of a tensor as elements of another type."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.choice import Layer
from edgeconv.ir.element_types import element_type
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.moves import flat_copy
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import ImportContext, Operator, Source
from edgeconv.kernels.ops.importing import make_node
from edgeconv.target.targets import Target


def _import_bit_cast(source: Source, ctx: ImportContext) -> Sequence[Node]:
    have, want = (ctx.tensor(name).dtype for name in (source.inputs[0], source.outputs[0]))
    if element_type(have).bytes != element_type(want).bytes:
        raise ctx.reject(source, f"{have} as {want}", "both have elements of the same size")
    return [make_node(source, "BitCast", to=want)]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A view: as many bytes of the input as of the output, whatever their elements."""
    return flat_copy(node, graph, target, graph[node.inputs[0]].elements)


OPERATOR = Operator(
    name="BitCast",
    onnx={"BitCast": _import_bit_cast},
    typed={"BitCast": _import_bit_cast},
    lower=lower,
    stored=Stored.NOTHING,
)
