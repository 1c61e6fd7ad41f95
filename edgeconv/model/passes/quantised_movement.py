"""Move real numbers instead of the integers that stand for them.

Between a QuantizeLinear and a DequantizeLinear a model may reshape, slice or concatenate integers,
or take their maximum.  Such a node commutes with both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import Encoding, integers
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import moves
from edgeconv.ir.quantisation import INTEGERS, integers_of
from edgeconv.model.passes.base import Pass


def _data(node: Node) -> tuple[str, ...]:
    """The inputs that hold what is moved."""
    return node.inputs if node.op == "Concat" else node.inputs[:1]


def _encoding_of(nodes: Sequence[Node | None], op: str) -> Encoding | None:
    """What the nodes have in common when all are ``op``, of one scale for all elements."""
    if not nodes or any(node is None or node.op != op for node in nodes):
        return None
    found = {integers_of(node) for node in nodes if node is not None}
    encoding = found.pop()
    return encoding if not found and encoding.is_per_tensor else None


def _real(value: Any, encoding: Encoding) -> Any:
    """(value - zero point) * scale in float32."""
    shifted = np.asarray(value, np.float32) - np.float32(encoding.zero[0])
    return shifted * np.float32(encoding.scale[0])


def _attrs(node: Node, encoding: Encoding) -> dict[str, Any]:
    if node.op != "Pad":
        return dict(node.attrs)
    return {**node.attrs, "value": float(_real(node.attrs["value"], encoding))}


def _moved(
    position: int, data: Sequence[str], output: str, encoding: Encoding, editor: Editor
) -> None:
    """Let the node move ``data`` to ``output``."""
    node = editor.node(position)
    inputs = (*data, *node.inputs[len(data) :])
    editor.update(position, inputs=inputs, outputs=(output,), attrs=_attrs(node, encoding))


def _behind(position: int, encoding: Encoding, editor: Editor) -> None:
    """Quantise, then move: move, then Quantise."""
    node = editor.node(position)
    data = []
    for name in _data(node):
        writer, value = editor.producer(name), editor.constant(name)
        if value is not None:
            data.append(editor.add_constant(f"{name}.real", _real(value, encoding)))
        elif writer is not None:
            data.append(writer.inputs[0])
    target = node.output
    real = editor.add_real(f"{target}.real", target)
    _moved(position, data, real, encoding, editor)
    _quantise(position, real, target, encoding, editor)


def _quantise(position: int, real: str, target: str, encoding: Encoding, editor: Editor) -> None:
    """Insert what makes the integers ``target`` of ``real`` behind the node."""
    node = editor.node(position)
    name = editor.fresh_node(f"{node.name}.quantised")
    editor.insert(
        position,
        Node(name, "Quantise", (real,), (target,), {"encoding": encoding}, origin=node.origin),
    )


def _dequantised(position: int, name: str, encoding: Encoding, editor: Editor) -> str:
    """The real numbers of the integers ``name``, made in front of the node."""
    node, value = editor.node(position), editor.constant(name)
    if value is not None:
        return editor.add_constant(f"{name}.real", _real(value, encoding))
    real = editor.add_real(f"{name}.real", name)
    step = editor.fresh_node(f"{node.name}.dequantised")
    editor.insert(
        position,
        Node(step, "Dequantise", (name,), (real,), {"encoding": encoding}, origin=node.origin),
    )
    return real


def _in_front(position: int, encoding: Encoding, readers: Sequence[int], editor: Editor) -> None:
    """Move, then Dequantise: Dequantise, then move."""
    node = editor.node(position)
    data = [_dequantised(position, name, encoding, editor) for name in _data(node)]
    first, *others = readers
    target = editor.node(first).output
    for other in others:
        editor.rename_uses(editor.node(other).output, target)
        editor.replace(other, None)
    editor.replace(first, None)
    _moved(position, data, target, encoding, editor)


def moves_integers(node: Node, editor: Editor) -> bool:
    """Whether the node moves integers, no number changing."""
    return moves(node) and editor.tensors[node.output].dtype in INTEGERS


def widen(position: int, editor: Editor) -> None:
    """Let the node move its integers as real numbers of the same value."""
    node = editor.node(position)
    encoding = integers(editor.tensors[node.output].dtype)
    data = [_dequantised(position, name, encoding, editor) for name in _data(node)]
    real = editor.add_real(f"{node.output}.real", node.output)
    _quantise(position, real, node.output, encoding, editor)
    _moved(position, data, real, encoding, editor)


def _rewrite(position: int, editor: Editor) -> None:
    node = editor.node(position)
    readers = editor.readers(node.output)
    encoding = _encoding_of([editor.node(r) for r in readers], "Dequantise")
    outputs = [editor.node(reader).output in editor.outputs for reader in readers]
    if encoding is not None and node.output not in editor.outputs and not any(outputs[1:]):
        _in_front(position, encoding, readers, editor)
        return
    writers = [editor.producer(name) for name in _data(node) if editor.constant(name) is None]
    encoding = _encoding_of(writers, "Quantise")
    if encoding is not None:
        _behind(position, encoding, editor)


def run(graph: Graph) -> Graph:
    """Rewrite what moves integers, where they are quantised or dequantised right next to it."""
    editor = Editor(graph)
    for position in reversed(list(editor)):  # a chain of them up to the Quantise, not behind it
        if moves_integers(editor.node(position), editor):
            _rewrite(position, editor)
    return editor.finish()


PASS = Pass(
    run=run,
    requires="data movement, or a max Pool, of integers whose writers are Quantise of one scale, "
    "or whose readers are Dequantise of one scale",
    ensures="it moves the real numbers; the Quantise is behind it or the Dequantise before it",
)
