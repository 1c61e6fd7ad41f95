"""Storage formats: what bytes lie in memory, as opposed to what registers compute with."""

from __future__ import annotations

import sys
from functools import cache

from edgeconv.registry import scan
from edgeconv.storage.base import StorageFormat
from edgeconv.storage.grid import grid_format


class Formats(dict[str, StorageFormat]):
    """Those with a module, by name, and on demand the grids of quantised models, which nobody can
    list."""

    def __missing__(self, name: str) -> StorageFormat:
        return grid_format(name)


@cache
def formats() -> Formats:
    """Storage format name -> StorageFormat."""
    return Formats(scan(sys.modules[__name__], "FORMAT", StorageFormat))
