"""The folder of the user's cache: what is there can be missing, and no command fails by it."""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """Its path; raises RuntimeError where there is neither XDG_CACHE_HOME nor a home."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "edgeconv"
