"""Ranges that a model finds at run time, to quantise by: one pass over a tensor for ten nodes.

The frontend spells DynamicQuantizeLinear out in real arithmetic: the smallest and the largest
element, each in a Reduce of its own, and what scale and zero point are made of these.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor, origins
from edgeconv.ir.ranges import RANGE, SCALE, ZERO

_LOW = Epilogue(before=Activation("clip", -np.inf, 0.0))
_HIGH = Epilogue(before=Activation("relu"))
_UP_TO_ONE = Epilogue(before=Activation("clip", -np.inf, 1.0))
_ZERO = Epilogue(before=Activation("neg"), after=grid(1.0, 0.0, 255.0))
_LARGEST, _TINY = 255.0, float(np.finfo(np.float32).tiny)
# What makes no negative number: of any, and of such as are none.
_POSITIVE = frozenset({"relu", "abs", "sigmoid", "exp", "hard_sigmoid", "softplus", "sqrt"})
_MOVES = frozenset({"Pool", "Reshape", "Transpose", "Slice", "Concat"})


def ranged(graph: Graph) -> Graph:
    """``graph`` with such ranges as nodes of their own."""
    editor = Editor(graph)
    for position in list(editor):
        if editor.nodes[position] is not None:
            _replace(position, editor)
    return editor.finish() if editor.changed else graph


def _replace(position: int, editor: Editor) -> None:
    """A range where the node at ``position`` makes the scale of one."""
    scale = editor.node(position)
    found = _reduced(scale, editor)
    if found is None:
        return
    low, high = found
    x = low.inputs[0]
    bounds = editor.fresh(f"{x}/range")
    editor.tensors[bounds] = Tensor(bounds, (2,))
    attrs = {"positive": _never_negative(x, editor)}
    near = editor.writer(low.output)
    assert near is not None
    one = Node(f"{low.name}/range", RANGE, (x,), (bounds,), attrs, origin=origins(low, high))
    editor.insert(near, one)
    for reader in editor.readers(low.output):
        zero = editor.node(reader)
        if _is(zero, "div", _ZERO) and zero.inputs == (low.output, scale.output):
            made = (bounds, scale.output)
            editor.replace(reader, Node(zero.name, ZERO, made, zero.outputs, origin=zero.origin))
    editor.replace(position, Node(scale.name, SCALE, (bounds,), scale.outputs, origin=scale.origin))
    _remove_unread(scale.inputs, editor)


def _reduced(scale: Node, editor: Editor) -> tuple[Node, Node] | None:
    """The reductions to the smallest and the largest number of a tensor, 0 among them, that the
    node ``scale`` makes the scale of; None where it is another."""
    if not _is(scale, "max", Epilogue()):
        return None
    spaced, none = (editor.producer(name) for name in scale.inputs)
    if not (spaced and none and _is(spaced, "div", Epilogue()) and _is(none, "sub", Epilogue())):
        return None
    some = editor.producer(none.inputs[1])
    extent = editor.producer(spaced.inputs[0])
    if not (some and extent and _is(some, "div", _UP_TO_ONE) and _is(extent, "sub", Epilogue())):
        return None
    numbers = (editor.scalar(each.inputs[index]) for each, index in ((spaced, 1), (some, 1)))
    if (*numbers, editor.scalar(none.inputs[0])) != (_LARGEST, _TINY, 1.0):
        return None
    if some.inputs[0] != extent.output:
        return None
    high, low = (editor.producer(name) for name in extent.inputs)
    if not (high and low and _reduces(low, "min", _LOW, editor)):
        return None
    same = high.inputs[:1] == low.inputs[:1]
    return (low, high) if same and _reduces(high, "max", _HIGH, editor) else None


def _is(node: Node, kind: str, rounding: Epilogue) -> bool:
    return node.op == "Binary" and node.attrs["kind"] == kind and node.epilogue == rounding


def _reduces(node: Node, kind: str, rounding: Epilogue, editor: Editor) -> bool:
    """Whether ``node`` reduces all of its input."""
    if node.op != "Reduce" or node.attrs["kind"] != kind or node.epilogue != rounding:
        return False
    return len(node.attrs["axes"]) == len(editor.shape(node.inputs[0]))


def _never_negative(name: str, editor: Editor) -> bool:
    """Whether no element of a tensor is below 0, as far as what makes it says."""
    while (node := editor.producer(name)) is not None:
        last = node.epilogue.after if node.epilogue.after.kind != "none" else node.epilogue.before
        if node.epilogue.residual and node.epilogue.after.kind == "none":
            return False
        if last.kind == "clip":
            return last.alpha >= 0
        if last.kind != "none" or node.op == "Softmax":
            return last.kind in _POSITIVE or (last.kind == "none" and not node.attrs["log"])
        if node.op not in _MOVES or len(node.reads()) != 1:
            return False
        name = node.inputs[0]
    return False


def _remove_unread(names: Sequence[str], editor: Editor) -> None:
    """Nodes that nothing reads any more, from the writers of ``names`` on."""
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        position = editor.writer(name)
        if position is None or editor.readers(name) or name in editor.outputs:
            continue
        node = editor.node(position)
        editor.replace(position, None)
        waiting += node.reads()
