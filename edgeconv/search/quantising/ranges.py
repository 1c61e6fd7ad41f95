"""The numbers that a tensor takes on samples, and grids of 256 numbers for them.

A grid that reaches to the largest number seen is coarse where most numbers are small.  So ends may
be drawn in: as long as what is cut off costs less than the finer steps gain, the least squared
error over the numbers seen, as Nagel et al., "A White Paper on Neural Network Quantization" (2021),
section 3.1, have it; to what all but few numbers keep to; or to where the numbers' distribution on
the grid tells most of theirs, the least Kullback-Leibler divergence (Migacz, "8-bit Inference with
TensorRT", 2017).  Which of them is best the outputs say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgeconv.base.progress import Progress, Share, no_progress
from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.encoding import INT8
from edgeconv.ir.filters import Filters
from edgeconv.kernels.lowering.activations import evaluate
from edgeconv.search.calibration.inference import InferenceEngine
from edgeconv.search.calibration.samples import Samples

Floats = npt.NDArray[np.float32]
KEPT = 1 << 15  # numbers of a tensor that the error is taken over
# Ends of a grid that are tried, relative to the largest number seen.
_CUTS = tuple(np.geomspace(1.0, 0.2, 33))
_ROUNDS = 2  # over both ends
_RARE = 1e-4  # of all numbers, on either side: what `common` cuts off
_BINS = 2048  # of a histogram
_NONE = 1e-9  # share of numbers in a bin that has none
_LEAST = 2.0**-96  # of a scale: a tensor of zeros has one too


@dataclass(frozen=True, slots=True, eq=False)
class ObservedRange:
    """The numbers that a tensor took on samples.  ``low`` and ``high``: of all numbers and 0.
    ``values``: some of them, drawn at random."""

    low: float
    high: float
    values: Floats


def see(
    engine: InferenceEngine,
    samples: Samples,
    names: Sequence[str],
    *,
    parameters: Mapping[str, Filters] | None = None,
    kept_values: int = KEPT,
    progress: Progress = no_progress,
) -> dict[str, ObservedRange]:
    """What the tensors ``names`` are in float32, with other filters than the network's own where
    ``parameters`` has some.  ``kept_values``: numbers of each that are kept."""
    sums = RangeSums(names, len(samples), kept_values)
    for number, found in enumerate(engine.run_each(samples, parameters=parameters, capture=names)):
        progress(Share("looking at the range of every tensor", number, len(samples)))
        sums.add(found, number)
    return sums.ranges()


class RangeSums:
    """The numbers that the tensors ``names`` take on so many ``samples``, being collected;
    ``kept_values`` of each are kept."""

    def __init__(self, names: Sequence[str], samples: int, kept_values: int = KEPT) -> None:
        self._kept: dict[str, list[Floats]] = {name: [] for name in names}
        self._ends = dict.fromkeys(names, (0.0, 0.0))
        self._each = -(-kept_values // max(samples, 1))

    def add(self, found: Mapping[str, Floats], number: int) -> None:
        """The tensors of another sample, by whose ``number`` those kept are drawn."""
        rng = np.random.default_rng(number)
        for name, kept in self._kept.items():
            values = found[name].reshape(-1)
            low, high = self._ends[name]
            self._ends[name] = min(low, float(values.min())), max(high, float(values.max()))
            some = values.size > self._each
            kept.append(values[rng.integers(0, values.size, self._each)] if some else values.copy())

    def ranges(self) -> dict[str, ObservedRange]:
        """What was seen."""
        return {
            name: ObservedRange(*self._ends[name], np.concatenate(kept))
            for name, kept in self._kept.items()
        }


def together(seen: Iterable[ObservedRange]) -> ObservedRange:
    """The range of tensors that share a grid."""
    all_seen = list(seen)
    return ObservedRange(
        min(one.low for one in all_seen),
        max(one.high for one in all_seen),
        np.concatenate([one.values for one in all_seen]),
    )


def widest(seen: ObservedRange) -> Activation:
    """The grid from the lowest to the highest number."""
    return between(seen.low, seen.high)


def nearest(seen: ObservedRange) -> Activation:
    """The grid with the least squared error, one end moved after the other."""
    low, high = seen.low, seen.high
    best, least = between(low, high), np.inf
    for _ in range(_ROUNDS):
        for ends in ([(low, high * p) for p in _CUTS], [(low * p, high) for p in _CUTS]):
            for one, other in ends:
                candidate = between(one, other)
                lost = evaluate(candidate, seen.values) - seen.values.astype(np.float64)
                error = float(np.square(lost).sum())
                if error < least:
                    best, least, low, high = candidate, error, one, other
    return best


def common(seen: ObservedRange) -> Activation:
    """The grid of all but one number in ten thousand on either side."""
    return between(_quantile(seen.values, _RARE), _quantile(seen.values, 1.0 - _RARE))


def _quantile(values: Floats, share: float) -> float:
    """What a ``share`` of ``values`` is below, as numpy's, which imports masked arrays."""
    if not values.size:
        return 0.0
    place = share * (values.size - 1)
    low = int(place)
    high = min(low + 1, values.size - 1)
    found = np.partition(values, (low, high))
    return float(found[low] + (found[high] - found[low]) * (place - low))


