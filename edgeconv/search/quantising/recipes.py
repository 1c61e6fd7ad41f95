"""Ways to round the filters of a network, and which of them is best on samples not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from edgeconv.base.progress import Tell, nobody
from edgeconv.ir.activation import Activation
from edgeconv.search.calibration.engine import Engine
from edgeconv.search.calibration.in_turn import round_in_turn
from edgeconv.search.calibration.rounding import (
    RECIPES,
    Recipe,
    Rounded,
    round_layers,
)
from edgeconv.search.calibration.samples import Samples

Grids = Mapping[str, Activation]
Way = Callable[[Engine, Samples, Mapping[str, str], Grids, Tell], dict[str, Rounded]]


def _alone(
    recipe: Recipe,
    engine: Engine,
    samples: Samples,
    wanted: Mapping[str, str],
    grids: Grids,
    tell: Tell = nobody,
) -> dict[str, Rounded]:
    """From the inputs that each layer has in the float32 network."""
    del grids
    return round_layers(engine, samples, wanted, recipe, tell)


def _in_turn(
    engine: Engine,
    samples: Samples,
    wanted: Mapping[str, str],
    grids: Grids,
    tell: Tell = nobody,
) -> dict[str, Rounded]:
    return round_in_turn(engine, samples, wanted, activations=grids, tell=tell)


# By name, what each adds to those before it.
WAYS: dict[str, Way] = {
    **{name: partial(_alone, recipe) for name, recipe in RECIPES.items()},
    "+ in turn": _in_turn,
}
# Those to choose among; the last where samples are too few to tell.
TRIED = ("+ units", "+ bias correction", "+ compensation", "+ in turn")
LEAST_SAMPLES = 8  # to choose by, half of which steps are fitted to
