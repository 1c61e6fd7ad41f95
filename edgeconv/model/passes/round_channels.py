"""Divide by the scales of a QuantizeLinear in the filters of the layer in front of it.

What is left to round is a grid of whole numbers, the same of all channels.
"""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.activation import NONE, Activation, bounds, clamp
from edgeconv.ir.channel_scales import ChannelScales
from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.ir.quantisation import integers_of
from edgeconv.model.passes.base import Pass
from edgeconv.model.passes.channel_grids import (
    at_several_scales,
    in_whole_numbers,
    rescale,
    source_axis,
    takes_scales,
)


def _without_bounds(function: Activation, encoding: Encoding) -> Activation:
    """The function of what is rounded to ``encoding`` behind it, without the bounds that are beyond
    the last steps of every channel."""
    limits = bounds(function)
    if limits is None:
        return function
    low, high = limits
    zero = encoding.zero[0]
    # Exact in float64: a float32 scale and half a number of 17 bits.
    if low < min(scale * (encoding.low - zero + 0.5) for scale in encoding.scale):
        low = float("-inf")
    if high > max(scale * (encoding.high - zero - 0.5) for scale in encoding.scale):
        high = float("inf")
    return clamp(low, high)


def _unbounded(node: Node, encoding: Encoding) -> Node:
    """``node`` with `_without_bounds` in its epilogue."""
    before = _without_bounds(node.epilogue.before, encoding)
    if before == node.epilogue.before:
        return node
    op = "Identity" if node.op == "Unary" and before == NONE else node.op
    return replace(node, op=op, epilogue=replace(node.epilogue, before=before))


def _layer(position: int, editor: Editor) -> tuple[int, list[int]] | None:
    """Position of the layer that makes what the Quantise at ``position`` rounds, for that alone,
    and of what stands between them."""
    quantise = editor.node(position)
    encoding, between = integers_of(quantise), list[int]()
    name, reader, axis = quantise.inputs[0], position, encoding.axis
    while (writer := editor.private_writer(name, reader)) is not None:
        node = _unbounded(editor.node(writer), encoding)
        if takes_scales(node, editor):
            channels = 1 if node.op == "Conv" else len(editor.shape(node.output)) - 1
            alone = node.epilogue == Epilogue() and axis == channels
            return (writer, between) if alone else None
        found = source_axis(node, axis, editor)
        if found is None:
            return None
        between.append(writer)
        name, reader, axis = node.inputs[0], writer, found
    return None


@at_several_scales("Quantise")
def run(position: int, editor: Editor) -> None:
    """Make the Quantise at ``position`` one of whole numbers."""
    encoding = integers_of(editor.node(position))
    whole, layer = in_whole_numbers(encoding), _layer(position, editor)
    if whole is None or layer is None:
        return
    writer, between = layer

    def divided(scales: ChannelScales) -> ChannelScales:
        return replace(scales, output=encoding.scale)

    apply = rescale(writer, editor, divided)
    if apply is None:
        return
    apply()
    for each in between:
        editor.replace(each, _unbounded(editor.node(each), encoding))
    name, reader = editor.node(position).inputs[0], position
    for each in (*between, writer):
        divided_name = editor.add_tensor(
            f"{name}.in_scales", editor.shape(name), editor.tensors[name]
        )
        last = editor.node(reader)
        editor.update(reader, inputs=(divided_name, *last.inputs[1:]))
        editor.update(each, outputs=(divided_name,))
        name, reader = editor.node(each).inputs[0], each
    editor.update(position, attrs={"encoding": whole})


PASS = Pass(
    run=run,
    requires="a Quantise of several scales and one zero point along the output channels of a Conv "
    "or Dense whose filters have units, which it alone reads through what factors of channels pass",
    ensures="the filters are divided by the scales, and the Quantise is one of whole numbers",
    after=("fold_batch_norm", "fold_dense_bias"),
)
