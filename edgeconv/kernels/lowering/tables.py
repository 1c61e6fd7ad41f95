"""Functions of one int8 to one int8 as the 256 bytes that they are, computed from what they mean.

The argument stands for a real number, exactly; functions that are rational are computed in
rationals, others in float64, which is 2^-29 of float32's error off.  What a model quantises in
between is rounded there, ties to even, and the result once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import LARGEST, NONE, Activation
from edgeconv.ir.choice import Blob
from edgeconv.ir.encoding import INT8, Encoding
from edgeconv.ir.pointwise import Applied, Combined, Pointwise
from edgeconv.ir.requantisation import EXACT, TFLITE
from edgeconv.kernels.lowering.activations import evaluate
from edgeconv.kernels.lowering.tflite_tables import tflite_table

Bytes = npt.NDArray[np.int8]
Numbers = list[Fraction]
RESULTS = 256
_UNSURE = 1e-12  # of a quotient: many times what its roundings are off by
_LARGEST_SURE = 2.0**31


class NoTableError(Exception):
    """A function that is infinite, or not a number, somewhere."""


def of_activations(*functions: Activation) -> Pointwise:
    """One after the other."""
    taken = [function for function in functions if function != NONE]
    return Pointwise(tuple(Applied(function, i) for i, function in enumerate(taken)))


def rounded(function: Pointwise, last: Activation) -> Pointwise:
    """``function``, and ``last`` of its result."""
    return Pointwise((*function.steps, Applied(last, len(function.steps))))


def table_of(
    function: Pointwise, x: Encoding, y: Encoding, requantise: str = EXACT
) -> Bytes | None:
    """What ``function`` makes of the int8 numbered as uint8, of numbers ``x`` to numbers ``y``;
    None where it has no finite value.  ``requantise``: how results are rounded, a row of
    `ARITHMETICS`."""
    return _TABLES[requantise](function, x, y)


@lru_cache(maxsize=1024)  # networks are priced again and again
def _exact_table(function: Pointwise, x: Encoding, y: Encoding) -> Bytes | None:
    try:
        found = results_of(function, x)
    except NoTableError:
        return None
    whole = [min(max(q + y.zero[0], y.low), y.high) for q in multiples(found, y.scale[0])]
    return np.array(whole, np.int8)


_TABLES: Mapping[str, Callable[[Pointwise, Encoding, Encoding], Bytes | None]] = {
    EXACT: _exact_table,
    TFLITE: tflite_table,
}


def results_of(function: Pointwise, x: Encoding) -> Numbers:
    """The numbers that ``function`` makes of those of ``x``, by the argument as uint8.  Raises
    NoTableError."""
    stored = np.arange(RESULTS).astype(np.uint8).view(np.int8).astype(int)
    scale = Fraction(x.scale[0])
    values = [[(int(q) - x.zero[0]) * scale for q in stored]]
    for made in function.steps:
        if isinstance(made, Applied):
            values.append(_applied(made.function, values[made.of]))
        else:
            values.append(_combined(made, values))
    return values[-1]


def multiples(values: Numbers, scale: float) -> list[int]:
    """How many of ``scale`` each of ``values`` is, rounded, halves to even.

    In float64, which is off by three roundings, two of operands and one of the quotient, where that
    is far enough from halves to say: rationals take a hundred times as long.
    """
    try:
        numbers = np.array([float(value) for value in values])
    except OverflowError:  # beyond float64
        return [round(value / Fraction(scale)) for value in values]
    with np.errstate(all="ignore"):
        near = numbers / scale
        clear = np.abs(near - np.floor(near) - 0.5) > _UNSURE * (1 + np.abs(near))
    sure = clear & (np.abs(near) < _LARGEST_SURE)  # neither of what is infinite or no number
    return [
        int(quotient) if known else round(value / Fraction(scale))
        for value, quotient, known in zip(
            values, np.rint(near).tolist(), sure.tolist(), strict=True
        )
    ]


def bytes_blob(name: str, table: Bytes) -> Blob:
    """A table of the weight image."""
    return Blob(name, RESULTS, lambda: table.astype(np.float32), storage=INT8)


def floats_blob(name: str, table: Bytes, y: Encoding) -> Blob:
    """The numbers that it stands for."""
    return Blob(name, RESULTS, lambda: decoded(table, y))


def decoded(table: Bytes, y: Encoding) -> npt.NDArray[np.float32]:
    """As DequantizeLinear has them."""
    whole = table.astype(np.float32) - np.float32(y.zero[0])
    return np.asarray(whole * np.float32(y.scale[0]), np.float32)


def _grid(function: Activation, x: Numbers) -> Numbers:
    spacing = Fraction(function.alpha)
    low, high = round(function.beta), round(function.gamma)
    return [min(max(q, low), high) * spacing for q in multiples(x, function.alpha)]


def _leaky(function: Activation, x: Numbers) -> Numbers:
    slope = Fraction(function.alpha)
    return [value * slope if value < 0 else value for value in x]


def _clip(function: Activation, x: Numbers) -> Numbers:
    if function.alpha == math.inf or function.beta == -math.inf:
        raise NoTableError
    ends = (min(max(bound, -LARGEST), LARGEST) for bound in (function.alpha, function.beta))
    low, high = map(Fraction, ends)
    return [min(max(value, low), high) for value in x]


_RATIONAL: Mapping[str, Callable[[Activation, Numbers], Numbers]] = {
    "abs": lambda f, x: [abs(value) for value in x],
    "clip": _clip,
    "grid": _grid,
    "leaky_relu": _leaky,
    "neg": lambda f, x: [-value for value in x],
    "none": lambda f, x: x,
    "relu": lambda f, x: [max(value, Fraction(0)) for value in x],
    "sign": lambda f, x: [Fraction(-f.alpha if value < 0 else f.alpha) for value in x],
}

_KINDS: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "min": min,
    "max": max,
    "prelu": lambda a, b: a * b if a < 0 else a,
}
COMBINED = frozenset(_KINDS)  # kinds of a Binary node that a table may contain


def _applied(function: Activation, x: Numbers) -> Numbers:
    rational = function.kind == "clip" or math.isfinite(function.alpha + function.beta)
    if function.kind in _RATIONAL and rational:
        return _RATIONAL[function.kind](function, x)
    with np.errstate(all="ignore"):
        near = np.asarray(evaluate(function, np.array(x, np.float64)), np.float64)
    if not np.isfinite(near).all():
        raise NoTableError
    return [Fraction(float(value)) for value in near]


def _combined(made: Combined, values: list[Numbers]) -> Numbers:
    try:
        a, b = (
            values[operand] if isinstance(operand, int) else [Fraction(operand)] * RESULTS
            for operand in (made.a, made.b)
        )
        return [_KINDS[made.kind](p, q) for p, q in zip(a, b, strict=True)]
    except (ArithmeticError, ValueError) as error:  # by 0, or of what is no number
        raise NoTableError from error
