"""Compute in the original order what lies between a Transpose and the ones that undo it.

A model converted from a channels-last framework wraps element-wise operations and concatenations
in pairs of Transposes.  Those operations work in any order of dimensions, so a connected *region*
of them whose every way in is a Transpose by one permutation, and whose every way out is a
Transpose too, needs none on its way in.  So is a way in that is a view, as the factors of channels
have one in squeeze and excitation.  A way out may also be a Reduce, as of the average over pixels
that ends a chain of residuals: it reduces other axes then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node
from edgeconv.ir.layout import Shape
from edgeconv.model.passes.base import Pass, at_each

Perm = tuple[int, ...]
Attrs = dict[str, Any]

_MAX_REGION = 256  # nodes; bounds the search where a region turns out to have another way out


def _before(perm: Perm, values: Sequence[int]) -> tuple[int, ...]:
    """Per-dimension ``values`` of a transposed tensor, in the order before the Transpose."""
    moved = [0] * len(perm)
    for axis, value in zip(perm, values, strict=True):
        moved[axis] = value
    return tuple(moved)


def _slice(attrs: Mapping[str, Any], perm: Perm) -> Attrs:
    return {key: _before(perm, attrs[key]) for key in ("starts", "steps")}


def _pad(attrs: Mapping[str, Any], perm: Perm) -> Attrs:
    pads, rank = attrs["pads"], len(perm)
    return {**attrs, "pads": _before(perm, pads[:rank]) + _before(perm, pads[rank:])}


# op -> its attributes when it runs before a Transpose by ``perm`` instead of behind it
_ATTRS: Mapping[str, Callable[[Mapping[str, Any], Perm], Attrs]] = {
    "Affine": lambda attrs, perm: dict(attrs),
    "Binary": lambda attrs, perm: dict(attrs),
    "Concat": lambda attrs, perm: {**attrs, "axis": perm[attrs["axis"]]},
    "Pad": _pad,
    "Slice": _slice,
    "Softmax": lambda attrs, perm: {**attrs, "axis": perm[attrs["axis"]]},
    "Unary": lambda attrs, perm: dict(attrs),
}


@dataclass(slots=True)
class _Region:
    """Nodes that can run before a Transpose by ``perm``, and the Transposes around."""

    perm: Perm
    nodes: set[int] = field(default_factory=set)
    entries: set[int] = field(default_factory=set)
    exits: set[int] = field(default_factory=set)
    reductions: set[int] = field(default_factory=set)  # exits that are no Transposes


def _movable(node: Node, perm: Perm, editor: Editor) -> bool:
    """Whether ``node`` works in any order of dimensions, all operands having the same rank."""
    if node.op not in _ATTRS or (node.op == "Affine" and perm[1] != 1):
        return False
    tensors = (name for name in node.reads() if editor.constant(name) is None)
    return all(len(editor.shape(name)) == len(perm) for name in (*tensors, node.output))


def _enters(node: Node, perm: Perm, editor: Editor) -> bool:
    """Whether it is a Transpose by ``perm``, or a view that is the same: sizes of 1 change places,
    and the others keep theirs."""
    if node.op == "Transpose":
        return tuple(node.attrs["perm"]) == perm
    if node.op != "Reshape" or not node.epilogue.is_empty:
        return False
    before, after = editor.shape(node.inputs[0]), editor.shape(node.output)
    if len(after) != len(perm) or before != _before(perm, after):
        return False
    larger = [axis for axis in perm if before[axis] > 1]
    return larger == sorted(larger)


def _axes(node: Node, perm: Perm) -> tuple[int, ...]:
    """Axes of a Reduce that reads what is in front of the Transpose."""
    return tuple(sorted(perm[axis] for axis in node.attrs["axes"]))


def _reduces(node: Node, perm: Perm) -> bool:
    """Whether ``node`` is a Reduce whose result has the same order in front of the Transpose."""
    if node.op != "Reduce" or node.attrs["keepdims"] or node.epilogue.residual:
        return False
    kept = [axis for axis in perm if axis not in _axes(node, perm)]
    return kept == sorted(kept)


def _grow(start: int, editor: Editor) -> _Region | None:
    """The region behind the Transpose ``start``; None when something keeps it from moving."""
    region = _Region(tuple(editor.node(start).attrs["perm"]))
    work = [start]
    while work:
        position = work.pop()
        if position in region.nodes or position in region.entries:
            continue
        node = editor.node(position)
        if _enters(node, region.perm, editor):
            region.entries.add(position)
        elif _movable(node, region.perm, editor) and len(region.nodes) < _MAX_REGION:
            region.nodes.add(position)
            for name in node.reads():
                writer = editor.writer(name)
                if writer is not None:
                    work.append(writer)
                elif editor.constant(name) is None or name == node.epilogue.residual:
                    return None  # an input of the graph
        else:
            return None
        if node.output in editor.outputs:
            return None
        readers = editor.readers(node.output)
        leaving = [r for r in readers if editor.node(r).op == "Transpose"]
        region.exits.update(leaving)
        reducing = [r for r in readers if _reduces(editor.node(r), region.perm)]
        region.reductions.update(reducing)
        work.extend(reader for reader in readers if reader not in {*leaving, *reducing})
    # two entries in a row are for compose_views
    return region if region.nodes and not region.exits & region.entries else None


def _constant(name: str, region: _Region, editor: Editor) -> str:
    """A constant operand in the order before the Transpose."""
    value = editor.tensors[name].constant()
    if value.size == 1:
        return name
    full = value.reshape((1,) * (len(region.perm) - value.ndim) + value.shape)
    inverse = tuple(int(axis) for axis in np.argsort(region.perm))
    return editor.add_constant(f"{name}.transposed", np.ascontiguousarray(full.transpose(inverse)))


def _undone(name: str, region: _Region, editor: Editor) -> int | None:
    """An exit that reads ``name`` and gives back the order before the Transpose."""
    identity = tuple(range(len(region.perm)))
    for position in editor.readers(name):
        if position in region.exits:
            perm = tuple(editor.node(position).attrs["perm"])
            if tuple(region.perm[axis] for axis in perm) == identity:
                return position
    return None


def _new_name(position: int, region: _Region, editor: Editor) -> str:
    """What the node at ``position`` writes now; an exit that undoes the order gives its name."""
    name = editor.node(position).output
    undone = _undone(name, region, editor)
    if undone is None:
        shape: Shape = _before(region.perm, editor.shape(name))
        return editor.add_tensor(f"{name}.untransposed", shape, like=editor.tensors[name])
    target = editor.node(undone).output
    region.exits.discard(undone)
    editor.replace(undone, None)
    return target


def _rewrite(region: _Region, editor: Editor) -> None:
    names = {editor.node(p).output: editor.node(p).inputs[0] for p in region.entries}
    for position in sorted(region.nodes):
        names[editor.node(position).output] = _new_name(position, region, editor)
    for position in sorted(region.nodes):
        node = editor.node(position)
        inputs = tuple(
            names[name]
            if name in names
            else (_constant(name, region, editor) if node.op != "Affine" else name)
            for name in node.inputs
        )
        residual = names.get(node.epilogue.residual, "")
        editor.update(
            position,
            inputs=inputs,
            outputs=(names[node.output],),
            attrs=_ATTRS[node.op](node.attrs, region.perm),
            epilogue=replace(node.epilogue, residual=residual),
        )
    for position in sorted(region.exits):
        node = editor.node(position)
        perm = tuple(region.perm[axis] for axis in node.attrs["perm"])
        editor.update(position, inputs=(names[node.inputs[0]],), attrs={"perm": perm})
    for position in sorted(region.reductions):
        node = editor.node(position)
        attrs = {**node.attrs, "axes": _axes(node, region.perm)}
        editor.update(position, inputs=(names[node.inputs[0]],), attrs=attrs)


@at_each("Transpose")
def run(position: int, editor: Editor) -> None:
    """Rewrite the region behind a Transpose; the Transposes on its way in die."""
    region = _grow(position, editor) if editor.readers(editor.node(position).output) else None
    if region is not None:
        _rewrite(region, editor)


PASS = Pass(
    run=run,
    requires="a region of Unary, Binary, Affine, Concat, Slice, Pad and Softmax nodes that is only "
    "entered through Transposes by one permutation, or views that are such, and only left through "
    "Transposes and Reduces that leave the other dimensions in order",
    ensures="it is entered directly; the Transposes behind it are composed or gone",
    after=("compose_views",),
)
