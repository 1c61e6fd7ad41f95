"""What TensorFlow Lite's kernels of int8 make of sums, products and averages of two tensors.

All of it is integers, of factors as `twice.quantised_multiplier` has them; some of these are
quotients of float32 numbers, others of float64, as the kernels' own set-up divides.  Functions of
two int8 are given for all pairs, of which `pair` and `by_value` prove what kernels compute.
"""

from __future__ import annotations

import numpy as np

from edgeconv.ir.requantisation.double_rounding import multiplied, quantised_multiplier
from edgeconv.ir.requantisation.exact import Integers, Reals
from edgeconv.ir.requantisation.pair import STORED, Affine

_LEFT = 20  # bits by which operands of a sum are shifted up


def units(x: float, filters: Reals, *, dense: bool) -> Reals:
    """What sums count in: of a fully connected layer a float32 product."""
    if dense:
        return (np.float32(x) * filters.astype(np.float32)).astype(np.float64)
    product: Reals = filters * x
    return product


def added(a: Affine, b: Affine, result: Affine, low: int, high: int) -> Integers | None:
    """ADD and, of a negative scale, SUB, of every pair: a from -128 to 127 (first axis), b (second
    axis).  Of a scale that is 0 QUANTIZE of the other operand.  None where a factor is too large:
    that of the result has to be below 1."""
    of_a, of_b = (STORED - a.zero)[:, None], (STORED - b.zero)[None, :]
    if b.scale == 0:
        factor = quantised_multiplier(a.scale / result.scale)
        return _stored(multiplied(of_a + 0 * of_b, *factor), result, low, high)
    found = summed((of_a, of_b), (a.scale, b.scale), result.scale)
    return None if found is None else _stored(found, result, low, high)


def summed(
    whole: tuple[Integers, Integers],
    scales: tuple[float, float],
    result: float,
    left: int = _LEFT,
) -> Integers | None:
    """Integers less their zero points, added up in steps of ``result``, as ADD does and of a
    negative scale SUB; None where the factor of the sum is not below 1.  ``left``: bits by which
    operands are shifted up."""
    largest = 2 * max(map(abs, scales))
    of_a, of_b = (
        multiplied(each << left, *quantised_multiplier(abs(scale) / largest))
        * (1 if scale > 0 else -1)
        for each, scale in zip(whole, scales, strict=True)
    )
    multiplier, shift = quantised_multiplier(largest / (2**left * result))
    return None if shift < 0 else multiplied(of_a + of_b, multiplier, shift)


def multiplied_pairs(a: Affine, b: Affine, result: Affine, low: int, high: int) -> Integers | None:
    """MUL, of every pair likewise."""
    multiplier, shift = quantised_multiplier(product_factor(a, b, result))
    if shift < 0:
        return None
    products = (STORED - a.zero)[:, None] * (STORED - b.zero)[None, :]
    return _stored(multiplied(products, multiplier, shift), result, low, high)


def product_factor(a: Affine, b: Affine, result: Affine) -> float:
    """The factor of MUL, in float32."""
    scales = (np.float32(each.scale) for each in (a, b, result))
    first, second, third = scales
    return float(first * second / third)


def _stored(whole: Integers, result: Affine, low: int, high: int) -> Integers:
    bounded: Integers = np.clip(whole + result.zero, low, high)
    return bounded
