"""Fold the Affine of a batch normalisation into the weights and bias next to it.

Everything is computed in float64 and rounded once, so that folding costs half an ulp per weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Graph, Node
from edgeconv.passes.base import Pass
from edgeconv.passes.units import has_units, rescaled

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Weights:
    """Weights (out_c, in_c / groups, ...) and bias of a Conv or Dense, as float64 copies."""

    weights: Reals
    bias: Reals

    @staticmethod
    def of(node: Node, editor: Editor) -> _Weights | None:
        """None when they are not constant."""
        weights = editor.constant(node.inputs[1])
        has_bias = len(node.inputs) > 2 and bool(node.inputs[2])
        bias = editor.constant(node.inputs[2]) if has_bias else None
        if weights is None or (has_bias and bias is None):
            return None
        if bias is None:
            bias = np.zeros(len(weights))
        return _Weights(weights.astype(np.float64), bias.astype(np.float64))

    def scale_outputs(
        self, node: Node, scale: Reals, shift: Reals
    ) -> tuple[_Weights, dict[str, Any]]:
        """What computes scale * (w x + b) + shift, and the attributes that ``node`` then has."""
        weights, attrs = rescaled(node, self.weights, scale)
        return _Weights(weights, self.bias * scale + shift), attrs

    def scale_inputs(self, scale: Reals, shift: Reals, groups: int) -> _Weights:
        """What computes w (scale * x + shift) + b; scale and shift have one entry per in_c."""
        out_c, in_c = self.weights.shape[:2]
        # in_c of output o starts at o // (out_c / groups) * in_c / groups
        group = np.arange(out_c) // (out_c // groups)
        index = group[:, None] * in_c + np.arange(in_c)
        spread = (out_c, in_c, *(1,) * (self.weights.ndim - 2))
        moved = (self.weights * shift[index].reshape(spread)).reshape(out_c, -1).sum(axis=1)
        return _Weights(self.weights * scale[index].reshape(spread), self.bias + moved)

    def store(self, node: Node, editor: Editor) -> tuple[str, ...] | None:
        """The inputs of ``node`` with these weights; None when rounding them overflows."""
        dtype = editor.tensors[node.inputs[1]].dtype
        with np.errstate(over="ignore"):
            weights, bias = self.weights.astype(dtype), self.bias.astype(dtype)
        if np.isinf(weights).any() or np.isinf(bias).any():
            return None
        names = (
            editor.add_constant(f"{node.inputs[1]}.folded", weights),
            editor.add_constant(f"{node.inputs[1]}.folded_bias", bias),
        )
        return (node.inputs[0], *names)


def _scale_shift(node: Node, editor: Editor) -> tuple[Reals, Reals] | None:
    """Scale and shift of an Affine as float64."""
    scale, shift = editor.constant(node.inputs[1]), editor.constant(node.inputs[2])
    if scale is None or shift is None:
        return None
    return scale.astype(np.float64), shift.astype(np.float64)


def _into_producer(position: int, editor: Editor) -> bool:
    """Conv, Dense (N, C) or Affine, then Affine: one node."""
    node = editor.node(position)
    writer = editor.writer(node.inputs[0])
    if writer is None or editor.sole_reader(node.inputs[0]) is None:
        return False
    producer = editor.node(writer)
    pair = _scale_shift(node, editor)
    if not producer.epilogue.is_empty or pair is None:
        return False
    if producer.op == "Affine":
        return _compose(writer, position, pair, editor)
    if producer.op == "Conv" or (producer.op == "Dense" and len(editor.shape(node.output)) == 2):
        old = _Weights.of(producer, editor)
        new, attrs = old.scale_outputs(producer, *pair) if old else (None, {})
        inputs = new.store(producer, editor) if new else None
        if inputs:
            editor.absorb(writer, position, inputs=inputs, attrs=attrs, epilogue=node.epilogue)
            return True
    return False


def _compose(first: int, second: int, pair: tuple[Reals, Reals], editor: Editor) -> bool:
    node, last = editor.node(first), editor.node(second)
    inner = _scale_shift(node, editor)
    if inner is None:
        return False
    dtype = editor.tensors[node.inputs[1]].dtype
    scale, shift = inner[0] * pair[0], inner[1] * pair[0] + pair[1]
    names = (
        editor.add_constant(f"{node.inputs[1]}.folded", scale.astype(dtype)),
        editor.add_constant(f"{node.inputs[2]}.folded", shift.astype(dtype)),
    )
    origin = tuple(dict.fromkeys((*node.origin, *last.origin)))
    editor.replace(first, None)
    editor.update(second, inputs=(node.inputs[0], *names), origin=origin)
    return True


def _into_reader(position: int, editor: Editor) -> bool:
    """Affine, then Conv or Dense (N, C): one node, unless padding would have to become -shift."""
    node = editor.node(position)
    target = editor.sole_reader(node.output)
    pair = _scale_shift(node, editor)
    if target is None or pair is None or not node.epilogue.is_empty:
        return False
    reader = editor.node(target)
    if reader.op == "Conv":
        if any(reader.attrs["pads"]) and np.any(pair[1] != 0):
            return False
        groups = int(reader.attrs["groups"])
    elif reader.op == "Dense" and len(editor.shape(node.output)) == 2:
        groups = 1
    else:
        return False
    if reader.inputs[0] != node.output or reader.epilogue.residual == node.output:
        return False
    old = _Weights.of(reader, editor)
    if old is None or (has_units(reader) and np.any(pair[0] != pair[0][0])):
        return False  # weights would be multiples of no unit per output channel
    new, attrs = old.scale_inputs(*pair, groups), dict(reader.attrs)
    if has_units(reader):
        weights, attrs = rescaled(reader, old.weights, np.full(len(old.weights), pair[0][0]))
        new = replace(new, weights=weights)
    inputs = new.store(reader, editor)
    if inputs is None:
        return False
    origin = tuple(dict.fromkeys((*node.origin, *reader.origin)))
    editor.replace(position, None)
    editor.update(target, inputs=(node.inputs[0], *inputs[1:]), attrs=attrs, origin=origin)
    return True


def _is_affine(position: int, editor: Editor) -> bool:
    node = editor.nodes[position]
    return node is not None and node.op == "Affine"


def run(graph: Graph) -> Graph:
    """Fold every Affine that stands alone between its neighbours and a Conv, Dense or Affine."""
    editor = Editor(graph)
    for position in editor:
        while _is_affine(position, editor):
            if not (_into_producer(position, editor) or _into_reader(position, editor)):
                break
    return editor.finish()


PASS = Pass(
    name="fold_batch_norm",
    run=run,
    requires="an Affine that is the sole reader of a Conv, Dense (N, C) or Affine without "
    "epilogue, or whose sole reader is a Dense or a Conv without padding (or the shift is zero)",
    ensures="the Affine is part of the weights and bias of its neighbour",
    after=("binary_to_affine",),
)
