"""The kinds of `Activation`, a row each: meaning, cost, and the C headers of what they compute.

Another function of one variable is a row here, a case of ec_activation.h, and an entry of
``kernels/ops/unary.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import Activation

Values = npt.NDArray[Any]

_EXP = ("ec_poly.h", "ec_exp.h")
_EXPM1 = (*_EXP, "ec_expm1.h")
_SIGMOID = (*_EXP, "ec_sigmoid.h")
_ERF = (*_EXP, "ec_erf.h")


@dataclass(frozen=True, slots=True)
class Function:
    """A kind of activation.  ``value``: the function in numpy, given an activation for its
    parameters.

    ``slots``: vector instructions, counted in ec_activation.h and the headers that it uses; a
    division or a square root counts as four.  ``headers``: of functions without libm, in order of
    inclusion.  ``never_negative``: no result is, NaN aside.  ``idempotent``: f(f(x)) == f(x).
    ``bounds``: maxima and minima are all or most of it (``ec_bounds_numbers``).
    """

    slots: int
    value: Callable[[Values, Activation], Any]
    headers: tuple[str, ...] = ()
    never_negative: bool = False
    idempotent: bool = False
    bounds: bool = False


def _grid(x: Values, f: Activation) -> Any:
    whole = np.rint(x.astype(np.float32) / np.float32(f.alpha))  # as kernels and ONNX divide
    return np.clip(whole, f.beta, f.gamma) * f.alpha


def _gelu_tanh(x: Values, f: Activation) -> Any:
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


_erf = np.vectorize(math.erf, otypes=[np.float64])

FUNCTIONS: Mapping[str, Function] = {
    "none": Function(0, lambda x, f: x),
    "relu": Function(1, lambda x, f: np.maximum(x, 0), never_negative=True, bounds=True),
    "clip": Function(2, lambda x, f: np.minimum(np.maximum(x, f.alpha), f.beta), bounds=True),
    "leaky_relu": Function(3, lambda x, f: np.where(x < 0, f.alpha * x, x)),
    "hard_sigmoid": Function(
        3, lambda x, f: np.clip(f.alpha * x + f.beta, 0, 1), never_negative=True, bounds=True
    ),
    "hard_swish": Function(4, lambda x, f: x * np.clip(f.alpha * x + f.beta, 0, 1), bounds=True),
    "abs": Function(1, lambda x, f: np.abs(x), never_negative=True, idempotent=True),
    "neg": Function(1, lambda x, f: -x),
    "floor": Function(3, lambda x, f: np.floor(x), idempotent=True),
    "ceil": Function(5, lambda x, f: np.ceil(x), idempotent=True),
    "round": Function(1, lambda x, f: np.round(x), idempotent=True),
    "grid": Function(8, _grid),
    "sign": Function(2, lambda x, f: np.where(x < 0, -f.alpha, f.alpha), idempotent=True),
    "sqrt": Function(4, lambda x, f: np.sqrt(x)),
    "reciprocal": Function(4, lambda x, f: 1 / x),
    "exp": Function(17, lambda x, f: np.exp(x), _EXP, never_negative=True),
    "log": Function(22, lambda x, f: np.log(x), ("ec_poly.h", "ec_log.h")),
    "sigmoid": Function(22, lambda x, f: 1 / (1 + np.exp(-x)), _SIGMOID, never_negative=True),
    "silu": Function(23, lambda x, f: x / (1 + np.exp(-x)), _SIGMOID),
    "gelu_tanh": Function(27, _gelu_tanh, _SIGMOID),
    "elu": Function(
        22, lambda x, f: np.where(x < 0, f.alpha * np.expm1(np.minimum(x, 0)), x), _EXPM1
    ),
    "tanh": Function(28, lambda x, f: np.tanh(x), (*_EXPM1, "ec_tanh.h")),
    "erf": Function(29, lambda x, f: _erf(x), _ERF),
    "gelu": Function(32, lambda x, f: x / 2 * (1 + _erf(x / math.sqrt(2))), _ERF),
    "softplus": Function(
        43,
        lambda x, f: np.logaddexp(0, x),
        (*_EXP, "ec_log.h", "ec_softplus.h"),
        never_negative=True,
    ),
}


def evaluate(activation: Activation, x: Values) -> Any:
    """``activation`` of every element of ``x``."""
    return FUNCTIONS[activation.kind].value(x, activation)
