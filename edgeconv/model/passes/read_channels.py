"""Multiply by the scales of a DequantizeLinear in the filters of the layers behind it.

Layers whose sums are of one channel each, as depthwise ones are, read whole numbers then, the same
grid of all channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgeconv.ir.channel_scales import ChannelScales
from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Node
from edgeconv.ir.quantisation import integers_of
from edgeconv.model.passes.base import Pass
from edgeconv.model.passes.channel_grids import (
    at_several_scales,
    in_whole_numbers,
    rescale,
    result_axis,
    takes_scales,
)

Scales = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Reading:
    """How an operator reads numbers of several scales.  ``passed``: positions of what reads numbers
    of several scales and passes them on.  ``apply``:  what lets layers behind these take over the
    scales."""

    passed: tuple[int, ...] = ()
    apply: tuple[Callable[[], None], ...] = ()

    def with_(self, other: _Reading) -> _Reading:
        return _Reading(self.passed + other.passed, self.apply + other.apply)


def _of_sums(node: Node, scales: Scales, editor: Editor) -> Scales | None:
    """By output channel of a Conv node the scale of all that it reads; None where it adds numbers
    of several."""
    out_c, groups = editor.shape(node.inputs[1])[0], int(node.attrs["groups"])
    by_group = np.asarray(scales).reshape(groups, -1)
    if (by_group != by_group[:, :1]).any():
        return None
    return tuple(map(float, np.repeat(by_group[:, 0], out_c // groups)))


def _reading(reader: int, name: str, axis: int, scales: Scales, editor: Editor) -> _Reading | None:
    """How the node at ``reader`` can have the tensor ``name`` without its scales; None where it
    cannot."""
    node = editor.node(reader)
    if node.inputs[0] != name or node.reads().count(name) != 1:
        return None
    if takes_scales(node, editor):
        found = _of_sums(node, scales, editor) if node.op == "Conv" and axis == 1 else None
        if found is None:
            return None

        def times(own: ChannelScales) -> ChannelScales:
            return replace(own, input=found)

        apply = rescale(reader, editor, times)
        return _Reading((), (apply,)) if apply else None
    behind = result_axis(node, axis, editor)
    readers = editor.readers(node.output)
    if behind is None or not readers or node.output in editor.outputs:
        return None
    total = _Reading((reader,))
    for each in readers:
        further = _reading(each, node.output, behind, scales, editor)
        if further is None:
            return None
        total = total.with_(further)
    return total


def _renamed(position: int, zero: int, editor: Editor) -> str:
    """A float32 tensor for what the Dequantise at ``position`` reads less its zero point.

    It is called as the integers are in the model where these are the same numbers.
    """
    node = editor.node(position)
    name, shape = node.inputs[0], editor.shape(node.inputs[0])
    writer, kept = editor.writer(name), {*editor.outputs, *editor.graph.inputs}
    like = editor.tensors[node.output]
    if zero or writer is None or name in kept:
        return editor.add_tensor(f"{name}.whole", shape, like)
    integers = editor.add_tensor(f"{name}.integers", shape, editor.tensors[name])
    editor.rename_uses(name, integers)
    outputs = tuple(integers if out == name else out for out in editor.node(writer).outputs)
    editor.update(writer, outputs=outputs)
    editor.tensors[name] = replace(like, name=name, shape=shape)
    return name


def _apply(
    position: int, whole: Encoding, readings: Sequence[tuple[int, _Reading]], editor: Editor
) -> None:
    """Insert a Dequantise of ``whole`` numbers for these readers of the one at ``position``."""
    node = editor.node(position)
    for _, reading in readings:
        for apply in reading.apply:
            apply()
        for each in reading.passed:
            name = editor.node(each).output
            scaled = editor.add_tensor(
                f"{name}.in_scales", editor.shape(name), editor.tensors[name]
            )
            editor.rename_uses(name, scaled)
            editor.update(each, outputs=(scaled,))
    target = _renamed(position, whole.zero[0], editor)
    source = editor.node(position).inputs[0]
    attrs = {"encoding": whole}
    name = editor.fresh_node(f"{node.name}.whole")
    editor.insert(
        position, Node(name, "Dequantise", (source,), (target,), attrs, origin=node.origin)
    )
    for reader, _ in readings:
        inputs = (target, *editor.node(reader).inputs[1:])
        editor.update(reader, inputs=inputs)


@at_several_scales("Dequantise")
def run(position: int, editor: Editor) -> None:
    """Let the readers of the Dequantise at ``position`` that can read whole numbers do so."""
    node = editor.node(position)
    encoding = integers_of(node)
    whole = in_whole_numbers(encoding)
    if whole is None:
        return
    found = (
        (each, _reading(each, node.output, encoding.axis, encoding.scale, editor))
        for each in editor.readers(node.output)
    )
    readings = [(each, reading) for each, reading in found if reading is not None]
    if readings:
        _apply(position, whole, readings, editor)


PASS = Pass(
    run=run,
    requires="a Dequantise of several scales and one zero point, which a Conv whose filters have "
    "units reads, each of its groups channels of one scale, maybe through what factors of channels "
    "pass",
    ensures="the scales are part of the filters, and the Conv reads what a Dequantise of whole "
    "numbers makes",
    after=("round_channels",),
)
