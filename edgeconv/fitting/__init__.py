"""Storage formats for a network that must fit: measured, chosen, planned, and measured again."""

from edgeconv.fitting.search import (
    Found,
    Lower,
    Planned,
    Search,
    UnfitError,
    Wishes,
    require_labels,
)

__all__ = ["Found", "Lower", "Planned", "Search", "UnfitError", "Wishes", "require_labels"]
