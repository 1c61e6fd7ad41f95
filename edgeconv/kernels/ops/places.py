"""Places: of the elements of a vector that are true, and how many there are, in one vector: the
places in order, zeros where there are fewer than there is room for, and last the number."""

from __future__ import annotations

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.calls import kernel_layer
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import Operator
from edgeconv.target.targets import Target


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """One after the other."""
    call = Call(node, graph, target)
    return kernel_layer(
        call,
        "places",
        "ops/places.c.j2",
        operands={"in": node.inputs[0]},
        params={"count": graph[node.inputs[0]].size, "most": graph[node.output].size - 1},
        headers=("ec_places.h",),
        work=call.streams(call.in_vectors),
        epilogue=False,
    )


OPERATOR = Operator(name="Places", lower=lower, stored=Stored.NOTHING)
