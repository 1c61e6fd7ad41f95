"""What TensorFlow Lite's kernels of int8 and int16 make of two tensors, what is no sum and no
product: PRELU, SQUARED_DIFFERENCE and LEAKY_RELU.

With a and b integers less their zero points, and factors f as `double_rounding` has them, which may
be 1 or more here:

    PRELU                a f1 where a >= 0, else (a b) f2
    LEAKY_RELU           a f1 where a >= 0, else a f2
    SQUARED_DIFFERENCE   ((a 2^left) fa - (b 2^left) fb)^2 f,  left 7 of int8 and 0 of int16
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.requantisation.double_rounding import multiplied, quantised_multiplier
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.tflite_short import Doubled

_LEFT = {8: 7, 16: 0}  # bits by which operands of a squared difference are shifted up
_WORD = 1 << 31
_SLOPE = 255  # the largest of 8 bits, less the zero point
Factor = tuple[int, int]


def prelu_factors(x: float, slope: float, y: float) -> tuple[Factor, Factor]:
    """f1 and f2 of PRELU, of the scales of its operands and the result."""
    return quantised_multiplier(x / y), quantised_multiplier(x * slope / y)


def leaky_factors(x: float, alpha: float, y: float) -> tuple[Factor, Factor]:
    """f1 and f2 of LEAKY_RELU, in float32."""
    scale, result = np.float32(x), np.float32(y)
    below = scale * np.float32(alpha) / result
    return quantised_multiplier(float(scale / result)), quantised_multiplier(float(below))


def square_factors(a: float, b: float, y: float, bits: int) -> tuple[int, Factor, Factor, Factor]:
    """left, fa, fb and f of SQUARED_DIFFERENCE of so many bits."""
    left, largest = _LEFT[bits], 2 * max(a, b)
    of_result = largest * largest / (4**left * y)
    of_a, of_b = (quantised_multiplier(each / largest) for each in (a, b))
    return left, of_a, of_b, quantised_multiplier(of_result)


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of such a kernel.  ``reach``: the largest number that its integers are, less the
    zero point."""

    stored: Affine
    bits: int
    reach: int

    @staticmethod
    def of(encoding: Encoding) -> Operand:
        """A tensor of one scale."""
        zero = encoding.zero[0]
        reach = max(zero - encoding.low, encoding.high - zero)
        return Operand(Affine.of(encoding), encoding.bits, reach)


def doubled_prelu(x: Operand, slope: Operand, y: Affine, low: int, high: int) -> Doubled | None:
    """PRELU; None where a factor is so large that numbers may not fit 32 bits, and of slopes of 16
    bits, whose bytes LiteRT's kernel reads as slopes of 8."""
    above, below = prelu_factors(x.stored.scale, slope.stored.scale, y.scale)
    fits = _fits(x.reach, above) and _fits(x.reach * slope.reach, below)
    if slope.reach > _SLOPE or not fits:
        return None
    return Doubled.of_words("doubled_prelu", (*above, *below), y, low, high)


def doubled_leaky(x: Operand, alpha: float, y: Affine, low: int, high: int) -> Doubled | None:
    """LEAKY_RELU likewise."""
    above, below = leaky_factors(x.stored.scale, alpha, y.scale)
    if alpha < 0 or not _fits(x.reach, above) or not _fits(x.reach, below):
        return None
    return Doubled.of_words("doubled_sides", (*above, *below), y, low, high)


def doubled_squares(a: Operand, b: Operand, y: Affine, low: int, high: int) -> Doubled | None:
    """SQUARED_DIFFERENCE likewise; None of operands of different types."""
    if a.bits != b.bits:
        return None
    left, *factors, of_result = square_factors(a.stored.scale, b.stored.scale, y.scale, a.bits)
    reach = np.array([a.reach, b.reach]) << left
    difference = int(multiplied(reach, *np.array(factors).T).sum())
    if not _fits(difference * difference, of_result):
        return None
    words = [number for factor in (*factors, of_result) for number in factor]
    return Doubled.of_words("doubled_squares", (*words, left), y, low, high)


def _fits(reach: int, factor: Factor) -> bool:
    """Numbers of up to ``reach``, shifted left as the factor has it, fit 32 bits."""
    return reach << max(-factor[1], 0) < _WORD
