"""Element-wise functions of one variable, the ones an epilogue may apply in registers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# What float32 holds: ONNX's default bounds of Clip, which infinities are brought to.
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Activation:
    """``kind`` names an entry EC_ACT_<KIND> of runtime_c/kernels/ec_activation.h.

    ``alpha``, ``beta`` and ``gamma`` mean, per kind:

    ============== ======================================================
    none           x
    relu           max(x, 0)
    clip           min(max(x, alpha), beta)
    leaky_relu     x < 0 ? alpha * x : x
    hard_sigmoid   min(max(alpha * x + beta, 0), 1)
    hard_swish     x * hard_sigmoid(x; alpha, beta)
    sigmoid        1 / (1 + exp(-x))
    silu           x * sigmoid(x)
    tanh           tanh(x)
    gelu           x / 2 * (1 + erf(x / sqrt(2)))
    gelu_tanh      x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
    elu            x < 0 ? alpha * (exp(x) - 1) : x
    softplus       log(1 + exp(x))
    grid           min(max(rint(x / alpha), beta), gamma) * alpha, ties to even
    sign           x < 0 ? -alpha : alpha; ``beta`` and ``gamma`` are -1 and 1, as of a grid
    erf, exp, log, sqrt, abs, neg, reciprocal, floor, ceil, round   the function of that name
    ============== ======================================================
    """

    kind: str = "none"
    alpha: float = 0.0
    beta: float = 0.0
    gamma: float = 0.0

    def __str__(self) -> str:
        if self.kind == "grid":
            return f"grid({self.alpha:g}, {self.beta:g}, {self.gamma:g})"
        if self.kind == "sign":
            return f"sign({self.alpha:g})"
        if self.kind in ("clip", "hard_sigmoid", "hard_swish"):
            return f"{self.kind}({self.alpha:g}, {self.beta:g})"
        return f"{self.kind}({self.alpha:g})" if self.kind in ("leaky_relu", "elu") else self.kind


NONE = Activation()
# Kinds of which all results are whole multiples, from ``beta`` to ``gamma``, of ``alpha``.
ONTO_GRIDS = frozenset({"grid", "sign"})


def bounds(function: Activation) -> tuple[float, float] | None:
    """(low, high) of an activation that is min(max(x, low), high), infinite on a side without a
    bound; None for the others."""
    if function.kind == "relu":
        return 0.0, math.inf
    if function.kind == "clip":
        return function.alpha, function.beta
    return None


def clamp(low: float, high: float) -> Activation:
    """The activation min(max(x, low), high)."""
    if (low, high) == (-math.inf, math.inf):
        return NONE
    return Activation("relu") if (low, high) == (0.0, math.inf) else Activation("clip", low, high)


def grid(spacing: float, low: float, high: float) -> Activation:
    """QuantizeLinear followed by DequantizeLinear of one scale and zero point.

    The multiples ``low`` to ``high`` of ``spacing``; both are the bounds of the integer type
    less the zero point.
    """
    return Activation("grid", spacing, low, high)


def sign(size: float) -> Activation:
    """``size`` where x is at least 0, -``size`` elsewhere: QONNX's BipolarQuant."""
    return Activation("sign", size, -1.0, 1.0)
