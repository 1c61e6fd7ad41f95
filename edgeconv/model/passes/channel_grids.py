"""What the passes for activations of one scale per channel have in common.

Factors above 0 that are the same all over a channel pass what treats channels apart: a maximum, an
average, movement, a ReLU.  A Conv or Dense takes them over (``ir.channel_scales``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps

import numpy as np

from edgeconv.ir.channel_scales import CHANNEL_SCALES, ChannelScales, scales_of
from edgeconv.ir.edit import Editor
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.quantisation import integers_of
from edgeconv.ir.requantisation import EXACT
from edgeconv.model.passes.base import Rewrite, at_each
from edgeconv.model.passes.units import has_units

_MOST_BITS = 16  # of integers that memory holds
# Functions f with f(a x) = a f(x) for every a > 0.
_PASSED = frozenset({"none", "relu", "leaky_relu", "abs", "neg"})


def in_whole_numbers(encoding: Encoding) -> Encoding | None:
    """What the integers of several scales and one zero point are without the scales; None of other
    encodings."""
    if encoding.is_per_tensor or encoding.bits > _MOST_BITS or len(set(encoding.zero)) > 1:
        return None
    return replace(encoding, scale=(1.0,), zero=encoding.zero[:1], axis=0)


def source_axis(node: Node, axis: int, editor: Editor) -> int | None:
    """The dimension of the first input whose channels are those of dimension ``axis`` of the
    result, so that factors of each may stand in front as well as behind; None where they may not.
    """
    rule = _RULES.get(node.op)
    if rule is None or not node.epilogue.is_only_before or len(node.outputs) > 1:
        return None
    if node.epilogue.before.kind not in _PASSED:
        return None
    found = rule(node, axis, editor)
    if found is None:
        return None
    shape = editor.shape(node.inputs[0])
    return found if shape[found] == editor.shape(node.output)[axis] else None


def result_axis(node: Node, axis: int, editor: Editor) -> int | None:
    """The other way: the dimension of the result with the channels of ``axis`` of the input."""
    axes = range(len(editor.shape(node.output)))
    return next((each for each in axes if source_axis(node, each, editor) == axis), None)


def _same(node: Node, axis: int, editor: Editor) -> int | None:
    del node, editor
    return axis


def _pool(node: Node, axis: int, editor: Editor) -> int | None:
    del editor
    return axis if axis < 2 and node.attrs["mode"] in ("max", "average") else None


def _pad(node: Node, axis: int, editor: Editor) -> int | None:
    rank, pads = len(editor.shape(node.output)), node.attrs["pads"]
    moves = node.attrs["mode"] != "constant" or not float(node.attrs["value"])
    return axis if moves and not (pads[axis] or pads[axis + rank]) else None


def _resize(node: Node, axis: int, editor: Editor) -> int | None:
    """As many channels as before may still be interpolated: 2 by 1.3 are 2 others."""
    del editor
    return axis if node.attrs["scales"][axis] == 1 else None


def _slice(node: Node, axis: int, editor: Editor) -> int | None:
    """All channels may still be in another order."""
    del editor
    return axis if node.attrs["steps"][axis] == 1 else None


def _transpose(node: Node, axis: int, editor: Editor) -> int | None:
    del editor
    return int(node.attrs["perm"][axis])


def _reshape(node: Node, axis: int, editor: Editor) -> int | None:
    shape, out = editor.shape(node.inputs[0]), editor.shape(node.output)
    before = int(np.prod(out[:axis]))
    found = (i for i, size in enumerate(shape) if int(np.prod(shape[:i])) == before)
    return next((i for i in found if shape[i] == out[axis]), None)


def _reduce(node: Node, axis: int, editor: Editor) -> int | None:
    if node.attrs["kind"] not in ("max", "mean", "min", "sum"):
        return None
    rank, taken = len(editor.shape(node.inputs[0])), set(node.attrs["axes"])
    kept = [i for i in range(rank) if i not in taken]
    if node.attrs["keepdims"]:
        return axis if axis in kept else None
    return kept[axis] if axis < len(kept) else None


_Rule = Callable[[Node, int, Editor], int | None]
_RULES: Mapping[str, _Rule] = {
    "Identity": _same,
    "Pad": _pad,
    "Pool": _pool,
    "Reduce": _reduce,
    "Reshape": _reshape,
    "Resize": _resize,
    "Slice": _slice,
    "Transpose": _transpose,
    "Unary": _same,
}


def takes_scales(node: Node, editor: Editor) -> bool:
    """Whether the node is a Conv or Dense of constants whose filters are multiples of units."""
    constants = all(not name or editor.constant(name) is not None for name in node.inputs[1:])
    return node.op in ("Conv", "Dense") and constants and has_units(node)


def rescale(
    position: int, editor: Editor, made: Callable[[ChannelScales], ChannelScales]
) -> Callable[[], None] | None:
    """What gives the Conv or Dense at ``position`` the scales that ``made`` makes of its own, and
    the constants in float32 that follow; None where float32 does not have them."""
    node = editor.node(position)
    stored = node.storage
    weights = editor.tensors[node.inputs[1]].constant().astype(np.float64)
    scales = made(scales_of(node, replace(editor.graph, tensors=editor.tensors)))
    rows = (-1, *(1,) * (weights.ndim - 1))
    whole = np.rint(weights / np.asarray(stored.scale, np.float64).reshape(rows))
    with np.errstate(over="ignore"):
        single = (scales.of_sums / scales.of_results).astype(np.float32)
        bias = (np.asarray(scales.bias) / scales.of_results).astype(np.float32)
        filters = (whole * single.astype(np.float64).reshape(rows)).astype(np.float32)
    smallest = np.finfo(np.float32).tiny
    if not all(np.isfinite(each).all() for each in (single, bias, filters)):
        return None
    if (np.abs(single) < smallest).any():
        return None

    def apply() -> None:
        names = [editor.add_constant(f"{node.inputs[1]}.rescaled", filters)]
        if len(node.inputs) > 2 and node.inputs[2]:
            names.append(editor.add_constant(f"{node.inputs[2]}.rescaled", bias))
        attrs = {**node.attrs, "storage": stored.scaled(single), CHANNEL_SCALES: scales}
        inputs = (editor.node(position).inputs[0], *names)
        editor.update(position, inputs=inputs, attrs=attrs)

    return apply


def at_several_scales(op: str) -> Callable[[Rewrite], Callable[[Graph], Graph]]:
    """Decorates the rewrite of one node: a pass that applies it to every node ``op``, Quantise or
    Dequantise, with a scale for each channel; TensorFlow Lite has no such integers."""

    def decorated(rewrite: Rewrite) -> Callable[[Graph], Graph]:
        @wraps(rewrite)
        def of_several(position: int, editor: Editor) -> None:
            exact = editor.graph.requantise == EXACT
            if exact and not integers_of(editor.node(position)).is_per_tensor:
                rewrite(position, editor)

        return at_each(op)(of_several)

    return decorated
