"""Keep: the value of a state that the next run reads, moved to where this run has read it.

Nothing moves where the memory planner has the state computed there, which it does where all who
read the old value come before.
"""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.choice import Layer, tensor_bytes
from edgeconv.ir.graph import KEEP, Graph, Node
from edgeconv.kernels.lowering.moves import flat_copy
from edgeconv.kernels.lowering.options import Stored
from edgeconv.kernels.ops.base import Operator
from edgeconv.kernels.ops.reshape import layouts
from edgeconv.target.targets import Target


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """A copy that may move within one array (memmove); of a state in another format than what it is
    made of, one that encodes it."""
    out = graph[node.output]
    layer = flat_copy(node, graph, target, out.elements)
    if not layer.free_if_aliased:
        return layer
    return replace(
        layer, algorithm="keep", template="ops/keep.c.j2", params={"bytes": tensor_bytes(out)}
    )


OPERATOR = Operator(name=KEEP, lower=lower, layouts=layouts, stored=Stored.BOTH)
