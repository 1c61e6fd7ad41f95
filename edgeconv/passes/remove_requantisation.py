"""Remove a rounding to a grid of numbers that lie on that grid already.

Converters repeat a QuantizeLinear and DequantizeLinear behind what only moves numbers, with the
scale and the zero point that they had in front of it.
"""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.activation import Activation
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.quantisation import Scaling
from edgeconv.ir.steps import last_activation, moved, moves
from edgeconv.passes.base import Pass


def rounding(node: Node) -> Activation | None:
    """The grid of a Unary that does nothing but round to one."""
    function = node.epilogue.before
    only = node.op == "Unary" and node.epilogue == Epilogue(before=function)
    return function if only and function.kind == "grid" else None


def _grids(graph: Graph) -> dict[str, Activation]:
    """Run-time tensor -> a grid between whose bounds all its values lie."""
    found: dict[str, Activation] = {}
    for node in graph.nodes:
        grid = _grid(node, found)
        if grid:
            found[node.output] = grid
    return found


def _grid(node: Node, known: dict[str, Activation]) -> Activation | None:
    if node.op == "Dequantise":
        scaling = Scaling.of(node)
        return scaling.grid() if scaling.is_per_tensor else None
    last = last_activation(node)
    if last:
        return last if last.kind == "grid" else None
    if not moves(node):
        return None
    data = moved(node)
    grids = [known[name] for name in data if name in known]
    if len(grids) < len(data) or len({grid.alpha for grid in grids}) > 1:
        return None
    low, high = min(grid.beta for grid in grids), max(grid.gamma for grid in grids)
    if node.op == "Pad":  # what it adds is on every grid when it is 0
        if node.attrs.get("value", 0.0) != 0.0:
            return None
        low, high = min(low, 0.0), max(high, 0.0)
    return replace(grids[0], beta=low, gamma=high)


def _changes_nothing(function: Activation, grid: Activation) -> bool:
    """Of a whole multiple, rounded to float32, the same one comes out: rint(k * step / step) is k
    for all k of 16 bits."""
    return (
        function.alpha == grid.alpha and function.beta <= grid.beta <= grid.gamma <= function.gamma
    )


def run(graph: Graph) -> Graph:
    """Let the readers of such a Unary read what it reads."""
    editor, grids = Editor(graph), _grids(graph)
    for position in editor:
        node = editor.node(position)
        function, grid = rounding(node), grids.get(node.inputs[0] if node.inputs else "")
        if function and grid and _changes_nothing(function, grid):
            editor.bypass(position)
    return editor.finish()


PASS = Pass(
    name="remove_requantisation",
    run=run,
    requires="a Unary that only rounds to a grid, of numbers on a grid of the same step whose "
    "bounds lie within its own",
    ensures="such a Unary exists only where it reads an output of the graph and writes another",
    after=("quantised_pairs",),
)
