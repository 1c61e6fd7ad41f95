"""How far apart the values of a quantised tensor are: the unit in which results may differ."""

from __future__ import annotations

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.graph import Graph, Node

# Operators whose results are some of their operands' numbers.
_MOVES = frozenset(
    {
        *("Concat", "Convert", "Expand", "Gather", "Identity", "Pad", "Reshape", "Slice", "Tile"),
        "Transpose",
    }
)


def steps_of(graph: Graph) -> dict[str, float]:
    """Tensor -> the distance between neighbouring values, for those that QuantizeLinear ended in.

    Of integers it is 1; the largest where a tensor has several.
    """
    found: dict[str, float] = {}
    for node in graph.nodes:
        step = _step(node, graph, found)
        if step:
            found[node.output] = step
    return found


def _step(node: Node, graph: Graph, known: dict[str, float]) -> float:
    if node.op == "Quantise":
        return 1.0
    if node.op == "Dequantise":
        return float(max(node.attrs["scale"]))
    last = last_activation(node)
    if last:
        return last.alpha if last.kind == "grid" else 0.0
    if moves(node):
        data = [name for name in node.inputs if name and not graph[name].is_constant]
        steps = [known.get(name, 0.0) for name in data]
        return max(steps) if steps and min(steps) > 0.0 else 0.0
    return 0.0


def last_activation(node: Node) -> Activation | None:
    """What a result went through last: `NONE` after a residual, None without an epilogue."""
    epilogue = node.epilogue
    last = epilogue.before if epilogue.after == NONE and not epilogue.residual else epilogue.after
    return last if last != NONE or epilogue.residual else None


def moved(node: Node) -> tuple[str, ...]:
    """The inputs of a node that moves numbers whose elements come into the result: not indices, nor
    the shapes of others."""
    return tuple(filter(None, node.inputs)) if node.op == "Concat" else node.inputs[:1]


def moves(node: Node) -> bool:
    """The results are some of the operands' numbers, unless an epilogue changes them."""
    return node.op in _MOVES or (node.op == "Pool" and node.attrs["mode"] == "max")
