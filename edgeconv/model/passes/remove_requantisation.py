"""Remove a rounding to a grid of numbers that lie on that grid already.

Converters repeat a QuantizeLinear and DequantizeLinear behind what only moves numbers, with the
scale and the zero point that they had in front of it.
"""

from __future__ import annotations

from edgeconv.ir.activation import Activation
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node
from edgeconv.model.passes.base import Pass, at_each


def rounding(node: Node) -> Activation | None:
    """The grid of a Unary that does nothing but round to one."""
    function = node.epilogue.before
    only = node.op == "Unary" and node.epilogue.is_only_before
    return function if only and function.kind == "grid" else None


def changes_nothing(function: Activation, grid: Activation) -> bool:
    """Numbers on ``grid`` stay what they are when ``function`` rounds them to its own.

    Of a whole multiple, rounded to float32, the same one comes out: rint(k * step / step) is k
    for all k of 16 bits."""
    return (
        function.alpha == grid.alpha and function.beta <= grid.beta <= grid.gamma <= function.gamma
    )


@at_each("Unary")
def run(position: int, editor: Editor) -> None:
    """Let the readers of such a Unary read what it reads."""
    node = editor.node(position)
    function, grid = rounding(node), editor.grids.get(node.inputs[0])
    if function and grid and changes_nothing(function, grid):
        editor.bypass(position)


PASS = Pass(
    run=run,
    requires="a Unary that only rounds to a grid, of numbers on a grid of the same step whose "
    "bounds lie within its own",
    ensures="such a Unary exists only where it reads an output of the graph and writes another",
    after=("quantised_pairs",),
)
