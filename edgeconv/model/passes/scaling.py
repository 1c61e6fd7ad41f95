"""Weights and bias of a Conv or Dense that take over a scale and a shift from around it.

Everything is computed in float64 and rounded once, so that folding costs half an ulp per weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.channel_scales import CHANNEL_SCALES
from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Array, Node
from edgeconv.model.passes.units import rescaled

Reals = npt.NDArray[np.float64]
ScaleShift = tuple[Reals, Reals]  # of scale * x + shift, one of each per channel

# (kind of a Binary, position of its constant operand c) -> what it does to the other operand
_SCALE_SHIFT: Mapping[tuple[str, int], Callable[[Reals], ScaleShift]] = {
    ("add", 0): lambda c: (np.ones_like(c), c),
    ("add", 1): lambda c: (np.ones_like(c), c),
    ("sub", 0): lambda c: (-np.ones_like(c), c),
    ("sub", 1): lambda c: (np.ones_like(c), -c),
    ("mul", 0): lambda c: (c, np.zeros_like(c)),
    ("mul", 1): lambda c: (c, np.zeros_like(c)),
    ("div", 1): lambda c: (1 / c, np.zeros_like(c)),
}


def of_binary(node: Node, position: int, channels: Array) -> ScaleShift | None:
    """What a Binary does whose operand at ``position`` is a constant, ``channels`` as a vector.

    None where that is not linear, or where 1 / c overflows, which x / c need not.
    """
    convert = _SCALE_SHIFT.get((node.attrs["kind"], position))
    if convert is None or channels.dtype.kind != "f":
        return None
    with np.errstate(divide="ignore", over="ignore"):
        scale, shift = convert(channels.astype(np.float64))
        kept = scale.astype(channels.dtype), shift.astype(channels.dtype)
    return (scale, shift) if np.isfinite(kept).all() else None


def of_affine(node: Node, editor: Editor) -> ScaleShift | None:
    """Scale and shift of an Affine; None where they are not constant."""
    scale, shift = editor.constant(node.inputs[1]), editor.constant(node.inputs[2])
    if scale is None or shift is None:
        return None
    return scale.astype(np.float64), shift.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights (out_c, in_c / groups, ...) and bias of a Conv or Dense, as float64 copies."""

    weights: Reals
    bias: Reals

    @staticmethod
    def of(node: Node, editor: Editor) -> Weights | None:
        """None when they are not constant, or have scales of channels in them, which say exactly
        what they are."""
        if CHANNEL_SCALES in node.attrs:
            return None
        weights = editor.constant(node.inputs[1])
        has_bias = len(node.inputs) > 2 and bool(node.inputs[2])
        bias = editor.constant(node.inputs[2]) if has_bias else None
        if weights is None or (has_bias and bias is None):
            return None
        if bias is None:
            bias = np.zeros(len(weights))
        return Weights(weights.astype(np.float64), bias.astype(np.float64))

    def scale_outputs(
        self, node: Node, scale: Reals, shift: Reals
    ) -> tuple[Weights, dict[str, Any]]:
        """What computes scale * (w x + b) + shift, and the attributes that ``node`` then has."""
        weights, attrs = rescaled(node, self.weights, scale)
        return Weights(weights, self.bias * scale + shift), attrs

    def scale_inputs(self, scale: Reals, shift: Reals, groups: int) -> Weights:
        """What computes w (scale * x + shift) + b; scale and shift have one entry per in_c."""
        out_c, in_c = self.weights.shape[:2]
        # in_c of output o starts at o // (out_c / groups) * in_c / groups
        group = np.arange(out_c) // (out_c // groups)
        index = group[:, None] * in_c + np.arange(in_c)
        spread = (out_c, in_c, *(1,) * (self.weights.ndim - 2))
        moved = (self.weights * shift[index].reshape(spread)).reshape(out_c, -1).sum(axis=1)
        return Weights(self.weights * scale[index].reshape(spread), self.bias + moved)

    def store(self, node: Node, editor: Editor) -> tuple[str, ...] | None:
        """The inputs of ``node`` with these weights; None when rounding them overflows.

        Weights that are what they were keep their name.
        """
        name = node.inputs[1]
        old = editor.tensors[name].constant()
        with np.errstate(over="ignore"):
            weights, bias = self.weights.astype(old.dtype), self.bias.astype(old.dtype)
        if np.isinf(weights).any() or np.isinf(bias).any():
            return None
        bias_name = editor.add_constant(f"{name}.folded_bias", bias)
        if not np.array_equal(weights, old, equal_nan=True):
            name = editor.add_constant(f"{name}.folded", weights)
        return (node.inputs[0], name, bias_name)


def scale_writer(writer: int, reader: int, pair: ScaleShift, editor: Editor) -> bool:
    """Let the Conv or Dense at ``writer`` do what the node at ``reader``, ``pair``, does behind it.

    False, and nothing changed, where its weights do not allow that.
    """
    node = editor.node(writer)
    old = Weights.of(node, editor)
    new, attrs = old.scale_outputs(node, *pair) if old else (None, {})
    inputs = new.store(node, editor) if new else None
    if inputs is None:
        return False
    epilogue = editor.node(reader).epilogue
    editor.absorb(writer, reader, inputs=inputs, attrs=attrs, epilogue=epilogue)
    return True
