"""Storage formats for a network that must fit: measured, chosen, planned, and measured again."""

from edgeconv.search.fitting.bound import AtBest
from edgeconv.search.fitting.offered import FormatPlan, Lower, Offered, offered
from edgeconv.search.fitting.search import (
    FormatChoice,
    FormatOptions,
    MissedError,
    Search,
    UnfitError,
)

__all__ = [
    "AtBest",
    "FormatChoice",
    "FormatOptions",
    "FormatPlan",
    "Lower",
    "MissedError",
    "Offered",
    "Search",
    "UnfitError",
    "offered",
]
