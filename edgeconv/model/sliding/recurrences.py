"""Recurrent layers of which nothing but their steps is read, so that these can slide."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Graph, Node
from edgeconv.model.sliding.demand import refusal


def with_rows_alone(graph: Graph, sliding: Collection[str]) -> Graph:
    """``graph`` with recurrent layers behind the inputs ``sliding`` whose last state is read as
    their last step.

    Raises EdgeconvError where the last cell state of an LSTM is read, which is none.
    """
    editor, behind = Editor(graph), set(sliding)
    readers = graph.consumers()
    for position in list(editor):
        node = editor.node(position)
        if not behind.intersection(node.reads()):
            continue
        behind.update(node.outputs)
        if node.op == "Recurrent" and node.attrs["directions"] == ("forward",):
            _alone(position, editor, readers[node.output])
    return editor.finish()


def _alone(position: int, editor: Editor, readers: list[Node]) -> None:
    node = editor.node(position)
    length, shape = editor.shape(node.inputs[0])[0], editor.shape(node.output)
    if shape[0] == 1:  # the last state of a GRU, read as it is
        _as_last_row(position, editor, length)
        return
    first = length if node.attrs["every"] else 0  # where the last state is, behind all steps
    at = {editor.node(place).name: place for place in editor}
    for reader in readers:
        start = reader.attrs["starts"][0] if reader.op == "Slice" else shape[0]
        end = start + editor.shape(reader.output)[0]
        if end <= first:
            continue
        if start != first or end != first + 1:
            raise refusal(node, "its last cell state is read, which is none of its steps")
        starts = (length - 1, *reader.attrs["starts"][1:])
        attrs = {**reader.attrs, "starts": starts}
        editor.replace(at[reader.name], replace(reader, attrs=attrs))
    if not node.attrs["every"]:
        whole = replace(editor.tensors[node.output], shape=(shape[0] + length, *shape[1:]))
        editor.tensors[node.output] = whole
        editor.replace(position, replace(node, attrs={**node.attrs, "every": True}))


def _as_last_row(position: int, editor: Editor, length: int) -> None:
    """The result of a node that is its last state alone: a view of all steps and that."""
    node, last = editor.node(position), editor.node(position).output
    shape = editor.shape(last)
    whole = editor.add_tensor(f"{last}.every", (length + 1, *shape[1:]), editor.tensors[last])
    attrs = {**node.attrs, "every": True}
    editor.replace(position, replace(node, outputs=(whole,), attrs=attrs))
    cut = {"starts": (length - 1, 0, 0, 0), "steps": (1, 1, 1, 1)}
    view = Node(editor.fresh_node(f"{last}/Slice"), "Slice", (whole,), (last,), cut)
    editor.insert(position, replace(view, origin=node.origin))
