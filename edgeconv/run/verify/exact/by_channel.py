"""Tensors whose numbers are whole multiples of one scale, or of one for each channel."""

from __future__ import annotations

import numpy as np

from edgeconv.ir.requantisation.exact_reals import Integers, Real, Reals, Term
from edgeconv.run.verify.exact.value import NoExactValueError, Value


def single(x: Value) -> tuple[Term, tuple[Reals, ...]]:
    """The only term of a tensor that has one scale, and its factors."""
    term = x.real.terms[0]
    alone = len(x.real.terms) == 1 and np.size(term.over) == 1 and not np.any(x.real.error)
    if not alone or int(np.reshape(term.over, -1)[0]) != 1:
        raise NoExactValueError
    if any(factor.size != 1 for factor in term.factors):
        raise NoExactValueError
    return term, tuple(factor.reshape(()) for factor in term.factors)


def by_channel(x: Value, axis: int) -> tuple[Term, tuple[Reals, ...]]:
    """The only term of a tensor that has one scale, or one for each index of ``axis``, and its
    factors of a shape that broadcasts: NaN stands where every number of a channel is 0."""
    term = x.real.terms[0]
    if all(factor.size == 1 for factor in term.factors):
        return single(x)
    alone, _ = single(Value(Real((Term(term.whole, (), term.over),), x.real.error), x.apart))
    if len(x.real.terms) > 1:
        raise NoExactValueError
    return alone, tuple(_of_channels(each, alone.whole, axis) for each in term.factors)


def _of_channels(factor: Reals, whole: Integers, axis: int) -> Reals:
    """``factor`` of ``whole`` as one number, or one for each index of ``axis``."""
    if factor.size == 1:
        return factor.reshape(())
    others = tuple(i for i in range(whole.ndim) if i != axis)
    known = np.where(whole != 0, np.broadcast_to(factor, whole.shape), np.nan)
    least: Reals = np.fmin.reduce(known, others, keepdims=True)
    if not np.array_equal(least, np.fmax.reduce(known, others, keepdims=True), equal_nan=True):
        raise NoExactValueError
    return least


def or_one(factor: Reals) -> Reals:
    """1 where nothing counts in it."""
    return np.where(np.isnan(factor), 1.0, factor)


def of_filters(factor: Reals, groups: int, out_c: int, axis: int) -> Reals:
    """What the sums of every output channel count in, (out_c, 1 ...), of factors of the channels
    that they read."""
    if factor.size == 1:
        return factor
    by_group = factor.reshape(groups, -1)
    least, most = np.fmin.reduce(by_group, 1), np.fmax.reduce(by_group, 1)
    if not np.array_equal(least, most, equal_nan=True):
        raise NoExactValueError
    return np.repeat(or_one(least), out_c // groups).reshape(-1, *(1,) * (factor.ndim - axis - 1))
