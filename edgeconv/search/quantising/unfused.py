"""A graph whose every rounded number can be looked at: no layer does more than a kernel of integers
can do before it rounds."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.activation import NONE, Activation, bounds
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Epilogue, Graph, Node


def unfused(graph: Graph) -> Graph:
    """``graph`` with residuals added by nodes of their own, and with activations other than ReLU
    and Clip in nodes of their own behind all but Unary nodes.

    Results of layers keep their names; what is new is called after them.  ``model.passes.optimise``
    is the way back.
    """
    editor = Editor(graph)
    for position in editor:
        _split(position, editor)
    return editor.finish()


def _split(position: int, editor: Editor) -> None:
    """The steps of the node at ``position`` that it is not to do itself, behind it."""
    node = editor.node(position)
    epilogue = node.epilogue
    steps: list[Activation | str] = []
    own = epilogue.before
    if node.op != "Unary" and own != NONE and bounds(own) is None:
        steps.append(own)
        own = NONE
    if epilogue.residual:
        steps.append(epilogue.residual)
    if epilogue.after != NONE:
        steps.append(epilogue.after)
    if not steps:
        return
    shape, like = editor.shape(node.output), editor.tensors[node.output]
    last = editor.add_tensor(f"{node.output}/own", shape, like)
    editor.update(position, outputs=(last,), epilogue=Epilogue(before=own))
    for number, step in enumerate(steps):
        ends = number == len(steps) - 1
        target = node.output if ends else editor.add_tensor(f"{node.output}/part", shape, like)
        editor.insert(position, _alone(node, step, last, target, editor))
        last = target


def _alone(node: Node, what: Activation | str, x: str, y: str, editor: Editor) -> Node:
    """An activation, or the sum with a residual, as a node."""
    name = editor.fresh_node(f"{node.name}/{'sum' if isinstance(what, str) else what.kind}")
    made = Node(name, "Unary", (x,), (y,), origin=node.origin)
    if isinstance(what, str):
        return replace(made, op="Binary", inputs=(x, what), attrs={"kind": "add"})
    return replace(made, epilogue=Epilogue(before=what))
