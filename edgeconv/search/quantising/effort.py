"""How much of the time post-training quantisation takes goes into trying what else is possible."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from edgeconv.base import arguments

FAST, THOROUGH = arguments.EFFORTS
LEAST_SAMPLES = 8  # where there are so many, whatever they take


@dataclass(frozen=True, slots=True)
class Effort:
    """``macs``: of the runs of all samples that grids and filters are fitted to, and again of those
    that the result is measured on, at most.  ``held_back``: every so many samples one is measured
    on and fitted to nothing.  ``values``: numbers of a tensor that the error of its grid is taken
    over.  ``searches``: channels are equalised, the range of every tensor and the way to round
    filters chosen by what the outputs say of each; else one choice is made of ranges for all
    tensors, and biases are corrected."""

    macs: float
    held_back: int
    values: int
    searches: bool

    def most(self, macs: int) -> int:
        """Samples of a network of so many multiply-accumulates."""
        each = self.macs / max(macs, 1)
        return sys.maxsize if math.isinf(each) else max(LEAST_SAMPLES, int(each))


EFFORTS: Mapping[str, Effort] = MappingProxyType(
    {
        FAST: Effort(5e9, held_back=4, values=1 << 12, searches=False),
        THOROUGH: Effort(math.inf, held_back=2, values=1 << 15, searches=True),
    }
)
