"""Sums of two int8 tensors that are rounded, by channel, as they are made.

A sum in front of a depthwise layer is rounded to a scale of each channel: in float32 it is a
tensor, maybe that of a layer with a residual, and a division of it.  Where operands and results are
int8 each rounding of the sum is one kernel call in integers, and the layer writes int8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from edgeconv.ir.activation import Activation
from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Epilogue, Graph, Node, origins
from edgeconv.ir.grids import encodings_of, integers_for
from edgeconv.kernels.ops import int8_binary, int8_channels
from edgeconv.kernels.ops.int8_channels import ALGORITHM, OVER, Over

_FUNCTIONS = frozenset({"none", "relu"})


def with_channel_sums(graph: Graph, encodings: Mapping[str, Encoding]) -> Graph:
    """``graph``, with what rounds a sum by channel in its place; of a choice that is made again
    `sums_as_decided` has it.

    ``encodings``: the integers that tensors may be stored as, beside those that are.
    """
    if any(node.request.described for node in graph.nodes):
        return graph
    return _with(graph, encodings, lambda _: True)


def sums_as_decided(graph: Graph, layers: Mapping[str, str]) -> Graph:
    """``graph`` with the sums of a choice, which has these algorithms by layer."""
    among = {name for name, algorithm in layers.items() if algorithm == ALGORITHM}
    return _with(graph, encodings_of(graph), among.__contains__) if among else graph


def _with(graph: Graph, encodings: Mapping[str, Encoding], among: Callable[[str], bool]) -> Graph:
    editor = Editor(graph)
    for position in editor:
        node = editor.nodes[position]
        if node is None or OVER in node.attrs or not _divides(node, editor):
            continue
        total = _sum_of(node.inputs[0], editor) if among(node.name) else None
        if total is not None:
            _rounded(total, editor, encodings)
    return editor.finish() if editor.changed else graph


@dataclass(frozen=True, slots=True)
class _Sum:
    """What the node at ``position`` adds: ``kind`` of two tensors, then ``function``.  ``split``:
    the first is a tensor that the node writes instead, with those ``integers``."""

    position: int
    kind: str
    operands: tuple[str, str]
    function: Activation
    split: Encoding | None = None


def _sum_of(name: str, editor: Editor) -> _Sum | None:
    """The sum of the node which writes ``name``."""
    position = editor.writer(name)
    if position is None or name in editor.outputs:
        return None
    node = editor.node(position)
    if node.op == "Binary":
        known = node.attrs["kind"] in ("add", "sub") and OVER not in node.attrs
        function = node.epilogue.before
        if not known or not node.epilogue.is_only_before or function.kind not in _FUNCTIONS:
            return None
        if any(editor.constant(each) is not None for each in node.inputs):
            return None
        a, b = node.inputs
        return _Sum(position, str(node.attrs["kind"]), (a, b), function)
    epilogue = node.epilogue
    if node.op not in WEIGHTED or not epilogue.residual or epilogue.before.kind != "grid":
        return None
    integers = integers_for(epilogue.before)
    if integers is None or epilogue.after.kind not in _FUNCTIONS:
        return None
    return _Sum(position, "add", (f"{name}.summand", epilogue.residual), epilogue.after, integers)


def _rounded(total: _Sum, editor: Editor, encodings: Mapping[str, Encoding]) -> None:
    """Roundings of the sum in calls of their own: all of them, where nothing else reads it, else
    those by channel of a sum that is a node of its own."""
    name = editor.node(total.position).output
    readers = editor.readers(name)
    made = {
        each: _summed(editor.node(each), total, editor)
        for each in readers
        if _rounds(editor.node(each), editor)
    }
    stored = _stored(total, name, editor, encodings)
    able = {each: node for each, node in made.items() if _has_form(node, total, stored)}
    alone = len(able) == len(readers)
    if (total.split and not alone) or not any(OVER in node.attrs for node in able.values()):
        return
    if total.split:
        _split(total, editor)
    for position, node in able.items():
        if alone or OVER in node.attrs:
            editor.replace(position, node)
    editor.sweep()


def _split(total: _Sum, editor: Editor) -> None:
    """The layer without the residual, which writes integers."""
    node, like = editor.node(total.position), editor.tensors[editor.node(total.position).output]
    assert total.split is not None
    first = total.operands[0]
    editor.tensors[first] = replace(like, name=first, storage=total.split)
    epilogue = Epilogue(before=node.epilogue.before)
    editor.replace(total.position, replace(node, outputs=(first,), epilogue=epilogue))


def _divides(node: Node, editor: Editor) -> bool:
    """It is over one number per channel, and rounded."""
    if node.op != "Binary" or node.attrs["kind"] != "div" or not node.epilogue.is_only_before:
        return False
    if node.epilogue.before.kind != "grid" or editor.constant(node.inputs[1]) is None:
        return False
    return _over(node, editor) is not None


def _over(node: Node, editor: Editor) -> Over | None:
    tensors = {name: editor.tensors[name] for name in (node.inputs[1], node.output)}
    return Over.of(node.inputs[1], node.output, replace(editor.graph, tensors=tensors))


def _rounds(node: Node, editor: Editor) -> bool:
    """By channel, or to one scale."""
    alone = node.op == "Unary" and node.epilogue.is_only_before
    return _divides(node, editor) or (alone and node.epilogue.before.kind == "grid")


def _summed(node: Node, total: _Sum, editor: Editor) -> Node:
    """A rounding of the sum, as that of its operands."""
    over = _over(node, editor) if node.op == "Binary" else None
    if over and total.function.kind == "relu":
        over = replace(over, positive=True)
    attrs = {"kind": total.kind, **({OVER: over} if over else {})}
    origin = origins(editor.node(total.position), node)
    return replace(
        node,
        op="Binary",
        inputs=total.operands,
        attrs=attrs,
        epilogue=Epilogue(before=node.epilogue.before),
        origin=node.origin if total.split else origin,
    )


def _stored(total: _Sum, name: str, editor: Editor, encodings: Mapping[str, Encoding]) -> Graph:
    """The graph with tensors as the integers that they may be, the first operand among them."""
    tensors = dict(editor.tensors)
    if total.split:
        first = total.operands[0]
        tensors[first] = replace(tensors[name], name=first, storage=total.split)
    for each, encoding in encodings.items():
        if each in tensors:
            tensors[each] = replace(tensors[each], storage=encoding)
    return replace(editor.graph, tensors=tensors)


def _has_form(node: Node, total: _Sum, graph: Graph) -> bool:
    if OVER in node.attrs:
        return int8_channels.form_of(node, graph) is not None
    bounded = total.function.kind == "none" or node.epilogue.before.beta >= 0.0
    return bounded and int8_binary.form_of(node, graph) is not None
