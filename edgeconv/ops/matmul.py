"""Matrix product of two tensors, stacked and broadcast as in numpy (imported in dense.py)."""

from __future__ import annotations

from edgeconv.ir.graph import Graph, Node
from edgeconv.lowering.options import Stored
from edgeconv.ops.base import Operator
from edgeconv.ops.kernels.matmul import layouts, lower


def _macs(node: Node, graph: Graph) -> int:
    return graph[node.output].size * graph[node.inputs[0]].shape[-1]


OPERATOR = Operator(
    name="MatMul",
    macs=_macs,
    lower=lower,
    layouts=layouts,
    fuses=True,
    stored=Stored.BOTH,
)
