"""Operators of a row, computed of all rows at once: along a first dimension of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node, Tensor
from edgeconv.ir.layout import Shape

# The node it stands for, operator, inputs, shape, attributes -> the name of the result.
Add = Callable[[Node, str, Sequence[str], Shape, Mapping[str, Any]], str]


@dataclass(frozen=True)
class Rows:
    """``count`` rows of what is among ``names``, of the ``tensors`` of a body."""

    count: int
    tensors: Mapping[str, Tensor]
    names: frozenset[str]

    def shape(self, name: str) -> Shape:
        """The shape of one row."""
        return self.tensors[name].shape


@dataclass(frozen=True)
class Rule:
    """``takes``: whether a node can be computed of all rows; ``write``: nodes that do, given what
    the inputs of the node are outside, and the name of their result."""

    takes: Callable[[Node, Rows], bool]
    write: Callable[[Node, Rows, Mapping[str, str], Add], str]


def shared_constant(editor: Editor, tensor: Tensor) -> str:
    """The name of a constant of another graph: its own, where that is it already."""
    found = editor.tensors.get(tensor.name)
    if found is not None and found.data is tensor.data:
        return tensor.name
    name = editor.fresh(tensor.name)
    editor.tensors[name] = Tensor(
        name, tensor.shape, tensor.dtype, storage=tensor.storage, data=tensor.data
    )
    editor.changed = True
    return name


def _always(node: Node, rows: Rows) -> bool:
    return True


def _matrices(node: Node, rows: Rows) -> bool:
    return all(len(rows.shape(name)) >= 2 for name in node.inputs)


def _first_input(node: Node, rows: Rows) -> bool:
    """Nothing but the first input differs from row to row."""
    return not rows.names.intersection(node.inputs[1:])


def _all_inputs(node: Node, rows: Rows) -> bool:
    return all(name in rows.names for name in node.inputs)


def _broadcast(node: Node, rows: Rows, outside: Mapping[str, str], add: Add) -> str:
    """Operands of the rank of the result, in front of which the rows are."""
    rank = len(rows.shape(node.output))
    names = []
    for name in node.inputs:
        made, shape = outside.get(name, ""), rows.shape(name)
        if name in rows.names and len(shape) < rank:
            padded = (rows.count, *(1,) * (rank - len(shape)), *shape)
            made = add(node, "Reshape", (made,), padded, {})
        names.append(made)
    return add(node, node.op, names, (rows.count, *rows.shape(node.output)), node.attrs)


def _same(node: Node, rows: Rows, outside: Mapping[str, str], add: Add) -> str:
    names = [outside.get(name, "") for name in node.inputs]
    return add(node, node.op, names, (rows.count, *rows.shape(node.output)), node.attrs)


def _batched(node: Node, rows: Rows, outside: Mapping[str, str], add: Add) -> str:
    """The rows and the batch as one dimension."""
    x, *others = node.inputs
    before, after = rows.shape(x), rows.shape(node.output)
    joined = (rows.count * before[0], *before[1:])
    flat = add(node, "Reshape", (outside[x],), joined, {})
    inputs = (flat, *(outside.get(name, "") for name in others))
    made = add(node, node.op, inputs, (rows.count * after[0], *after[1:]), node.attrs)
    return add(node, "Reshape", (made,), (rows.count, *after), {})


def _with(change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Callable[..., str]:
    """`_same` with attributes that know of one more dimension in front."""

    def write(node: Node, rows: Rows, outside: Mapping[str, str], add: Add) -> str:
        names = [outside[name] for name in node.inputs]
        shape = (rows.count, *rows.shape(node.output))
        return add(node, node.op, names, shape, {**node.attrs, **change(node.attrs)})

    return write


def _keeps_batch(node: Node, rows: Rows) -> bool:
    sizes = {rows.shape(name)[:1] for name in (node.inputs[0], node.output)}
    return _first_input(node, rows) and len(sizes) == 1 and math.prod(*sizes) > 0


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("Binary", "Elementwise", "Unary", "Identity"), Rule(_always, _broadcast)),
    "MatMul": Rule(_matrices, _broadcast),
    "Dense": Rule(_first_input, _same),
    **dict.fromkeys(("Conv", "Pool"), Rule(_keeps_batch, _batched)),
    "Reshape": Rule(_first_input, _same),
    "Transpose": Rule(
        _first_input, _with(lambda attrs: {"perm": (0, *(axis + 1 for axis in attrs["perm"]))})
    ),
    "Slice": Rule(
        _first_input,
        _with(lambda attrs: {"starts": (0, *attrs["starts"]), "steps": (1, *attrs["steps"])}),
    ),
    "Concat": Rule(_all_inputs, _with(lambda attrs: {"axis": attrs["axis"] + 1})),
}
