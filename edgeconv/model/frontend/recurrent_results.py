"""A saved recurrent layer as the graph had it: its results one tensor, its constants' names.

`saved_recurrent` writes ONNX's RNN, GRU or LSTM and joins its outputs.  Read again, a Recurrent
node writes all of them, which are cut apart and joined: what is joined is the node's own result.
What a layer's constants are called goes into the hash of the weight image's layout.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import onnx

from edgeconv.base import limits
from edgeconv.ir.edit import Editor
from edgeconv.ir.filters import RECURRENT
from edgeconv.ir.graph import Graph, Node

KEY = "edgeconv.recurrent"  # in metadata_props


def note(model: onnx.ModelProto, graph: Graph) -> None:
    """Say in the metadata of ``model`` what the constants of Recurrent nodes of ``graph`` are
    called."""
    found = {
        node.output: [name if name and graph[name].is_constant else "" for name in node.inputs]
        for node in graph.nodes
        if node.op == RECURRENT
    }
    if found:
        model.metadata_props.add(key=KEY, value=json.dumps(found))


def joined(graph: Graph, model: onnx.ModelProto) -> Graph:
    """``graph``, read from ``model``, where a Recurrent node writes itself what a Concat (of one
    piece an Identity) makes of all its results, in their order, and reads constants of the names
    that `note` wrote; others stay as they are.

    Raises EdgeconvError for a name that is longer than names may be.
    """
    said = next((each.value for each in model.metadata_props if each.key == KEY), "")
    if not said:
        return graph
    try:
        called = {y: list(map(str, names)) for y, names in json.loads(said).items()}
    except (AttributeError, TypeError, ValueError, RecursionError):
        return graph
    for name in (name for names in called.values() for name in names):
        limits.held("name-length", len(name), f"constant {name[:40]!r}...")
    editor = Editor(graph)
    for position in editor:
        node = editor.node(position)
        source = _source(node, editor) if node.op in ("Concat", "Identity") else None
        if source is None or source in editor.outputs or node.output not in called:
            continue
        writer = editor.writer(source)
        assert writer is not None
        editor.replace(position, None)
        editor.rename_uses(source, node.output)
        inputs = _named(editor.node(writer).inputs, called[node.output], editor)
        editor.update(writer, inputs=inputs, outputs=(node.output,))
    return editor.finish()


def _named(inputs: Sequence[str], wanted: Sequence[str], editor: Editor) -> tuple[str, ...]:
    """``inputs``, the constants among them under the names ``wanted``, as far as these are free."""
    found = list(inputs)
    for i, (name, new) in enumerate(zip(inputs, wanted, strict=False)):
        if name and new and editor.constant(name) is not None and new not in editor.tensors:
            editor.tensors[new] = replace(editor.tensors[name], name=new)
            found[i] = new
    return tuple(found)


def _source(joint: Node, editor: Editor) -> str | None:
    """The result of a Recurrent node that ``joint`` is all of."""
    if joint.attrs.get("axis", 0) != 0:
        return None
    found, begin = "", 0
    for name in joint.inputs:
        read = editor.producer(name)
        while read is not None and read.op == "Reshape" and read.epilogue.is_empty:
            read = editor.producer(read.inputs[0])
        if read is None or read.op != "Slice" or not read.epilogue.is_empty:
            return None
        source, starts = read.inputs[0], tuple(read.attrs["starts"])
        shape, whole = editor.shape(read.output), editor.shape(source)
        if found not in ("", source) or set(read.attrs["steps"]) != {1}:
            return None
        if starts != (begin, *(0,) * (len(starts) - 1)) or shape[1:] != whole[1:]:
            return None
        found, begin = source, begin + shape[0]
    made = editor.producer(found)
    if made is None or made.op != RECURRENT or editor.shape(found) != editor.shape(joint.output):
        return None
    return found
