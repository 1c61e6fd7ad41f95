"""How far predictions for a core are known to be off.

`bench/program_times.py` holds programs against a model of the core, `bench/engine_times.py` that
model against published times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from edgeconv.target.board import Board


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far predictions for a ``core`` are off.

    ``programs``: the time that emitted networks of floats take on its model over the predicted
    one, least and most.  ``model_mean``, ``model_most``: how far the model's times are from
    published ones, relative, on average and at most.
    """

    core: str
    programs: tuple[float, float]
    model_mean: float
    model_most: float

    @property
    def words(self) -> str:
        """What the user is told of it."""
        least, most = self.programs
        return (
            f"emitted networks of floats took {least:.2f} to {most:.2f} times as long on a model of"
            f" {self.core} that is {100 * self.model_mean:.0f} % off published times on average,"
            f" {100 * self.model_most:.0f} % at most"
        )


# docs/prediction.md has the rows: SqueezeNet, MobileNetV2 and ResNet-18 (A76: in fp16 too), as the
# last lines of bench/program_times.py have them; of ncnn six to eight.
_KNOWN = (
    Deviation("Cortex-A53", (1.17, 1.35), 0.16, 0.37),
    Deviation("Cortex-A72", (0.97, 1.11), 0.08, 0.15),
    Deviation("Cortex-A76", (1.05, 1.44), 0.13, 0.28),
)
DEVIATIONS: Mapping[str, Deviation] = MappingProxyType({each.core: each for each in _KNOWN})


def deviation_of(board: Board, threads: int) -> Deviation | None:
    """None of cores that nobody has held against anything, and of several threads."""
    return DEVIATIONS.get(board.cpu) if threads == 1 else None
