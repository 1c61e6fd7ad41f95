"""What is printed: one line per convolution and algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cachesim.cases import Case
from edgeconv.base import sizes
from edgeconv.target.cache import Cache

TOLERANCE = 0.25


@dataclass(frozen=True, slots=True)
class Compared:
    """Lines predicted and simulated behind each cache, the nearest first."""

    case: Case
    predicted: tuple[float, ...]
    simulated: tuple[int, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """Predicted over simulated."""
        return tuple(p / s for p, s in zip(self.predicted, self.simulated, strict=True))


def is_close(ratio: float) -> bool:
    """Within the tolerance of what was simulated."""
    return abs(ratio - 1) <= TOLERANCE


def head(caches: Sequence[Cache]) -> str:
    """The line above."""
    names = "".join(
        f" | {f'L{c.level} {sizes.exact(c.size)}':>10} simulated ratio " for c in caches
    )
    return f"{'kind':21} {'convolution':31} {'algorithm':9}{names}"


def line(entry: Compared) -> str:
    """One line; a star marks a ratio outside of the tolerance."""
    text = f"{entry.case.name:21} {entry.case.label:31} {entry.case.algorithm:9}"
    for lines, counted, ratio in zip(entry.predicted, entry.simulated, entry.ratios, strict=True):
        text += f" | {lines:10.0f} {counted:9} {ratio:5.2f}{' ' if is_close(ratio) else '*'}"
    return text


def summary(compared: Sequence[Compared], caches: Sequence[Cache]) -> list[str]:
    """How many ratios are within the tolerance."""
    found = []
    for number, cache in enumerate(caches):
        close = sum(is_close(entry.ratios[number]) for entry in compared)
        found.append(f"L{cache.level}: {close} of {len(compared)} within {100 * TOLERANCE:.0f} %")
    kinds = dict.fromkeys(entry.case.name for entry in compared)
    close_kinds = sum(
        all(is_close(r) for entry in compared if entry.case.name == kind for r in entry.ratios)
        for kind in kinds
    )
    found.append(f"convolutions with every figure within: {close_kinds} of {len(kinds)}")
    return found


def document(compared: Sequence[Compared], caches: Sequence[Cache]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "caches": [{"level": c.level, "size": c.size, "ways": c.ways} for c in caches],
        "convolutions": [
            {
                "kind": entry.case.name,
                "convolution": entry.case.label,
                "algorithm": entry.case.algorithm,
                "predicted": entry.predicted,
                "simulated": entry.simulated,
            }
            for entry in compared
        ],
    }
