"""What storage formats do to a network, measured once and asked many times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from edgeconv.base.progress import Progress
from edgeconv.ir.filters import Filters
from edgeconv.ir.graph import Graph
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.search.budget.derive import Noises
from edgeconv.search.calibration.inference import InferenceEngine
from edgeconv.search.calibration.rounding import BEST, SAMPLES, Recipe, Rounded, parameters_of
from edgeconv.search.calibration.samples import Samples
from edgeconv.search.calibration.sensitivity import affordable, sensitivities
from edgeconv.search.calibration.sequential import round_sequentially
from edgeconv.search.calibration.sqnr import Accuracy, Baseline
from edgeconv.search.choose.storage import by_kind

# Seeded inputs tell how large errors are and no more: rounding must not fit itself to noise.
UNCALIBRATED = Recipe(units=True, bias=False, compensated=False)
MEASUREMENTS = 16  # of whole choices, among which the time for them is divided
COARSE = frozenset({"int4", "flyte8"})  # formats that rounding in turn gains most with
SEQUENTIAL_MACS = 2e11  # of rounding many choices in turn: half a minute of one core
LOUDEST = 1e6  # noise that is no less than this is as good as infinite


class Measured:
    """The noise of every format on offer, each alone; and of any choice of them together.

    ``weights``: by layer, ``activations``: by tensor, the formats on offer.  ``truncate``: filters
    are; results are what the engine does with them.  ``real``: the network in float32, where that
    of ``engine`` is rounded itself; accuracies are against it, and ``own`` is the noise that there
    is without any format.

    Every other sample is looked at to round by, and the error is measured on those between: on the
    former it would look better than it is.  ``judging``: the latter.
    """

    def __init__(
        self,
        engine: InferenceEngine,
        samples: Samples,
        weights: Mapping[str, Sequence[str]],
        activations: Mapping[str, Sequence[str]],
        progress: Progress,
        *,
        truncate: bool = False,
        real: InferenceEngine | None = None,
    ) -> None:
        self.engine, self.graph, self.progress, self._real = engine, engine.graph, progress, real
        fits = samples.promised and len(samples) > 1
        self.learning = samples.chosen(slice(0, None, 2)) if fits else samples
        self.judging = samples.chosen(slice(1, None, 2)) if fits else samples
        self.sequential = fits and not truncate
        recipe = BEST if fits else UNCALIBRATED
        if truncate:  # what remains of it can only be taken from biases
            recipe = replace(recipe, compensated=False, truncate=True)
        found = sensitivities(
            engine,
            self.learning,
            weights,
            activations,
            recipe=recipe,
            judged_on=self.judging,
            progress=progress,
        )
        self.rounded: Mapping[tuple[str, str], Rounded] = found.rounded
        self.weight_noise = _by_name(found.weights)
        self.activation_noise = _by_name(found.activations)

    @cached_property
    def _baseline(self) -> Baseline:
        judging = self.judging.at_most(affordable(self.engine, MEASUREMENTS))
        return Baseline(self.engine, judging, real=self._real)

    @cached_property
    def own(self) -> float:
        """The noise of the network itself."""
        return min(self._baseline.noise(), LOUDEST) if self._real else 0.0

    def noise(self, formats: Mapping[str, str]) -> float:
        """The noise of a choice, by the keys that ``search.choose.select`` takes: what it adds."""
        noise = min(self._baseline.noise(*self._variant(formats)), LOUDEST)
        return max(noise - self.own, 0.0)

    def bounded(self, formats: Mapping[str, str]) -> float:
        """The noise of a choice, of other samples too: what a limit of noise is held to."""
        _, noise = self._baseline.noises(*self._variant(formats))
        return max(min(noise, LOUDEST) - self.own, 0.0)

    def accuracy(self, formats: Mapping[str, str]) -> Accuracy:
        """The accuracy of a choice, in full."""
        return self._baseline.accuracy(*self._variant(formats))

    def chosen(self, formats: Mapping[str, str]) -> dict[str, Rounded]:
        """The layers in other formats, as they were measured."""
        filters, _ = by_kind(self.graph, formats)
        return {
            layer: self.rounded[layer, form]
            for layer, form in filters.items()
            if (layer, form) in self.rounded
        }

    def best(self, formats: Mapping[str, str]) -> tuple[dict[str, Rounded], Accuracy]:
        """The layers of a final choice, rounded as well as the samples allow, and its accuracy."""
        rounded, _ = self._best(formats)
        parameters = parameters_of(rounded)
        _, activations = self._variant(formats)
        return rounded, self._baseline.accuracy(parameters, activations, layers=True)

    def _best(self, formats: Mapping[str, str]) -> tuple[dict[str, Rounded], float]:
        """The layers and their noise.

        Rounded one after the other, layers make up for what those before them did; that loses a
        little for fine formats, so that both are measured.
        """
        alone = self.chosen(formats)
        parameters, activations = self._variant(formats)
        noise, bound = self._baseline.noises(parameters, activations)
        if self.sequential and alone:
            filters, _ = by_kind(self.graph, formats)
            turned = round_sequentially(
                self.engine,
                self.learning,
                filters,
                activations=activations,
                alone=alone,
                progress=self.progress,
            )
            after = parameters_of(turned)
            quieter, below = self._baseline.noises(after, activations)
            if quieter < noise and below <= bound:
                return turned, quieter
        return alone, noise

    def best_noise(self, choices: Sequence[Mapping[str, str]]) -> list[float]:
        """For each choice what ``best`` leaves, where that gains more than a decibel or two and
        rounding so many in turn is affordable; else as ``noise``."""
        coarse = [not COARSE.isdisjoint(formats.values()) for formats in choices]
        runs = sum(coarse) * len(self.engine.layers) * min(SAMPLES, len(self.learning))
        affordable = runs * self.engine.macs <= SEQUENTIAL_MACS
        return [
            min(self._best(formats)[1], LOUDEST)
            if stream_rows and affordable
            else self.noise(formats)
            for formats, stream_rows in zip(choices, coarse, strict=True)
        ]

    def _variant(self, formats: Mapping[str, str]) -> tuple[dict[str, Filters], dict[str, str]]:
        parameters = parameters_of(self.chosen(formats))
        _, outputs = by_kind(self.graph, formats)
        return parameters, tensors_of(self.graph, outputs)


def tensors_of(graph: Graph, outputs: Mapping[str, str]) -> dict[str, str]:
    """Formats by tensor, of formats by the layer that writes it."""
    return {
        name: outputs[node.name]
        for node in graph.nodes
        if outputs.get(node.name, FLOAT32) != FLOAT32
        for name in node.outputs
        if name
    }


def _by_name(noises: Mapping[tuple[str, str], float]) -> Noises:
    found: dict[str, dict[str, float]] = {}
    for (name, form), noise in noises.items():
        found.setdefault(name, {})[form] = min(noise, LOUDEST) if not math.isnan(noise) else LOUDEST
    return found
