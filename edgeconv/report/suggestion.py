"""What a suggestion is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from edgeconv.report.numbers import significant


class Certainty(Enum):
    """How far the saving of a suggestion can be trusted."""

    ESTIMATE = "about"  # under the assumption that the suggestion states
    AT_MOST = "at most"  # an upper bound: no change of this kind saves more


class Resource(Enum):
    """What is saved."""

    RAM = "bytes of RAM"
    FLASH = "bytes of flash"
    TRAFFIC = "bytes of traffic"
    TIME = "ms"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One thing to change.  ``amount`` in ``resource``; ``fraction`` of the network's total of it.

    ``layers``: steps of the layers it is about.  ``command``: where to start, "" for none.
    """

    title: str
    why: str
    amount: float
    resource: Resource
    certainty: Certainty
    fraction: float
    layers: tuple[int, ...] = ()
    command: str = ""

    @property
    def saving(self) -> str:
        """``at most 1,204,224 bytes of RAM``, ``about 0.506 ms``."""
        whole = self.resource is not Resource.TIME
        amount = f"{int(self.amount):,}" if whole else significant(self.amount)
        return f"{self.certainty.value} {amount} {self.resource.value}"
