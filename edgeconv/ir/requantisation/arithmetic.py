"""Which arithmetic results in integers follow: what a model says, or what TensorFlow Lite does.

Each row says what kernels compute of sums, pairs and averages so that the results are those; None
where there is no such kernel.  ``--requantise`` picks one for a network (`ir.Graph.requantise`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from edgeconv.ir.requantisation import pair, tflite, tflite_averages
from edgeconv.ir.requantisation.averages import WHOLE, Average, averages
from edgeconv.ir.requantisation.by_value import ByValue, by_value
from edgeconv.ir.requantisation.double_rounding import Twice, twice
from edgeconv.ir.requantisation.exact import Integers, Reals, Sums
from edgeconv.ir.requantisation.forms import Fixed, fixed
from edgeconv.ir.requantisation.pair import Affine, PairSum, Says, pair_sum
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
    result; ``one_sum``: those of one channel in its constants alone; ``wide``: those of int16 with
    int8. ``added``, ``multiplied``: what all pairs become of two operands, result and its bounds;
    ``product``: what products of these count in, and the spacing of the result. ``average``: of
    window sizes, operand, result and bounds; ``mean``: of all that is averaged where that is no
    pool; ``total``: of all that is summed; ``interpolation``: of what the weights of a linear
    Resize add up to. ``softmax``: of the same without sizes."""

    unit: Callable[[float, Reals, bool], Reals]
    sums: Callable[[Sums], Form | None]
    one_sum: Callable[[Sums], Fixed | Twice | None]
    wide: Callable[[Sums, Integers], Wide | None]
    added: Says
    multiplied: Says
    products: Callable[[Affine, Affine, Affine], tuple[float, float]]
    average: Callable[[tuple[int, ...], Affine, Affine, int, int], Average | None]
    mean: Callable[[int, Affine, Affine, int, int], Average | None]
    total: Callable[[int, Affine, Affine, int, int], Average | None]
    interpolation: Callable[[int, Affine, Affine, int, int], Average | None]
    softmax: Callable[[Affine, Affine, int, int], Softmax | TfliteSoftmax | None]

    def pair(self, a: Affine, b: Affine, y: Affine, low: int, high: int) -> PairSum | None:
        """The form of the sum of two tensors."""
        return pair_sum(a, b, y, low, high, self.added)

    def by_value(
        self, kind: str, a: Affine, b: Affine, y: Affine, low: int, high: int
    ) -> ByValue | None:
        """The form of a function of a kind, "add", "sub", "sub_from" or "mul", of which b is the
        same for many."""
        says = self.multiplied if kind == "mul" else self.added
        return by_value(kind, a, b, y, low, high, says)

    def product(self, a: Affine, b: Affine, y: Affine, low: int, high: int) -> Fixed | Twice | None:
        """How (a - zero_a) (b - zero_b) becomes the result, as the sum of one channel."""
        return _product(self, a, b, y, low, high)


@lru_cache(maxsize=4096)
def _product(
    says: Arithmetic, a: Affine, b: Affine, y: Affine, low: int, high: int
) -> Fixed | Twice | None:
    ends = np.outer([-128 - a.zero, 127 - a.zero], [-128 - b.zero, 127 - b.zero])
    least, most = (np.array([bound], np.int64) for bound in (ends.min(), ends.max()))
    unit, spacing = says.products(a, b, y)
    sums = Sums(np.array([unit]), np.zeros(1), least, most, spacing, y.zero, low, high)
    return says.one_sum(sums)


def _exact_unit(x: float, filters: Reals, dense: bool) -> Reals:
    del dense
    product_of_both: Reals = filters * x
    return product_of_both


def _tflite_average(
    counts: tuple[int, ...], x: Affine, y: Affine, low: int, high: int
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
        unit=_exact_unit,
        sums=lambda sums: fixed(sums) or per_channel(sums),
        one_sum=fixed,
        wide=wide,
        added=pair.added,
        multiplied=pair.multiplied,
        products=lambda a, b, y: (a.scale * b.scale, y.scale),
        average=averages,
        mean=_exact_mean,
        total=lambda count, x, y, low, high: None,
        interpolation=_exact_mean,
        softmax=softmax,
    ),
    TFLITE: Arithmetic(
        unit=lambda x, filters, dense: tflite.units(x, filters, dense=dense),
        sums=twice,
        one_sum=twice,
        wide=tflite_wide,
        added=tflite.added,
        multiplied=tflite.multiplied_pairs,
        products=lambda a, b, y: (tflite.product_factor(a, b, y), 1.0),
        average=_tflite_average,
        mean=tflite_averages.mean,
        total=tflite_averages.total,
        interpolation=tflite_averages.interpolated,
        softmax=tflite_softmax,
    ),
}
NAMES = tuple(ARITHMETICS)
