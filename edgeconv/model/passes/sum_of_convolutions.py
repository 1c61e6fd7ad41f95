"""Convolutions of one tensor that are added become one, whose filters are the sum of theirs.

Networks are trained with branches that inference does not need: a 3x3, a 1x1 and a batch
normalisation of the same tensor (Ding et al. 2021, "RepVGG", section 3.3; Vasu et al. 2023,
"MobileOne").
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Node, origins
from edgeconv.model.passes.base import Pass, at_each
from edgeconv.model.passes.scaling import Reals, Weights, of_affine

_PLAIN = frozenset({"kernel", "strides", "dilations", "pads", "groups"})
Place = tuple[slice, ...]


def _place(small: Node, large: Node) -> Place | None:
    """Where the taps of ``small`` lie among those of ``large``; None where one is no tap of it.

    Tap i of an axis reads the pixel  stride * y - pad + dilation * i  for output pixel y.
    """
    found = []
    rank = len(large.attrs["kernel"])
    for axis in range(rank):
        taps, of = small.attrs["kernel"][axis], large.attrs["kernel"][axis]
        step, wide = small.attrs["dilations"][axis], large.attrs["dilations"][axis]
        first, rest = divmod(large.attrs["pads"][axis] - small.attrs["pads"][axis], wide)
        by, uneven = divmod(step, wide) if taps > 1 else (1, 0)
        if rest or uneven or first < 0 or first + by * (taps - 1) >= of:
            return None
        found.append(slice(first, first + by * (taps - 1) + 1, by))
    return tuple(found)


def _summed(large: Node, small: Node, editor: Editor) -> Weights | None:
    """Filters and biases of both in the window of ``large``."""
    alike = all(large.attrs[name] == small.attrs[name] for name in ("strides", "groups"))
    place = _place(small, large) if alike else None
    ours, theirs = Weights.of(large, editor), Weights.of(small, editor)
    if place is None or ours is None or theirs is None:
        return None
    weights = ours.weights.copy()
    weights[(slice(None), slice(None), *place)] += theirs.weights
    return Weights(weights, ours.bias + theirs.bias)


def _with_affine(conv: Node, affine: Node, editor: Editor) -> Weights | None:
    """Filters and biases of ``conv`` and the scale and shift of the tensor that it reads."""
    pair, old = of_affine(affine, editor), Weights.of(conv, editor)
    taps = _own_pixel(conv)
    if pair is None or old is None or taps is None or len(old.weights) != len(pair[0]):
        return None
    scale, shift = pair
    weights: Reals = old.weights.copy()
    outputs = np.arange(len(scale))
    weights[(outputs, outputs % old.weights.shape[1], *taps)] += scale
    return Weights(weights, old.bias + shift)


def _own_pixel(conv: Node) -> tuple[int, ...] | None:
    """The tap that reads the pixel of the output; None where there is none at some output."""
    pads, dilations = conv.attrs["pads"], conv.attrs["dilations"]
    found = []
    for axis, taps in enumerate(conv.attrs["kernel"]):
        tap, rest = divmod(pads[axis], dilations[axis])
        if rest or tap >= taps or conv.attrs["strides"][axis] != 1:
            return None
        found.append(tap)
    return tuple(found)


def _branch(name: str, reader: int, editor: Editor) -> Node | None:
    """The Conv or Affine, without epilogue or format of its own, that writes ``name`` for the node
    at ``reader`` alone."""
    position = editor.private_writer(name, reader)
    node = None if position is None else editor.node(position)
    if node is None or node.op not in ("Conv", "Affine") or not node.epilogue.is_empty:
        return None
    return node if node.attrs.keys() <= _PLAIN else None


@at_each("Binary")
def run(position: int, editor: Editor) -> None:
    """One Conv in place of two, or of a Conv and an Affine, that read one tensor and are added."""
    node = editor.node(position)
    if node.attrs["kind"] != "add" or len(set(node.inputs)) != 2:
        return
    branches = [_branch(name, position, editor) for name in node.inputs]
    one, other = branches
    if one is None or other is None or one.inputs[0] != other.inputs[0]:
        return
    if editor.shape(one.output) != editor.shape(other.output):
        return
    for large, small in ((one, other), (other, one)):
        if large.op == "Conv":
            sum_of = _summed if small.op == "Conv" else _with_affine
            found = sum_of(large, small, editor)
            inputs = found.store(large, editor) if found else None
            if inputs:
                made = replace(
                    large,
                    inputs=inputs,
                    outputs=node.outputs,
                    epilogue=node.epilogue,
                    origin=origins(large, small, node),
                )
                writer = editor.writer(large.output)
                editor.replace(position, None)
                if writer is not None:
                    editor.replace(writer, made)
                return


PASS = Pass(
    run=run,
    requires="Binary add of two Convs, or of a Conv and an Affine, of one tensor, without epilogue "
    "and read by nothing else, the taps of one among those of the other",
    ensures="one Conv in their place",
    after=("fold_batch_norm",),
)
