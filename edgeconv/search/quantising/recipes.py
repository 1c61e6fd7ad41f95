"""Ways to round the filters of a network, and which of them is best on samples not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.activation import Activation
from edgeconv.search.calibration.inference import InferenceEngine
from edgeconv.search.calibration.rounding import (
    RECIPES,
    Recipe,
    Rounded,
    round_layers,
)
from edgeconv.search.calibration.samples import Samples
from edgeconv.search.calibration.sequential import round_sequentially

Grids = Mapping[str, Activation]
Way = Callable[[InferenceEngine, Samples, Mapping[str, str], Grids, Progress], dict[str, Rounded]]


def _alone(
    recipe: Recipe,
    engine: InferenceEngine,
    samples: Samples,
    wanted: Mapping[str, str],
    grids: Grids,
    progress: Progress = no_progress,
) -> dict[str, Rounded]:
    """From the inputs that each layer has in the float32 network."""
    del grids
    return round_layers(engine, samples, wanted, recipe, progress)


def _sequential(
    engine: InferenceEngine,
    samples: Samples,
    wanted: Mapping[str, str],
    grids: Grids,
    progress: Progress = no_progress,
) -> dict[str, Rounded]:
    return round_sequentially(engine, samples, wanted, activations=grids, progress=progress)


# By name, what each adds to those before it.
WAYS: dict[str, Way] = {
    **{name: partial(_alone, recipe) for name, recipe in RECIPES.items()},
    "+ in turn": _sequential,
}
# Those to choose among; the last where samples are too few to tell.
TRIED = ("+ units", "+ bias correction", "+ compensation", "+ in turn")
SURE = "+ bias correction"  # gains much, takes little, and fits nothing to few samples
LEAST_SAMPLES = 8  # to choose by, half of which steps are fitted to
