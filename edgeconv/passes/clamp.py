"""Activations that only limit their argument, and what two activations in a row amount to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgeconv.ir.activation import Activation
from edgeconv.lowering.activations import FUNCTIONS

LARGEST = float(np.finfo(np.float32).max)  # ONNX's default bounds of Clip; as good as none


def bounds(function: Activation) -> tuple[float, float] | None:
    """(low, high) of an activation that is min(max(x, low), high); None for the others."""
    if function.kind == "relu":
        return 0.0, LARGEST
    if function.kind == "clip":
        return max(function.alpha, -LARGEST), min(function.beta, LARGEST)
    return None


def clamp(low: float, high: float) -> Activation:
    """The activation min(max(x, low), high)."""
    if low == 0 and high >= LARGEST:
        return Activation("relu")
    return Activation("clip", max(low, -LARGEST), min(high, LARGEST))


def _index(value: float, grid: Activation) -> float:
    """The multiple of the grid's spacing that ``value`` goes to."""
    with np.errstate(over="ignore"):
        whole = float(np.rint(np.float32(value) / np.float32(grid.alpha)))
    return min(max(whole, grid.beta), grid.gamma)


def compose(first: Activation, then: Activation) -> Activation | None:
    """One activation equal to ``then(first(x))``, when there is one."""
    one, two = bounds(first), bounds(then)
    if one is not None and two is not None:
        low, high = (min(max(value, two[0]), two[1]) for value in one)
        # with low > high, first is the constant high: min(max(x, low), high)
        return clamp(low, high)
    if first.kind == "none" or then.kind == "none":
        return then if first.kind == "none" else first
    if then.kind == "grid" and one is not None:  # to the grid goes in order: so do the bounds
        low, high = (_index(value, then) for value in one)
        return replace(then, beta=min(low, high), gamma=high)
    if first.kind == "grid" and then.kind == "relu":
        return replace(first, beta=max(first.beta, 0.0), gamma=max(first.gamma, 0.0))
    if first.kind == then.kind == "grid" and first.alpha == then.alpha:
        low, high = (min(max(value, then.beta), then.gamma) for value in (first.beta, first.gamma))
        return replace(first, beta=low, gamma=high)
    return first if first == then and FUNCTIONS[first.kind].idempotent else None
