"""Which tensors a quantised model has rounded to eight bits, and to which numbers."""

from __future__ import annotations

from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.quantisation import Scaling
from edgeconv.ir.steps import last_activation, moved, moves
from edgeconv.storage.grid import HIGH, LOW, Grid

_EIGHT_BITS = {"int8": 0, "uint8": 128}  # what stored integers are less than the model's


def grids_of(graph: Graph) -> dict[str, Grid]:
    """Run-time float32 tensor -> the grid on which all its values lie.

    Values are exactly the float32 ``(integer - zero) * scale`` of an integer from -128 to 127.
    """
    found: dict[str, Grid] = {}
    for node in graph.nodes:
        grid = _grid(node, graph, found)
        if grid and grid.is_stored and graph[node.output].dtype == "float32":
            found[node.output] = grid
    return found


def dequantised(node: Node, dtype: str) -> Grid | None:
    """The grid that integers of ``dtype`` stand for in a Quantise or Dequantise; None where they
    have more bits or several scales."""
    scaling = Scaling.of(node)
    if dtype not in _EIGHT_BITS or not scaling.is_per_tensor:
        return None
    return Grid(scaling.scale[0], scaling.zero[0] - _EIGHT_BITS[dtype])


def _grid(node: Node, graph: Graph, known: dict[str, Grid]) -> Grid | None:
    if node.op == "Dequantise":
        return dequantised(node, graph[node.inputs[0]].dtype)
    last = last_activation(node)
    if last:
        return _rounded_to(last)
    if not moves(node) or not _adds_zeros_only(node):
        return None
    read = {known.get(name) for name in node.inputs if name and not graph[name].is_constant}
    constants = any(graph[name].is_constant for name in moved(node))
    return read.pop() if len(read) == 1 and not constants else None


def _rounded_to(last: Activation) -> Grid | None:
    """Of whole multiples from beta to gamma, the lowest as the lowest integer."""
    span = last.gamma - last.beta
    if last.kind != "grid" or span > HIGH - LOW or last.beta != round(last.beta):
        return None
    return Grid(last.alpha, LOW - round(last.beta))


def _adds_zeros_only(node: Node) -> bool:
    return node.op != "Pad" or float(node.attrs.get("value", 0.0)) == 0.0
