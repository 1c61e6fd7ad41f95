"""How much each tensor's rounding alone disturbs the outputs: what a choice of formats adds up.

Noise is relative: squared error over squared signal, at the output where it is largest.  Errors of
different tensors are nearly independent, so that the noise of a whole choice is near the sum; the
choice is measured as a whole before anything is promised (``edgeconv.search.calibration.sqnr``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeconv.base.progress import Progress, Share, no_progress
from edgeconv.search.calibration.inference import InferenceEngine
from edgeconv.search.calibration.inputs import rows_of
from edgeconv.search.calibration.rounding import BEST, Recipe, Rounded, moments_of, round_layer
from edgeconv.search.calibration.samples import Samples
from edgeconv.search.calibration.sqnr import Baseline

BUDGET_RUNS = 6000  # inferences of a small network that are no burden
BUDGET_MACS = 2e12  # of all inferences together: about a minute of one core


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivities:
    """What rounding each tensor alone does.  ``weights``: noise by (layer, format),
    ``activations``: by (tensor, format).  ``rounded``:  the layers as they were measured.
    ``samples``: how many inputs each figure is an average of."""

    weights: Mapping[tuple[str, str], float]
    activations: Mapping[tuple[str, str], float]
    rounded: Mapping[tuple[str, str], Rounded]
    samples: int


def affordable(engine: InferenceEngine, variants: int) -> int:
    """Samples on which ``variants`` of the network can be measured within the budget; at least 1.

    By multiply-adds rather than by the clock: the same on every machine.
    """
    macs = max(engine.macs, 1)
    runs = min(BUDGET_RUNS, BUDGET_MACS / macs)
    return max(1, int(runs / max(variants, 1)))


def sensitivities(
    engine: InferenceEngine,
    samples: Samples,
    weights: Mapping[str, Sequence[str]],
    activations: Mapping[str, Sequence[str]],
    *,
    recipe: Recipe = BEST,
    judged_on: Samples | None = None,
    progress: Progress = no_progress,
) -> Sensitivities:
    """Noise of every layer of ``weights`` and tensor of ``activations`` in each of its formats, all
    else being float32 (a format of that name costs nothing).

    As many samples are used as the budget allows (``affordable``), evenly spread.  ``judged_on``:
    other samples than those that rounding looks at.
    """
    variants = sum(len(set(forms) - {"float32"}) for forms in (*weights.values(),))
    variants += sum(len(set(forms) - {"float32"}) for forms in activations.values())
    judging = judged_on or samples
    baseline = Baseline(engine, judging.at_most(affordable(engine, variants)))
    of_weights: dict[tuple[str, str], float] = {}
    rounded: dict[tuple[str, str], Rounded] = {}
    parts = len(weights) + len(activations)
    looked = moments_of(engine, samples, weights, recipe, progress)
    for number, (layer, moments) in enumerate(looked):
        progress(Share(f"measuring what rounding the filters of {layer} does", number, parts))
        rows, own = rows_of(engine.layers[layer], engine.graph), engine.parameters(layer)
        for form in weights[layer]:
            if form == "float32":
                of_weights[layer, form] = 0.0
                continue
            entry = round_layer(own, rows, form, moments, recipe)
            rounded[layer, form] = entry
            of_weights[layer, form] = baseline.noise({layer: entry.parameters})
    of_activations: dict[tuple[str, str], float] = {}
    for number, (tensor, forms) in enumerate(activations.items(), start=len(weights)):
        progress(Share(f"measuring what rounding {tensor} does", number, parts))
        for form in forms:
            plain = form == "float32"
            noise = 0.0 if plain else baseline.noise(activations={tensor: form})
            of_activations[tensor, form] = noise
    return Sensitivities(of_weights, of_activations, rounded, len(baseline.samples))
