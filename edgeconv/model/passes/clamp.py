"""What two activations in a row amount to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgeconv.ir.activation import Activation, bounds, clamp
from edgeconv.ir.grids import image
from edgeconv.kernels.lowering.activations import FUNCTIONS


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
    if first.kind == "grid" and two is not None:
        return image(first, then)
    if first.kind == then.kind == "grid" and first.alpha == then.alpha:
        low, high = (min(max(value, then.beta), then.gamma) for value in (first.beta, first.gamma))
        return replace(first, beta=low, gamma=high)
    return first if first == then and FUNCTIONS[first.kind].idempotent else None
