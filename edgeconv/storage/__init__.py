"""Storage formats: what bytes lie in memory, as opposed to what registers compute with."""

from __future__ import annotations

import sys
from functools import cache

from edgeconv.registry import scan
from edgeconv.storage.base import StorageFormat


@cache
def formats() -> dict[str, StorageFormat]:
    """Storage format name -> StorageFormat."""
    return scan(sys.modules[__name__], "FORMAT", StorageFormat)
