"""Which arithmetic results in integers follow: what a model says, or what TensorFlow Lite does.

Each row says what kernels compute of sums, pairs and averages so that the results are those; None
where there is no such kernel.  ``--requantise`` picks one for a network (`ir.Graph.requantise`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgeconv.ir.requantisation import tflite, tflite_averages
from edgeconv.ir.requantisation.averages import WHOLE, Average, averages
from edgeconv.ir.requantisation.by_value import ByValue, by_value, product
from edgeconv.ir.requantisation.double_rounding import Twice, twice
from edgeconv.ir.requantisation.exact import Integers, Reals, Sums
from edgeconv.ir.requantisation.forms import Fixed, fixed
from edgeconv.ir.requantisation.pair import Affine, PairSum, pair_sum
from edgeconv.ir.requantisation.per_channel import PerChannel, per_channel
from edgeconv.ir.requantisation.softmax import Softmax, softmax
from edgeconv.ir.requantisation.tflite_softmax import TfliteSoftmax, tflite_softmax
from edgeconv.ir.requantisation.tflite_wide import tflite_wide
from edgeconv.ir.requantisation.wide import Wide, wide

EXACT, TFLITE = "exact", "tflite"
Form = Fixed | PerChannel | Twice


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """An arithmetic of results in integers.  ``unit``: what the sums of a layer count in, of the
    input's scale, the filters', and whether it is fully connected. ``sums``: how sums become a
    result; ``wide``: those of int16 with int8. ``pair``, ``product``, ``by_value``: of operands,
    result and its bounds; ``by_value`` of a kind before. ``average``: of window sizes, operand,
    result and bounds; ``mean``: of all that is averaged where that is no pool; ``interpolation``:
    of what the weights of a linear Resize add up to. ``softmax``: of the same without sizes."""

    unit: Callable[[float, Reals, bool], Reals]
    sums: Callable[[Sums], Form | None]
    wide: Callable[[Sums, Integers], Wide | None]
    pair: Callable[[Affine, Affine, Affine, int, int], PairSum | None]
    product: Callable[[Affine, Affine, Affine, int, int], Fixed | Twice | None]
    by_value: Callable[[str, Affine, Affine, Affine, int, int], ByValue | None]
    average: Callable[[Sequence[int], Affine, Affine, int, int], Average | None]
    mean: Callable[[int, Affine, Affine, int, int], Average | None]
    interpolation: Callable[[int, Affine, Affine, int, int], Average | None]
    softmax: Callable[[Affine, Affine, int, int], Softmax | TfliteSoftmax | None]


def _exact_unit(x: float, filters: Reals, dense: bool) -> Reals:
    del dense
    product_of_both: Reals = filters * x
    return product_of_both


def _tflite_pair(a: Affine, b: Affine, y: Affine, low: int, high: int) -> PairSum | None:
    return pair_sum(a, b, y, low, high, says=tflite.added)


def _tflite_by_value(
    kind: str, a: Affine, b: Affine, y: Affine, low: int, high: int
) -> ByValue | None:
    return by_value(kind, a, b, y, low, high, says=_tflite_says)


def _tflite_says(
    kind: str, a: Affine, b: Affine, y: Affine, low: int, high: int
) -> Integers | None:
    if kind == "mul":
        return tflite.multiplied_pairs(a, b, y, low, high)
    negative = {"add": (1, 1), "sub": (1, -1), "sub_from": (-1, 1)}[kind]
    of_a, of_b = (
        replace(each, scale=each.scale * sign) for each, sign in zip((a, b), negative, strict=True)
    )
    return tflite.added(of_a, of_b, y, low, high)


def _tflite_average(
    counts: Sequence[int], x: Affine, y: Affine, low: int, high: int
) -> Average | None:
    """AVERAGE_POOL_2D: of the integers themselves, whose zero point is that of the result.  Bounds
    of an activation may have changed it."""
    if x != y or high - low < 255:
        return None
    return averages(counts, WHOLE, WHOLE, low, high, away=True)


def _exact_mean(count: int, x: Affine, y: Affine, low: int, high: int) -> Average | None:
    return averages((count,), x, y, low, high)


ARITHMETICS: Mapping[str, Arithmetic] = {
    EXACT: Arithmetic(
        _exact_unit,
        lambda sums: fixed(sums) or per_channel(sums),
        wide,
        pair_sum,
        product,
        by_value,
        averages,
        _exact_mean,
        _exact_mean,
        softmax,
    ),
    TFLITE: Arithmetic(
        lambda x, filters, dense: tflite.units(x, filters, dense=dense),
        twice,
        tflite_wide,
        _tflite_pair,
        tflite.product,
        _tflite_by_value,
        _tflite_average,
        tflite_averages.mean,
        tflite_averages.interpolated,
        tflite_softmax,
    ),
}
NAMES = tuple(ARITHMETICS)
