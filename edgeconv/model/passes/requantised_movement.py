"""Round numbers to a grid before they are moved, not behind.

Rounding is done element by element, so it may come first.  There it finds an epilogue to go into,
and what is moved lies on one grid from the start: inputs and results of a Concat are int8 then
(``edgeconv.ir.grids``), and the inputs lie in the result's memory.
"""

from __future__ import annotations

from edgeconv.ir.activation import Activation
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node
from edgeconv.ir.grids import moves
from edgeconv.model.passes.base import Pass, at_each
from edgeconv.model.passes.remove_requantisation import rounding

# Movement that leaves no element out: rounding costs as much in front of a Slice's larger input or
# of a max Pool's, or more.  A Resize that enlarges repeats elements.
_MOVES = frozenset({"Concat", "Reshape", "Transpose"})
# Computed with the rounding in the epilogue, where it costs next to nothing.
_PRODUCTS = frozenset({"Conv", "Dense"})


def _is_cheaper_in_front(node: Node, grid: Activation, editor: Editor) -> bool:
    if node.op == "Slice":  # which leaves out rows at the ends of a transposed convolution
        return _is_of_products(node, editor)
    if node.op == "Pad":  # whose number stays what it is
        return _adds_zero(node) and grid.beta <= 0 <= grid.gamma
    if node.op != "Resize":
        return node.op in _MOVES
    sizes = zip(editor.shape(node.inputs[0]), editor.shape(node.output), strict=True)
    return moves(node) and all(size <= out for size, out in sizes)


def _is_of_products(node: Node, editor: Editor) -> bool:
    """Whether ``node`` moves nothing but the results of a Conv or Dense that no other reads."""
    while node.op in (*_MOVES, "Slice") and node.epilogue.is_empty and len(node.inputs) == 1:
        writer = editor.producer(node.inputs[0])
        if writer is None or editor.sole_reader(node.inputs[0]) is None:
            return False
        node = writer
    return node.op in _PRODUCTS


def _adds_zero(pad: Node) -> bool:
    return bool(pad.attrs["mode"] == "constant" and pad.attrs["value"] == 0)


def _rounded(name: str, unary: Node, near: int, editor: Editor) -> str:
    """``name`` through what ``unary`` does, in front of the node at ``near``."""
    target = editor.add_tensor(f"{name}.rounded", editor.shape(name), editor.tensors[name])
    step = Node(
        editor.fresh_node(unary.name),
        "Unary",
        (name,),
        (target,),
        epilogue=unary.epilogue,
        origin=unary.origin,
    )
    editor.insert(near, step)
    return target


@at_each("Unary")
def run(position: int, editor: Editor) -> None:
    """Move a Unary that rounds in front of movement; it then is there to pass further movement."""
    unary = editor.node(position)
    writer = editor.private_writer(unary.inputs[0], position)
    grid = rounding(unary)
    if writer is None or grid is None:
        return
    node = editor.node(writer)
    if not _is_cheaper_in_front(node, grid, editor) or not node.epilogue.is_empty:
        return
    # A Concat with a constant in it is float32 (encodings_of), unlike the result of the Unary.
    if any(editor.constant(name) is not None for name in node.inputs):
        return
    editor.replace(position, None)
    data = {name: _rounded(name, unary, writer, editor) for name in dict.fromkeys(node.inputs)}
    inputs = tuple(data[name] for name in node.inputs)
    editor.update(writer, inputs=inputs, outputs=unary.outputs)


PASS = Pass(
    run=run,
    requires="a Unary that only rounds to a grid and alone reads the result of a Concat, Reshape, "
    "Transpose, Pad with zeros or enlarging Resize to the nearest of run-time tensors, or of a "
    "Slice of what a Conv or Dense computes for nothing else",
    ensures="each of them goes through such a Unary first; the one behind is gone",
    after=("remove_requantisation",),
)
