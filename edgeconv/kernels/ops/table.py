"""A function of one number that a quantised model spells out in several nodes, with roundings in
between: both sides have 256 values, and so the function is a table.

Attributes: ``function``, less the last rounding, which is the epilogue; ``of`` and ``to``, the int8
that argument and result are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.images import same_everywhere
from edgeconv.kernels.lowering.integers import all_int8, with_integers
from edgeconv.kernels.lowering.lookups import looked_up, looked_up_as_floats
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.kernels.lowering.tables import Bytes, rounded, table_of
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops.base import Operator
from edgeconv.target.targets import Target


def bytes_of(node: Node) -> Bytes:
    """The table of a node, whose epilogue is the last rounding."""
    function = rounded(node.attrs["function"], node.epilogue.before)
    found = table_of(function, node.attrs["of"], node.attrs["to"])
    assert found is not None, node.name  # what made the node has looked
    return found


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Any, as bytes where memory has them."""
    options = same_everywhere(node, graph, target)
    return with_integers(node, (), options) if all_int8(node, graph) else options


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """One flat loop over memory, channel padding included."""
    call, table = Call(node, graph, target), bytes_of(node)
    if node.request.integers:
        layer = looked_up(call, table)
    else:
        layer = looked_up_as_floats(call, table, node.attrs["of"], node.attrs["to"])
    return replace(layer, plan={"function": str(node.attrs["function"])})


OPERATOR = Operator(name="Table", onnx={}, lower=lower, layouts=layouts, stored=Stored.BOTH)
"""Nothing is imported as one: ``model.passes.tabulate`` makes it."""
