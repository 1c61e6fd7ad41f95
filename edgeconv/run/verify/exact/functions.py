"""Functions of one variable, roundings among them, on exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import Activation
from edgeconv.ir.requantisation.exact_reals import (
    Integers,
    Real,
    Reals,
    Term,
    UndecidedError,
    multiples,
    numbers,
    rounded,
)
from edgeconv.kernels.lowering.activations import evaluate
from edgeconv.run.verify.exact.value import ULP, NoExactValueError, Value, constant, result_of

_BITS = 24  # of a float32
_FUNCTION = 1e-12  # of a function's size: what float64 may be off by
_NEAR = 1e-5  # what float32's polynomials may be off by, of the largest value
# Of slope 2 at most; "elu" of a slope that is no larger than this for its alpha.
_GENTLE = frozenset(
    {"elu", "erf", "gelu", "gelu_tanh", "hard_sigmoid", "hard_swish", "sigmoid", "silu", "softplus"}
    | {"tanh"}
)


def activated(function: Activation, x: Value) -> Value:
    """``function`` of a tensor."""
    kind = function.kind
    if kind == "none":
        return x
    if kind == "grid":
        return _there_and_back(function, x)
    if kind == "sign":
        return _sign(x, function.alpha)
    if kind in ("relu", "clip"):
        bounds = (0.0, np.inf) if kind == "relu" else (function.alpha, function.beta)
        return _clamped(x, *map(float, bounds))
    if kind == "leaky_relu":
        return _where(x.near() < 0, scaled(x, function.alpha), x)
    if kind in ("abs", "neg"):
        return _where(x.near() < 0, scaled(x, -1.0), x) if kind == "abs" else scaled(x, -1.0)
    if kind not in _GENTLE or (kind == "elu" and abs(function.alpha) > 2.0):
        raise NoExactValueError
    near = x.near()
    with np.errstate(all="ignore"):
        y = np.asarray(evaluate(function, near), np.float64)
    if not np.isfinite(y).all():
        raise NoExactValueError
    slope = 2.0 * x.real.doubt()
    made = Real(numbers(y).terms, slope + _FUNCTION * (1 + np.abs(y)))
    size = float(np.abs(y).max(initial=0.0))
    return Value(made, lambda: 2.0 * x.off + _NEAR * size)


def _there_and_back(function: Activation, x: Value) -> Value:
    """Quantised and dequantised."""
    low, high = round(function.beta), round(function.gamma)
    return dequantised(quantised(x, function.alpha, 0, low, high), function.alpha, 0)


def _sign(x: Value, size: float) -> Value:
    """``size``, or -``size`` of what is below 0."""
    near = x.near()
    below = near < 0
    for index in zip(*np.nonzero(np.abs(near) <= x.real.doubt()), strict=True):
        if np.any(np.broadcast_to(x.real.error, x.shape)[index]):
            raise UndecidedError
        below[index] = sum((term.at(index) for term in x.real.terms), Fraction(0)) < 0
    signs = np.where(below, -1, 1).astype(np.int64)
    return Value(multiples(signs, size), lambda: np.where(np.abs(near) <= x.off, 2 * size, 0.0))


def quantised(x: Value, spacing: float | Reals, zero: int | Integers, low: int, high: int) -> Value:
    """The integers that QuantizeLinear makes."""
    whole = rounded(x.real, spacing, zero, low, high)

    def off() -> Reals:
        near = x.near()
        room = x.off + 2 * ULP * (np.abs(near) + x.off)  # the division's rounding too
        ends = [np.rint((near + sign * room) / spacing) + zero for sign in (-1, 1)]
        least, most = (np.clip(end, low, high) for end in ends)
        return np.maximum(most - whole, whole - least)

    return Value(multiples(whole), off)


def dequantised(q: Value, scale: float | Reals, zero: int | Integers) -> Value:
    """The numbers that DequantizeLinear makes."""
    real = multiples(_whole(q) - zero, scale)
    return result_of(real, 1, lambda: q.off * scale)


def extreme(a: Value, b: Value, *, largest: bool) -> Value:
    """The larger, or the smaller, of integers of two tensors of one shape."""
    chosen = np.maximum if largest else np.minimum
    whole: Integers = chosen(_whole(a), _whole(b))
    return Value(multiples(whole), lambda: np.maximum(a.off, b.off))


def _whole(q: Value) -> Integers:
    """The integers of a tensor of those."""
    term = q.real.terms[0]
    if len(q.real.terms) > 1 or term.factors:
        raise NoExactValueError
    return term.whole


def scaled(x: Value, factor: float) -> Value:
    """Times a number of float32."""
    by = np.asarray(factor, np.float64)
    terms = (Term(term.whole, (*term.factors, by), term.over) for term in x.real.terms)
    real = Real(tuple(terms), x.real.error * abs(factor))
    return result_of(real, 1, lambda: x.off * abs(factor))


def divided(x: Value, number: float) -> Value:
    """Over a number of float32 that is not 0."""
    mantissa, exponent = math.frexp(abs(number))
    over = int(math.ldexp(mantissa, _BITS))  # a whole number, which float32 has no more bits of
    by = np.asarray(math.copysign(math.ldexp(1.0, _BITS - exponent), number))
    terms = (
        Term(term.whole, (*term.factors, by), np.asarray(term.over) * over) for term in x.real.terms
    )
    real = Real(tuple(terms), x.real.error / abs(number))
    return result_of(real, 1, lambda: x.off / abs(number))


def _where(chosen: npt.NDArray[np.bool_], x: Value, y: Value) -> Value:
    """``x`` where ``chosen``, else ``y``."""

    def masked(term: Term, mask: npt.NDArray[np.bool_]) -> Term:
        return Term(np.where(mask, term.whole, 0), term.factors, term.over)

    terms = [masked(term, chosen) for term in x.real.terms]
    terms += [masked(term, ~chosen) for term in y.real.terms]
    errors = np.where(chosen, x.real.error, y.real.error)
    # Where float32 chooses the other one, both are as near to it.
    return Value(Real(tuple(terms), errors), lambda: np.maximum(x.off, y.off))


def _clamped(x: Value, low: float, high: float) -> Value:
    """min(max(x, low), high): monotone, so that no evaluation gets farther from it."""
    near, doubt = x.near(), x.real.doubt()
    for bound, below in ((low, True), (high, False)):
        if np.isfinite(bound):
            beyond = near < bound if below else near > bound
            # A number that may be on either side is within float64's error of the bound itself.
            beyond &= np.abs(near - bound) > doubt
            if beyond.any():
                edge = constant(np.full((), bound, np.float64), x.shape)
                x = _masked_bound(x, beyond, edge, bound)
    return x


def _masked_bound(x: Value, beyond: npt.NDArray[np.bool_], edge: Value, bound: float) -> Value:
    if bound == 0.0:  # no further term
        terms = (Term(np.where(beyond, 0, t.whole), t.factors, t.over) for t in x.real.terms)
        return Value(Real(tuple(terms), np.where(beyond, 0.0, x.real.error)), lambda: x.off)
    return _where(beyond, edge, x)


def added(a: Value, b: Value) -> Value:
    """The sum of two tensors of one shape."""
    real = Real((*a.real.terms, *b.real.terms), a.real.error + b.real.error)
    return result_of(real, 1, lambda: a.off + b.off)
