"""Storage formats for a network that must fit: measured, chosen, planned, and measured again."""

from edgeconv.search.fitting.bound import AtBest
from edgeconv.search.fitting.offered import Lower, Offered, Planned, offered
from edgeconv.search.fitting.search import (
    Found,
    MissedError,
    Search,
    UnfitError,
    Wishes,
    require_labels,
)

__all__ = [
    "AtBest",
    "Found",
    "Lower",
    "MissedError",
    "Offered",
    "Planned",
    "Search",
    "UnfitError",
    "Wishes",
    "offered",
    "require_labels",
]
