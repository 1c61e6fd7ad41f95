"""Filters rounded to a storage format, as well as calibration inputs allow.

``round_layer`` does one layer, ``round_layers`` some or all of a network.  The weights that come
out are units times numbers of the format, so that storing them loses nothing more; ``stored`` puts
them into the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.filters import WEIGHTED, Filters, replace_filters
from edgeconv.ir.graph import Graph
from edgeconv.kernels.storage import formats
from edgeconv.search.calibration.bias import corrected
from edgeconv.search.calibration.codebook import Codebook, Doubles
from edgeconv.search.calibration.error_feedback import compensated
from edgeconv.search.calibration.inference import InferenceEngine
from edgeconv.search.calibration.inputs import collect, rows_of
from edgeconv.search.calibration.moments import Averages, Moments, Rows
from edgeconv.search.calibration.samples import Samples

_LEAST_VARIANCE = 1e-3  # of the mean one: inputs that samples leave at zero count a little
SAMPLES = 64  # that averages are taken over at most: more change little and cost time


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which steps are taken; all but the first need moments.

    ``units``: per output channel, the best of several, in place of one for the tensor.  ``bias``:
    corrected for the mean.  ``compensated``: errors carried into other weights.  ``truncate``:
    toward zero rather than to nearest.
    """

    units: bool = True
    bias: bool = True
    compensated: bool = True
    truncate: bool = False


NEAREST = Recipe(units=False, bias=False, compensated=False)
BEST: Recipe = Recipe()
# What each adds to those before it.
RECIPES: dict[str, Recipe] = {
    "nearest": NEAREST,
    "+ units": replace(NEAREST, units=True),
    "+ bias correction": replace(BEST, compensated=False),
    "+ compensation": BEST,
}


@dataclass(frozen=True, slots=True, eq=False)
class Rounded:
    """A layer in a storage format.

    ``parameters``: what it computes with; filters are ``units`` times numbers of the format.
    ``units``: one per output channel, None where the format has none.
    """

    form: str
    parameters: Filters
    units: tuple[float, ...] | None


def round_layer(
    own: Filters, rows: Rows, form: str, moments: Averages | Moments | None, recipe: Recipe = BEST
) -> Rounded:
    """``own`` parameters in the format called ``form``.

    Without ``moments`` every input counts as much, and neither bias nor compensation is possible;
    the latter not without those of every two inputs either.
    """
    codebook = Codebook(formats()[form], recipe.truncate)
    flat = own.weights.reshape(len(own.weights), -1).astype(np.float64)
    weights = rows.split(flat)
    units = rows.per_row(_units(codebook, flat, rows, moments, recipe))
    if recipe.compensated and isinstance(moments, Moments):
        prepared = moments.prepared(centred=recipe.bias)
        found, units = compensated(weights, units, prepared, codebook, rows)
    else:
        found = units[:, :, None] * codebook.nearest(weights / units[:, :, None])
    bias = own.bias
    if recipe.bias and moments and bias is not None:
        bias = corrected(bias, weights, found, moments, rows)
    values = rows.join(found, own.weights.shape).astype(np.float32)
    per_channel = units[:: rows.pieces].reshape(-1)
    kept = tuple(map(float, per_channel)) if codebook.has_units else None
    return Rounded(form, Filters(values, bias), kept)


def _units(
    codebook: Codebook,
    flat: Doubles,
    rows: Rows,
    moments: Averages | Moments | None,
    recipe: Recipe,
) -> Doubles:
    """One per output channel."""
    if not recipe.units:
        return codebook.tensor_units(flat)
    if moments is None:
        return codebook.best_units(flat, np.ones((1, 1)), np.zeros((1, 1)))
    variance = moments.squares - np.square(moments.mean)
    variance = np.maximum(variance, 0.0) + _LEAST_VARIANCE * variance.mean()
    mean = np.zeros_like(moments.mean) if recipe.bias else moments.mean
    return codebook.best_units(
        flat, _per_weight(variance, flat, rows), _per_weight(mean, flat, rows)
    )


def _per_weight(values: Doubles, flat: Doubles, rows: Rows) -> Doubles:
    """(groups * pieces, length) in the shape of the filters, or of one that stands for all."""
    per_group = values.reshape(rows.groups, -1)
    return per_group if rows.groups == 1 else per_group.repeat(len(flat) // rows.groups, axis=0)


def round_layers(
    engine: InferenceEngine,
    samples: Samples,
    wanted: Mapping[str, str],
    recipe: Recipe = BEST,
    progress: Progress = no_progress,
) -> dict[str, Rounded]:
    """Layers in the formats that ``wanted`` names (float32 ones are left out), from the inputs
    that the float32 network has."""
    stored = {name: form for name, form in wanted.items() if form != "float32"}
    rounded = {}
    for name, moments in moments_of(engine, samples, stored, recipe, progress):
        rows = rows_of(engine.layers[name], engine.graph)
        rounded[name] = round_layer(engine.parameters(name), rows, stored[name], moments, recipe)
    return rounded


def moments_of(
    engine: InferenceEngine,
    samples: Samples,
    layers: Mapping[str, object],
    recipe: Recipe,
    progress: Progress = no_progress,
) -> Iterator[tuple[str, Averages | Moments | None]]:
    """The moments of each layer's inputs, None where the recipe has no use for them and of weights
    of recurrent states, since no tensor holds what these meet."""
    met = [name for name in layers if recipe != NEAREST and engine.layers[name].op in WEIGHTED]
    yield from ((name, None) for name in layers if name not in met)
    if met:
        some = samples.at_most(SAMPLES)
        yield from collect(engine, some, met, together=recipe.compensated, progress=progress)


def parameters_of(rounded: Mapping[str, Rounded]) -> dict[str, Filters]:
    """What an engine takes."""
    return {name: entry.parameters for name, entry in rounded.items()}


def stored(graph: Graph, rounded: Mapping[str, Rounded]) -> Graph:
    """The graph with these layers in their formats: constants replaced, attribute ``storage``
    set.  A layer without a bias gets one where there is something to correct."""
    layers = {}
    for node in graph.nodes:
        if entry := rounded.get(node.name):
            weights, bias = entry.parameters.weights, entry.parameters.bias
            has_bias = len(node.inputs) > 2 and bool(node.inputs[2])
            kept = bias if bias is not None and (has_bias or bias.any()) else None
            form = formats()[entry.form].encoding
            layers[node.name] = Filters(weights, kept, form.scaled(entry.units or ()))
    return replace_filters(graph, layers)
