"""What one pass over the samples tells: the range of every tensor, and averages of what every
layer's filters meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeconv.base.progress import Progress, Share, no_progress
from edgeconv.ir.activation import Activation
from edgeconv.search.calibration.inference import InferenceEngine
from edgeconv.search.calibration.inputs import InputSums
from edgeconv.search.calibration.rounding import Recipe, Rounded, round_layer
from edgeconv.search.calibration.samples import Samples
from edgeconv.search.calibration.sqnr import Baseline
from edgeconv.search.quantising.grids import Places
from edgeconv.search.quantising.ranges import ALIKE, ObservedRange, RangeSums, together
from edgeconv.search.quantising.rewrite import FORM


@dataclass(frozen=True, slots=True)
class Observed:
    """``ranges``: of tensors, ``rounded``: layers in int8 by what their inputs are in float32."""

    ranges: Mapping[str, ObservedRange]
    rounded: Mapping[str, Rounded]


def observe(
    engine: InferenceEngine,
    samples: Samples,
    tensors: Sequence[str],
    layers: Sequence[str],
    recipe: Recipe,
    kept_values: int,
    progress: Progress = no_progress,
) -> Observed:
    """The ranges of ``tensors``, ``kept_values`` numbers of each, and ``layers`` rounded by
    ``recipe``, which needs averages of single inputs alone."""
    ranges = RangeSums(tensors, len(samples), kept_values)
    sums = {
        name: InputSums(engine.layers[name], engine.graph, len(samples), together=False)
        for name in layers
    }
    wanted = dict.fromkeys((*tensors, *(each.node.inputs[0] for each in sums.values())))
    for number, found in enumerate(engine.run_each(samples, capture=wanted)):
        progress(Share("looking at every tensor", number, len(samples)))
        ranges.add(found, number)
        for each in sums.values():
            each.add(found[each.node.inputs[0]], number)
    rounded = {}
    for number, (name, each) in enumerate(sums.items()):
        progress(Share(f"rounding the filters of {name}", number, len(sums)))
        averages = each.moments()
        averages.require_finite(name)
        rounded[name] = round_layer(engine.parameters(name), each.rows, FORM, averages, recipe)
    return Observed(ranges.ranges(), rounded)


def alike_grids(
    seen: Mapping[str, ObservedRange],
    places: Places,
    baseline: Baseline,
    progress: Progress = no_progress,
) -> dict[str, Activation]:
    """The grid of every tensor that is rounded, by the range of RANGES that disturbs the outputs
    least where it is that of all tensors, among those that cost little to find."""
    groups = [(group, together(seen[name] for name in group)) for group in places.groups]
    found = []
    for number, choose in enumerate(ALIKE):
        progress(Share("choosing ranges", number, len(ALIKE)))
        grids = {name: own for group, all_ in groups for own in [choose(all_)] for name in group}
        found.append((baseline.noise(activations=grids), grids))
    return min(found, key=lambda each: each[0])[1]
