"""TensorFlow Lite's functions of one int8 to one int8, as the 256 bytes that they are.

Some are tables there too, of float32 numbers rounded with halves away from 0; others are products
with factors as `twice.quantised_multiplier` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import Activation
from edgeconv.ir.encoding import Encoding
from edgeconv.ir.pointwise import Applied, Pointwise
from edgeconv.ir.requantisation.double_rounding import halved, multiplied, quantised_multiplier
from edgeconv.kernels.lowering.activations import evaluate

Bytes = npt.NDArray[np.int8]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
_ONE = np.float32(1)
_FAR = 2.0**20  # beyond all integers of eight bits
_FINE = 128  # steps of the fixed point of 16 bits in a step of eight bits
_SHORT_BITS, _HALF_WORD = 15, 1 << 15


@lru_cache(maxsize=1024)
def tflite_table(function: Pointwise, x: Encoding, y: Encoding) -> Bytes | None:
    """What TensorFlow Lite makes of the int8 numbered as uint8, of numbers ``x`` to numbers ``y``,
    for a function and the rounding behind it; None where its kernel is not known here, or is one of
    several that differ."""
    steps = [step.function for step in function.steps if isinstance(step, Applied)]
    if len(steps) != len(function.steps) or not steps or steps[-1].kind != "grid":
        return None
    made = _FUNCTIONS.get(steps[0].kind) if len(steps) == 2 else None
    if len(steps) == 1:
        made = _requantised
    q = np.arange(256).astype(np.uint8).view(np.int8).astype(np.int64) - x.zero[0]
    whole = made(steps[0], q, x.scale[0], y.scale[0]) if made else None
    if whole is None:
        return None
    low, high = round(steps[-1].beta), round(steps[-1].gamma)
    bounded = np.clip(np.clip(whole, low, high) + y.zero[0], y.low, y.high)
    return bounded.astype(np.int8)


def _requantised(last: Activation, q: Integers, x: float, y: float) -> Integers | None:
    """QUANTIZE, and RELU and its like, whose factor is a quotient of float32: where that is
    different, nothing tells which one it is."""
    del last
    exact, short = (multiplied(q, *quantised_multiplier(f)) for f in (x / y, _quotient(x, y)))
    return exact if np.array_equal(exact, short) else None


def _leaky(function: Activation, q: Integers, x: float, y: float) -> Integers | None:
    slope = np.float32(x) * np.float32(function.alpha) / np.float32(y)
    below = multiplied(q, *quantised_multiplier(float(slope)))
    above = multiplied(q, *quantised_multiplier(_quotient(x, y)))
    return np.where(q >= 0, above, below)


def _absolute(function: Activation, q: Integers, x: float, y: float) -> Integers | None:
    """ABS."""
    del function
    return multiplied(np.abs(q), *quantised_multiplier(_quotient(x, y)))


def _elu(x: Floats) -> Floats:
    return np.where(x < 0, np.expm1(np.minimum(x, 0).astype(np.float64)), x).astype(np.float32)


def _quotient(x: float, y: float) -> float:
    return float(np.float32(x) / np.float32(y))


def _looked_up(
    of: Callable[[Floats], Floats], scale: float | None = None
) -> Callable[[Activation, Integers, float, float], Integers | None]:
    """A table that TensorFlow Lite makes of a function of float32.  ``scale``: that of the result,
    where kernels differ of another one: some assume this one."""

    def table(function: Activation, q: Integers, x: float, y: float) -> Integers | None:
        del function
        if scale is not None and y != scale:
            return None
        inverse = _ONE / np.float32(y)
        scaled = of(np.float32(x) * q.astype(np.float32)) * inverse
        away: Integers = np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int64)
        return away

    return table


def _exp(x: Floats) -> Floats:
    """Rounded once, as good as any library's."""
    with np.errstate(over="ignore"):
        return np.exp(x.astype(np.float64)).astype(np.float32)


def _hard_swish(function: Activation, q: Integers, x: float, y: float) -> Integers | None:
    """HARD_SWISH in fixed point of 16 bits: x times the ratio of the scales, times x / 3 brought to
    -1 and 1 and then to 0 and 1.  None of another slope, and where a step of the result is so large
    beside one of x that the kernel refuses it."""
    if (np.float32(function.alpha), function.beta) != (np.float32(1 / 6), 0.5):
        return None
    fine = np.float32(x) / np.float32(_FINE)
    multiplier, right = quantised_multiplier(float(fine / np.float32(y)))
    to_third, left = quantised_multiplier(float(fine / (np.float32(3) / np.float32(_HALF_WORD))))
    if right < 0:
        return None
    wide = q * _FINE
    ratio = _short_word(wide, multiplier)
    third = _short(wide << max(-left - 1, 0))  # but for the last bit
    third = _short(_short_word(third, to_third) << (left < 0))
    third = halved(third, max(left, 0))
    share = (third + _HALF_WORD) >> 1
    product = share * ratio
    word = np.sign(product) * (np.abs(product) >> _SHORT_BITS)  # towards 0
    return halved(word, right)


def _short(x: Integers) -> Integers:
    bounded: Integers = np.clip(x, -_HALF_WORD, _HALF_WORD - 1)
    return bounded


def _short_word(x: Integers, multiplier: int) -> Integers:
    """The upper half of twice a product of 16 bits, of a multiplier of 31 bits brought to 15;
    rounded to the nearest, halves up."""
    short = min((multiplier + (1 << 15)) >> 16, _HALF_WORD - 1)
    found: Integers = (x * short + (1 << (_SHORT_BITS - 1))) >> _SHORT_BITS
    return found


def _bounded(function: Activation, q: Integers, x: float, y: float) -> Integers | None:
    """RELU and its like."""
    low, high = (0.0, np.inf) if function.kind == "relu" else (function.alpha, function.beta)
    whole = multiplied(q, *quantised_multiplier(_quotient(x, y)))
    bounds = np.clip(np.array([low, high], np.float32) / np.float32(y), -_FAR, _FAR)
    least, most = np.trunc(bounds + np.copysign(0.5, bounds)).astype(np.int64)
    bounded: Integers = np.minimum(np.maximum(whole, least), most)
    return bounded


_FUNCTIONS: Mapping[str, Callable[[Activation, Integers, float, float], Integers | None]] = {
    "abs": _absolute,
    "clip": _bounded,
    "elu": _looked_up(_elu),
    "exp": _looked_up(_exp),
    "gelu": _looked_up(lambda x: evaluate(Activation("gelu"), x)),
    "gelu_tanh": _looked_up(lambda x: evaluate(Activation("gelu_tanh"), x)),
    "hard_swish": _hard_swish,
    "leaky_relu": _leaky,
    "relu": _bounded,
    "sigmoid": _looked_up(lambda x: _ONE / (_ONE + _exp(-x)), 1 / 256),
    "tanh": _looked_up(lambda x: np.tanh(x.astype(np.float64)).astype(np.float32), 1 / 128),
}
