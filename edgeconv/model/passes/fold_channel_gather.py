"""Fold the order of channels into convolution weights instead of moving the channels.

In front of an ungrouped Conv the order of its in_c is free, behind it the order of its out_c; a
depthwise Conv commutes with a permutation.  Gathers that only reorder channels vanish; those that
also select take their channels in memory order, in runs.  ShuffleNet is left without shuffles.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node
from edgeconv.model.passes.base import Pass, at_each
from edgeconv.model.passes.channels import (
    CHANNELS,
    Indices,
    channel_indices,
    is_depthwise,
    is_permutation,
    is_ungrouped,
    permuted_inputs,
    permuted_outputs,
)
from edgeconv.model.passes.units import permuted


def _reads_as_input(node: Node, name: str) -> bool:
    """Whether ``node`` reads ``name`` as its data and nowhere else."""
    return node.inputs[0] == name and node.reads().count(name) == 1


def _takes_any_order(position: int, name: str, editor: Editor) -> bool:
    """Whether the node is an ungrouped Conv over the channels of ``name``."""
    node = editor.node(position)
    return is_ungrouped(node, editor) and _reads_as_input(node, name)


def _into_producer(position: int, indices: Indices, editor: Editor) -> bool:
    """Conv, then Gather: permute or select out_c."""
    source = editor.node(position).inputs[0]
    writer = editor.private_writer(source, position)
    if writer is None:
        return False
    conv = editor.node(writer)
    if not conv.epilogue.is_only_before or len(indices) > editor.shape(source)[1]:
        return False
    if is_ungrouped(conv, editor):
        inputs = permuted_outputs(conv, indices, editor)
        editor.absorb(writer, position, inputs=inputs, attrs=permuted(conv, indices))
        return True
    if not is_depthwise(conv, editor) or not is_permutation(indices, editor.shape(source)[1]):
        return False
    above = editor.producer(conv.inputs[0])
    if above is None or not _can_permute_out(above, writer, editor):
        return False
    _swap_up(writer, position, indices, editor)
    return True


def _can_permute_out(conv: Node, reader: int, editor: Editor) -> bool:
    sole = editor.sole_reader(conv.output) == reader
    return is_ungrouped(conv, editor) and sole and conv.epilogue.is_only_before


def _swap_up(depthwise: int, gather: int, indices: Indices, editor: Editor) -> None:
    """Depthwise, then Gather: Gather, then depthwise; what lies in between is a new tensor."""
    node, moved = editor.node(depthwise), editor.node(gather)
    like = editor.tensors[node.inputs[0]]
    between = editor.add_tensor(f"{like.name}.permuted", like.shape, like)
    inputs = permuted_outputs(node, indices, editor)
    editor.update(gather, inputs=(node.inputs[0], moved.inputs[1]), outputs=(between,))
    attrs = permuted(node, indices)
    editor.update(depthwise, inputs=(between, *inputs[1:]), outputs=moved.outputs, attrs=attrs)


def _swap_down(depthwise: int, gather: int, indices: Indices, editor: Editor) -> None:
    """Gather, then depthwise: depthwise, then a Gather that writes what the depthwise wrote."""
    node, moved = editor.node(depthwise), editor.node(gather)
    like = editor.tensors[node.output]
    between = editor.add_tensor(f"{like.name}.unpermuted", like.shape, like)
    order = np.argsort(indices)
    inputs = (moved.inputs[0], *permuted_outputs(node, order, editor)[1:])
    editor.update(depthwise, inputs=inputs, outputs=(between,), attrs=permuted(node, order))
    name, inputs = editor.fresh_node(f"{moved.name}.below"), (between, moved.inputs[1])
    editor.insert(depthwise, replace(moved, name=name, inputs=inputs, outputs=node.outputs))


def _sinks(position: int, name: str, editor: Editor) -> bool:
    """Whether the node is a depthwise Conv behind which only ungrouped Convs read."""
    node = editor.node(position)
    if not is_depthwise(node, editor) or not _reads_as_input(node, name):
        return False
    readers = editor.readers(node.output)
    return (
        node.epilogue.is_only_before
        and node.output not in editor.outputs
        and all(_takes_any_order(reader, node.output, editor) for reader in readers)
    )


def _into_readers(position: int, indices: Indices, editor: Editor) -> bool:
    """Gather, then Convs only: they take the channels in ascending order."""
    node = editor.node(position)
    readers = editor.readers(node.output)
    if node.output in editor.outputs or len(np.unique(indices)) != len(indices):
        return False
    if is_permutation(indices, editor.shape(node.inputs[0])[1]):
        sinking = [reader for reader in readers if _sinks(reader, node.output, editor)]
    else:
        sinking = []
    direct = [reader for reader in readers if reader not in sinking]
    if not all(_takes_any_order(reader, node.output, editor) for reader in direct):
        return False
    for reader in sinking:
        _swap_down(reader, position, indices, editor)
    order = np.argsort(indices)
    if not direct or np.array_equal(order, np.arange(len(order))):
        return bool(sinking)
    like = editor.tensors[node.output]
    target = editor.add_tensor(f"{like.name}.ascending", like.shape, like)
    name = editor.add_constant(f"{node.inputs[1]}.ascending", indices[order])
    for reader in direct:
        inputs = permuted_inputs(editor.node(reader), order, editor)
        editor.update(reader, inputs=(target, *inputs[1:]))
    editor.update(position, inputs=(node.inputs[0], name), outputs=(target,))
    return True


def _ends_in_any_order(name: str, editor: Editor) -> bool:
    """Whether a Gather that permutes ``name`` for all its readers would vanish into them."""
    readers = editor.readers(name)
    if not readers or name in editor.outputs:
        return False
    if all(_takes_any_order(r, name, editor) or _sinks(r, name, editor) for r in readers):
        return True
    return all(channel_indices(editor.node(r), editor) is not None for r in readers)


def _through_concat(position: int, indices: Indices, editor: Editor) -> bool:
    """Gather, then a Concat whose readers take any order: an ascending Gather, reordered later."""
    node = editor.node(position)
    target = editor.sole_reader(node.output)
    order = np.argsort(indices)
    if target is None or np.array_equal(order, np.arange(len(order))):
        return False
    concat = editor.node(target)
    if concat.op != "Concat" or concat.attrs["axis"] != CHANNELS:
        return False
    if len(np.unique(indices)) != len(indices) or not _ends_in_any_order(concat.output, editor):
        return False
    sizes = [editor.shape(name)[CHANNELS] for name in concat.inputs]
    which = concat.inputs.index(node.output)
    begin = sum(sizes[:which])
    restored = np.arange(sum(sizes), dtype=np.int64)
    restored[begin : begin + len(order)] = begin + np.argsort(order)
    like, joined = editor.tensors[node.output], editor.tensors[concat.output]
    ascending = editor.add_tensor(f"{like.name}.ascending", like.shape, like)
    unordered = editor.add_tensor(f"{joined.name}.unpermuted", joined.shape, joined)
    name = editor.add_constant(f"{node.inputs[1]}.ascending", indices[order])
    editor.update(position, inputs=(node.inputs[0], name), outputs=(ascending,))
    inputs = tuple(ascending if name == node.output else name for name in concat.inputs)
    editor.update(target, inputs=inputs, outputs=(unordered,))
    channels = editor.add_constant(f"{joined.name}.channels", restored)
    restore = editor.fresh_node(f"{node.name}.below")
    below = replace(node, name=restore, inputs=(unordered, channels), outputs=(joined.name,))
    editor.insert(target, below)
    return True


@at_each("Gather")
def run(position: int, editor: Editor) -> None:
    """Fold a Gather of channels into the Convs around it, the first way that applies."""
    indices = channel_indices(editor.node(position), editor)
    if indices is not None:
        ways = (_into_producer, _into_readers, _through_concat)
        any(way(position, indices, editor) for way in ways)


PASS = Pass(
    run=run,
    requires="a Gather of channels by a constant that alone reads an ungrouped Conv without "
    "residual, or that only ungrouped Convs read; a depthwise Conv in between commutes with it",
    ensures="the weights are permuted; a Gather that only reordered channels is gone",
    after=("compose_gathers", "fold_batch_norm"),
)
