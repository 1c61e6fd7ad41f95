"""Channels equalised where that disturbs the outputs less: pair after pair, by trial."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from edgeconv.base.progress import Progress, Share, no_progress
from edgeconv.ir.filters import Filters
from edgeconv.search.calibration.inference import InferenceEngine, Rounding
from edgeconv.search.calibration.inputs import rows_of
from edgeconv.search.calibration.rounding import RECIPES, round_layer
from edgeconv.search.calibration.samples import Samples
from edgeconv.search.calibration.sqnr import Baseline
from edgeconv.search.quantising.equalisation import SHARES, Pair, pairs, scaled, scales
from edgeconv.search.quantising.ranges import between
from edgeconv.search.quantising.rewrite import FORM

Doubles = npt.NDArray[np.float64]
_GAIN = 0.98  # of the noise, above which a pair stays as it is


def equalised(
    engine: InferenceEngine,
    samples: Samples,
    baseline: Baseline,
    layers: Collection[str],
    tensors: Collection[str],
    progress: Progress = no_progress,
) -> dict[str, Filters]:
    """Filters with which the network computes the same, better rounded.

    ``samples``: that ranges are taken from; ``baseline``: on which noise is measured.  ``layers``:
    those whose filters are rounded, ``tensors``: what is rounded of results.
    """
    found = [
        pair
        for pair in pairs(engine.graph)
        if {pair.first, pair.second} <= set(layers) and set(pair.tensors) & set(tensors)
    ]
    own = _ranges(engine, samples, found, progress)
    given: dict[str, Filters] = {}
    for number, pair in enumerate(found):
        progress(Share(f"equalising the channels of {pair.tensors[0]}", number, len(found)))
        given |= _best(pair, own, engine, baseline, given, tensors)
    return given


def _best(
    pair: Pair,
    ranges: Mapping[str, tuple[Doubles, Doubles]],
    engine: InferenceEngine,
    baseline: Baseline,
    given: Mapping[str, Filters],
    tensors: Collection[str],
) -> dict[str, Filters]:
    """Filters of both layers, where one way to scale them is better than none."""
    first, second = engine.layers[pair.first], engine.layers[pair.second]
    one, other = (given.get(name) or engine.parameters(name) for name in (pair.first, pair.second))
    rounded = [name for name in pair.tensors if name in tensors]

    def noise(made: tuple[Filters, Filters], by: Doubles) -> float:
        low, high = ranges[pair.first]
        grid = between(float((low / by).min()), float((high / by).max()))
        grids: dict[str, Rounding] = dict.fromkeys(rounded, grid)
        near = dict(given)
        for node, filters in zip((first, second), made, strict=True):
            rows = rows_of(node, engine.graph)
            near[node.name] = round_layer(filters, rows, FORM, None, RECIPES["+ units"]).parameters
        return baseline.noise(near, grids)

    low, high = ranges[pair.first]
    largest = np.maximum(-low, high)
    least = _GAIN * noise((one, other), np.ones_like(low))
    best: dict[str, Filters] = {}
    for share in SHARES:
        by = scales(first, largest, second, other, share)
        made = scaled(one, other, by, second)
        if (found := noise(made, by)) < least:
            least, best = found, {pair.first: made[0], pair.second: made[1]}
    return best


def _ranges(
    engine: InferenceEngine, samples: Samples, found: list[Pair], progress: Progress
) -> dict[str, tuple[Doubles, Doubles]]:
    """By the first layer of each pair: the lowest and the highest number of every channel, 0
    included."""
    names = {pair.first: pair.tensors[0] for pair in found}
    ends: dict[str, tuple[Doubles, Doubles]] = {}
    for number, sample in enumerate(samples):
        progress(Share("looking at the range of every channel", number, len(samples)))
        values = engine.run(sample, capture=names.values())
        for layer, name in names.items():
            array = values[name].astype(np.float64)
            others = (0, *range(2, array.ndim))
            low, high = ends.get(layer, (np.zeros(array.shape[1]), np.zeros(array.shape[1])))
            ends[layer] = (
                np.minimum(low, array.min(axis=others)),
                np.maximum(high, array.max(axis=others)),
            )
    return ends
