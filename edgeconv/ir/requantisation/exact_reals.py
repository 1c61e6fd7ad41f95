"""Real numbers as whole numbers times factors: rounded as a model says, with no error at all.

What the integers of a quantised network stand for, and what is made of it by adding, multiplying
and averaging, are sums of such terms.  Arithmetic is float64 with a bound on its error, which
decides nearly all roundings; the others, ties among them, are decided in rationals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import mul

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
_EPSILON = float(np.finfo(np.float64).eps)
_BITS = 53


class UndecidedError(Exception):
    """A number is known to within an error only, and too near to a tie."""


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """``whole`` times all ``factors`` divided by ``over``, element by element.

    Factors are exact in float64, and like ``over`` > 0 of a shape that broadcasts to the shape of
    ``whole``.
    """

    whole: Integers
    factors: tuple[Reals, ...] = ()
    over: Integers | int = 1

    def near(self) -> Reals:
        """In float64."""
        product: Reals = reduce(mul, self.factors, self.whole.astype(np.float64))
        return product / self.over

    def at(self, index: tuple[int, ...]) -> Fraction:
        """The element at ``index``, exactly."""
        shape = self.whole.shape
        value = Fraction(int(self.whole[index]), int(np.broadcast_to(self.over, shape)[index]))
        for factor in self.factors:
            value *= Fraction(float(np.broadcast_to(factor, shape)[index]))
        return value


@dataclass(frozen=True, slots=True, eq=False)
class Real:
    """The sum of some terms of one shape; within ``error`` only, of a function not rational."""

    terms: tuple[Term, ...]
    error: Reals | float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        return self.terms[0].whole.shape

    def near(self) -> Reals:
        """In float64."""
        found: Reals = sum((term.near() for term in self.terms[1:]), self.terms[0].near())
        return found

    def doubt(self) -> Reals:
        """How far `near` may be from it."""
        roundings = len(self.terms) + max(len(term.factors) for term in self.terms) + 2
        size: Reals = sum((np.abs(term.near()) for term in self.terms), np.zeros(self.shape))
        return roundings * _EPSILON * size + self.error


def multiples(whole: Integers, *factors: float | Reals) -> Real:
    """``whole`` times ``factors``."""
    return Real((Term(whole, tuple(np.asarray(factor, np.float64) for factor in factors)),))


def numbers(values: npt.NDArray[np.floating]) -> Real:
    """Finite numbers of float32 or float64, as they are.  Powers of two are multiples of
    themselves, so that sums can be multiplied by them."""
    mantissa, exponent = np.frexp(values.astype(np.float64))
    bits = np.where(np.abs(mantissa) == 0.5, 1, _BITS)  # a power of two
    whole = np.ldexp(mantissa, bits).astype(np.int64)
    return multiples(whole, np.ldexp(1.0, exponent - bits))


def rounded(
    real: Real, spacing: float | Reals, zero: int | Integers, low: int, high: int
) -> Integers:
    """min(max(round(real / spacing) + zero, low), high), ties to even: QuantizeLinear.

    ``spacing`` > 0 and ``zero``: of a shape that broadcasts.  Raises UndecidedError.
    """
    spacings, zeros = (np.broadcast_to(np.asarray(each), real.shape) for each in (spacing, zero))
    quotient = real.near() / spacings
    doubt = real.doubt() / spacings + _EPSILON * np.abs(quotient)
    # Far outside of the bounds nothing is in doubt.
    quotient = np.clip(quotient, low - zeros - 2.0, high - zeros + 2.0)
    found: Integers = np.rint(quotient).astype(np.int64)
    near = np.abs(quotient - np.floor(quotient) - 0.5) <= doubt
    for index in zip(*np.nonzero(near), strict=True):
        if np.any(np.broadcast_to(real.error, real.shape)[index]):
            raise UndecidedError
        exact = sum((term.at(index) for term in real.terms), Fraction(0))
        found[index] = _clipped(round(exact / Fraction(float(spacings[index]))))
    bounded: Integers = np.clip(found + zeros, low, high)
    return bounded


def in_units(bias: Reals, unit: Reals) -> tuple[Integers, Reals]:
    """For each bias its whole units, and the bias that is left beside them.

    One that float32 cannot tell from a whole number of units, as models state them, is that number;
    others are what they are.
    """
    count = np.rint(np.clip(bias / unit, -_LARGEST, _LARGEST))
    same = np.abs(count * unit - bias) <= _SAME * np.abs(bias)
    return np.where(same, count, 0).astype(np.int64), np.where(same, 0.0, bias)


# A bias is a float32 product of an integer and a float32 scale: two roundings of 2^-24.
_SAME = 2.0**-22
_LARGEST = 2**31 - 1


def _clipped(value: int) -> int:
    """Within int64."""
    return max(-(2**62), min(2**62, value))


def joined(tensors: Sequence[Real], axis: int) -> Real:
    """Along ``axis``, one after the other."""
    count = max(len(each.terms) for each in tensors)
    terms = []
    for i in range(count):
        own = [each.terms[i] if i < len(each.terms) else _none(each.shape) for each in tensors]
        terms.append(_joined(own, axis))
    errors = [np.broadcast_to(each.error, each.shape) for each in tensors]
    return Real(tuple(terms), np.concatenate(errors, axis))


def _none(shape: tuple[int, ...]) -> Term:
    return Term(np.zeros(shape, np.int64))


def _joined(terms: Sequence[Term], axis: int) -> Term:
    depth = max(len(term.factors) for term in terms)
    one = np.ones(())
    factors = []
    for i in range(depth):
        own = [term.factors[i] if i < len(term.factors) else one for term in terms]
        factors.append(_merged(own, terms, axis))
    over = _merged([np.asarray(term.over, np.float64) for term in terms], terms, axis)
    whole = np.concatenate([term.whole for term in terms], axis)
    return Term(whole, tuple(factors), over.astype(np.int64))


def _merged(own: Sequence[Reals], terms: Sequence[Term], axis: int) -> Reals:
    """One number where all are the same one, as layers want it."""
    if all(each.size == 1 and each.reshape(-1)[0] == own[0].reshape(-1)[0] for each in own):
        return own[0].reshape(())
    shaped = zip(own, terms, strict=True)
    return np.concatenate([np.broadcast_to(e, term.whole.shape) for e, term in shaped], axis)
