"""What kernels have for programs that fetch ahead by distances, which others are without."""

from __future__ import annotations

import re

_GUARDED = re.compile(r"^#ifdef EC_DISTANCES\n(.*?)^#endif\n", re.MULTILINE | re.DOTALL)


def kept(text: str, *, distances: bool) -> str:
    """A header with what is between ``#ifdef EC_DISTANCES`` and its end kept, or left out."""
    return _GUARDED.sub(lambda found: found[1] if distances else "", text)