def informative(seen: ObservedRange) -> Activation:
    """The grid of the least Kullback-Leibler divergence from the numbers to those on it, both ends
    drawn in alike."""
    counts, edges = np.histogram(
        seen.values.astype(np.float64), _BINS
    )  # float32 may have fewer numbers
    middles = ((edges[:-1] + edges[1:]) / 2).astype(np.float32)
    grids = [between(seen.low * p, seen.high * p) for p in _CUTS]
    return min(grids, key=lambda each: _divergence(counts, middles, each))


def _divergence(counts: npt.NDArray[np.int64], middles: Floats, function: Activation) -> float:
    """The divergence of the ``counts`` of numbers near ``middles``, cut off at the ends of the
    grid, from what is left of them on it: alike within a step."""
    step = np.rint(middles / np.float32(function.alpha))
    inside = (step >= function.beta) & (step <= function.gamma)
    place = np.clip(step, function.beta, function.gamma).astype(np.int64) - int(function.beta)
    cut = np.where(inside, counts, 0).astype(np.float64)
    at_ends = np.bincount(place[~inside], counts[~inside], minlength=256)
    wanted = cut.copy()
    for end in np.flatnonzero(at_ends):  # what is cut off lies in the outermost bins
        bins = np.flatnonzero(inside & (place == end))
        if bins.size:
            wanted[bins[-1] if end else bins[0]] += at_ends[end]
    filled = (cut > 0).astype(np.float64)
    sums, bins_of = (np.bincount(place, each, minlength=256) for each in (cut, filled))
    shown = np.where(cut > 0, sums[place] / np.maximum(bins_of[place], 1.0), 0.0)
    p, q = wanted / max(wanted.sum(), 1.0), shown / max(shown.sum(), 1.0)
    both = p > 0
    return float((p[both] * np.log(p[both] / np.maximum(q[both], _NONE))).sum())


def between(low: float, high: float) -> Activation:
    """256 numbers from ``low`` to ``high``, of which 0 is one."""
    low, high = min(low, 0.0), max(high, 0.0)
    steps = INT8.high - INT8.low
    scale = float(np.float32(max((high - low) / steps, _LEAST)))
    below = min(max(round(-low / scale), 0), steps)
    return grid(scale, float(-below), float(steps - below))


Range = Callable[[ObservedRange], Activation]
RANGES: Mapping[str, Range] = {
    "to the largest": widest,
    "least squared error": nearest,
    "99.98 % of numbers": common,
    "least divergence": informative,
}
ALIKE = (widest, common, nearest)  # those that take few runs of the network, or none, to compare
