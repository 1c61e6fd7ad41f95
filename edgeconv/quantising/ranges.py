"""The numbers that a tensor takes on samples, and the grid of 256 numbers that is nearest to them.

A grid that reaches to the largest number seen is coarse where most numbers are small.  So both ends
are drawn in as long as what is cut off costs less than the finer steps gain: the least squared
error over the numbers seen, as Nagel et al., "A White Paper on Neural Network Quantization" (2021),
section 3.1, have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgeconv.calibration.engine import Engine, rounded
from edgeconv.calibration.samples import Samples
from edgeconv.encoding import INT8
from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.filters import Filters
from edgeconv.progress import Share, Tell, nobody

Floats = npt.NDArray[np.float32]
KEPT = 1 << 15  # numbers of a tensor that the error is taken over
# Ends of a grid that are tried, relative to the largest number seen.
_CUTS = tuple(np.geomspace(1.0, 0.2, 33))
_ROUNDS = 2  # over both ends
_LEAST = 2.0**-96  # of a scale: a tensor of zeros has one too


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """``low`` and ``high``: of all numbers and 0.  ``values``: some of them, drawn at random."""

    low: float
    high: float
    values: Floats


def see(
    engine: Engine,
    samples: Samples,
    names: Sequence[str],
    *,
    parameters: Mapping[str, Filters] | None = None,
    tell: Tell = nobody,
) -> dict[str, Seen]:
    """What the tensors ``names`` are in float32, with other filters than the network's own where
    ``parameters`` has some."""
    kept: dict[str, list[Floats]] = {name: [] for name in names}
    ends = dict.fromkeys(names, (0.0, 0.0))
    each = -(-KEPT // max(len(samples), 1))
    for number, sample in enumerate(samples):
        tell(Share("looking at the range of every tensor", number, len(samples)))
        found = engine.run(sample, parameters=parameters, capture=names)
        rng = np.random.default_rng(number)
        for name in names:
            values = found[name].reshape(-1)
            low, high = ends[name]
            ends[name] = min(low, float(values.min())), max(high, float(values.max()))
            kept[name].append(rng.choice(values, each) if values.size > each else values)
    return {name: Seen(*ends[name], np.concatenate(kept[name])) for name in names}


def together(seen: Iterable[Seen]) -> Seen:
    """Of tensors that share a grid."""
    all_seen = list(seen)
    return Seen(
        min(one.low for one in all_seen),
        max(one.high for one in all_seen),
        np.concatenate([one.values for one in all_seen]),
    )


def widest(seen: Seen) -> Activation:
    """The grid from the lowest to the highest number."""
    return between(seen.low, seen.high)


def nearest(seen: Seen) -> Activation:
    """The grid with the least squared error, one end moved after the other."""
    low, high = seen.low, seen.high
    best, least = between(low, high), np.inf
    for _ in range(_ROUNDS):
        for ends in ([(low, high * p) for p in _CUTS], [(low * p, high) for p in _CUTS]):
            for one, other in ends:
                candidate = between(one, other)
                lost = rounded(seen.values, candidate) - seen.values.astype(np.float64)
                error = float(np.square(lost).sum())
                if error < least:
                    best, least, low, high = candidate, error, one, other
    return best


def between(low: float, high: float) -> Activation:
    """256 numbers from ``low`` to ``high``, of which 0 is one."""
    low, high = min(low, 0.0), max(high, 0.0)
    steps = INT8.high - INT8.low
    scale = float(np.float32(max((high - low) / steps, _LEAST)))
    below = min(max(round(-low / scale), 0), steps)
    return grid(scale, float(-below), float(steps - below))
