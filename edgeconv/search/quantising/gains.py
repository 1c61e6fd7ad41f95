"""What each part of post-training quantisation gained, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_WORDS = {  # ways to round filters
    "+ bias correction": "biases corrected",
    "+ compensation": "rounded with samples",
    "+ in turn": "one layer after the other",
}


@dataclass(frozen=True, slots=True)
class Gain:
    """What one part of post-training quantisation gained.  ``before`` and ``after``: noise over
    signal at the outputs, on samples that chose nothing.  ``taken``: whether it stands; it does
    where it gains clearly."""

    what: str
    before: float
    after: float
    taken: bool

    def __str__(self) -> str:
        how = "" if self.taken else ", left out"
        return f"{self.what} {_db(self.before)} to {_db(self.after)} dB{how}"


def of_way(name: str, before: float, after: float, *, taken: bool) -> Gain:
    """The gain of a way to round filters, which has in it what those before it do."""
    return Gain(_WORDS[name], before, after, taken)


def gains_note(gains: Sequence[Gain]) -> tuple[str, ...]:
    """All of them in a line; none where samples were too few to measure by."""
    if not gains:
        return ()
    return (f"quantised to int8, SQNR on samples that chose nothing: {'; '.join(map(str, gains))}",)


def _db(noise: float) -> str:
    return f"{-10 * math.log10(max(noise, 1e-30)):.1f}"
