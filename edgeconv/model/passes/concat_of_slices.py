"""Take slices of one tensor that a Concat puts together again as one slice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node, origins
from edgeconv.ir.layout import Shape
from edgeconv.model.passes.base import Pass, at_each


@at_each("Concat")
def run(position: int, editor: Editor) -> None:
    """Rows of one tensor that follow each other among the inputs of the Concat at ``position``."""
    node = editor.node(position)
    if len(node.inputs) < 2 or not node.epilogue.is_empty:
        return
    place, first = node.attrs["axis"], editor.shape(node.inputs[0])
    together = math.prod(first[:place]) == 1  # rows of the result lie together
    runs = _runs(node.inputs, editor)
    if len(runs) == 1:
        if together or all(editor.shape(name)[place] == 1 for name in node.inputs):
            _all(position, runs[0], together, editor)
    elif together and len(runs) < len(node.inputs):
        joined = [_joined(position, each, editor) for each in runs]
        editor.update(position, inputs=tuple(joined))


@dataclass(frozen=True)
class _Run:
    """Inputs of a Concat, and the Slices that they are views of where there are several."""

    names: tuple[str, ...]
    cuts: tuple[Node, ...]


def _runs(names: Sequence[str], editor: Editor) -> list[_Run]:
    """``names``, those that are rows of one tensor in its order together."""
    found: list[_Run] = []
    end, source = 0, ""
    for name in names:
        cut = _slice_behind(name, editor)
        begin = _begin(cut, editor) if cut else -1
        if cut and found and found[-1].cuts and cut.inputs[0] == source and begin == end:
            found[-1] = _Run((*found[-1].names, name), (*found[-1].cuts, cut))
        else:
            found.append(_Run((name,), (cut,) if cut else ()))
        if cut:
            source, end = cut.inputs[0], begin + editor.shape(cut.output)[_axis(cut, editor)]
    return found


def _axis(cut: Node, editor: Editor) -> int:
    """The first dimension of which there is more than one."""
    shape = editor.shape(cut.inputs[0])
    return next((i for i, size in enumerate(shape) if size != 1), -1)


def _begin(cut: Node, editor: Editor) -> int:
    return int(cut.attrs["starts"][_axis(cut, editor)])


def _rows(position: int, cuts: Sequence[Node], editor: Editor) -> str:
    """All rows of neighbouring slices."""
    whole, axis = editor.shape(cuts[0].inputs[0]), _axis(cuts[0], editor)
    size = sum(editor.shape(cut.output)[axis] for cut in cuts)
    attrs = {"starts": cuts[0].attrs["starts"], "steps": (1,) * len(whole)}
    shape = (*whole[:axis], size, *whole[axis + 1 :])
    return _add(editor, position, "Slice", cuts[0].inputs[0], shape, attrs, origins(*cuts))


def _joined(position: int, run: _Run, editor: Editor) -> str:
    """An input of the Concat in place of those of ``run``."""
    if len(run.names) == 1:
        return run.names[0]
    place, first = editor.node(position).attrs["axis"], editor.shape(run.names[0])
    size = sum(editor.shape(name)[place] for name in run.names)
    shape = (*first[:place], size, *first[place + 1 :])
    rows = _rows(position, run.cuts, editor)
    return _add(editor, position, "Reshape", rows, shape, {}, origins(*run.cuts))


def _all(position: int, run: _Run, together: bool, editor: Editor) -> None:
    """The Concat is one slice."""
    node = editor.node(position)
    rows, origin = _rows(position, run.cuts, editor), origins(*run.cuts, node)
    if together:
        editor.update(position, op="Reshape", inputs=(rows,), attrs={}, origin=origin)
        return
    shape, place = editor.shape(node.output), node.attrs["axis"]
    stacked = (len(run.names), *(size for i, size in enumerate(shape) if i != place))
    flat = _add(editor, position, "Reshape", rows, stacked, {}, origin)
    order = [*range(1, len(shape))]
    order.insert(place, 0)
    attrs = {"perm": tuple(order)}
    editor.update(position, op="Transpose", inputs=(flat,), attrs=attrs, origin=origin)


def _slice_behind(name: str, editor: Editor) -> Node | None:
    """The Slice of neighbouring rows of a tensor that ``name`` is, or a view of; its elements lie
    together in memory."""
    node = editor.producer(name)
    while node is not None and node.op == "Reshape" and node.epilogue.is_empty:
        node = editor.producer(node.inputs[0])
    if node is None or node.op != "Slice" or not node.epilogue.is_empty:
        return None
    before, after = editor.shape(node.inputs[0]), editor.shape(node.output)
    axis = _axis(node, editor)
    if axis < 0 or set(node.attrs["steps"]) != {1}:
        return None
    return node if before[axis + 1 :] == after[axis + 1 :] else None


def _add(
    editor: Editor,
    near: int,
    op: str,
    source: str,
    shape: Shape,
    attrs: Mapping[str, object],
    origin: tuple[str, ...],
) -> str:
    target = editor.node(near).output
    output = editor.add_tensor(f"{target}/{op.lower()}", shape, editor.tensors[source])
    name = editor.fresh_node(f"{editor.node(near).name}/{op.lower()}")
    editor.insert(near, Node(name, op, (source,), (output,), attrs, origin=origin))
    return output


PASS = Pass(
    run=run,
    requires="a Concat of slices of one tensor, or of views of them, in the order that they have",
    ensures="one Slice of each, transposed where rows were stacked further in",
    after=("remove_identity",),
)
