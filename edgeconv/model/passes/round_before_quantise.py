"""Round the result of a layer to a grid before it becomes integers.

The integers stay the same.  But the layer's result then lies on a grid (``edgeconv.ir.grids``): it
is int8 in memory, integers may be summed to make it, and the Quantise has nothing left to do.
"""

from __future__ import annotations

from edgeconv.ir.activation import Activation
from edgeconv.ir.edit import Editor
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.grids import moves, rounded_to
from edgeconv.ir.preprocessing import PREPROCESS
from edgeconv.ir.quantisation import integers_of, rounding_to
from edgeconv.ir.requantisation import EXACT
from edgeconv.model.passes.base import Pass, Stage, at_each
from edgeconv.model.passes.remove_requantisation import changes_nothing

_MOST_BITS = 16  # of integers that memory holds
_PASSED = frozenset({"Reshape", "Transpose"})
# Operators with kernels of integers that round.
_ROUND = frozenset({*WEIGHTED, "Binary", "Pool", PREPROCESS, "Reduce", "Resize", "Softmax"})


def _computed(position: int, editor: Editor) -> int | None:
    """Position of what writes, for the node at ``position`` alone, what that reads; in front of
    movement, which a rounding passes (`requantised_movement`)."""
    writer = editor.private_writer(editor.node(position).inputs[0], position)
    while writer is not None and editor.node(writer).op in _PASSED:
        if not editor.node(writer).epilogue.is_empty:
            return None
        writer = editor.private_writer(editor.node(writer).inputs[0], writer)
    return writer


@at_each("Quantise")
def _after_kernels(position: int, editor: Editor) -> None:
    """The Quantise at ``position`` may read one of _ROUND that nobody else does, moved or not."""
    encoding, writer = integers_of(editor.node(position)), _computed(position, editor)
    if writer is None or not encoding.is_per_tensor or encoding.bits > _MOST_BITS:
        return
    layer, rounding = editor.node(writer), rounding_to(encoding)
    if (
        layer.op not in _ROUND
        or moves(layer)
        or rounding in (layer.epilogue.before, layer.epilogue.after)
    ):
        return
    last = layer.epilogue.before if layer.epilogue.is_only_before else layer.epilogue.after
    if last.kind == "grid" and changes_nothing(rounding, last):
        return
    _insert(position, rounding, editor)


def _everywhere(graph: Graph) -> Graph:
    """The grids of what the model computed, whoever writes it: a table rounds it, or what it moves
    in front of."""
    editor, grids = Editor(graph), rounded_to(graph)
    for position in editor:
        node = editor.node(position)
        if node.op != "Quantise" or node.inputs[0] in graph.inputs:
            continue
        encoding, known = integers_of(node), grids.get(node.inputs[0])
        if not encoding.is_per_tensor or encoding.bits > _MOST_BITS:
            continue
        rounding = rounding_to(encoding)
        if known is None or not changes_nothing(rounding, known):
            _insert(position, rounding, editor)
    return editor.finish()


def _insert(position: int, rounding: Activation, editor: Editor) -> None:
    """A Unary that rounds what the Quantise at ``position`` reads."""
    node = editor.node(position)
    name = node.inputs[0]
    rounded = editor.add_tensor(f"{name}.rounded", editor.shape(name), editor.tensors[name])
    unary = Node(
        editor.fresh_node(node.name),
        "Unary",
        (name,),
        (rounded,),
        epilogue=Epilogue(before=rounding),
        origin=node.origin,
    )
    editor.insert(position, unary)
    editor.update(position, inputs=(rounded,))


def run(graph: Graph) -> Graph:
    """Where results are to be TensorFlow Lite's, everything that a Quantise rounds is rounded in
    front of it, since only kernels of integers do it as they do."""
    return _after_kernels(graph) if graph.requantise == EXACT else _everywhere(graph)


PASS = Pass(
    run=run,
    requires="a Quantise of 16 bits at most, per tensor, that alone reads the result of a Conv, "
    "Dense, Binary, Pool, Preprocess, Reduce, Resize or Softmax, reshaped or transposed maybe, "
    "which was not rounded so, nor to a grid that it would change nothing of; where results are to "
    "be TensorFlow Lite's, of what anything computed",
    ensures="a Unary in between rounds it to the Quantise's grid",
    stage=Stage.FUSE,
    after=("fuse_activation",),
)
