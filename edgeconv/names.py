"""Names of layers and tensors as people read them: exporters write some of 200 characters."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LISTED = 10  # how many known names a hint lists


def shortened(text: str, most: int = 72) -> str:
    """``text``, its middle left out where it is longer than ``most`` characters."""
    if len(text) <= most:
        return text
    keep = (most - 5) // 2
    return f"{text[:keep]} ... {text[-keep:]}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint naming the closest known names in full, or the first known ones when none is close."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {', '.join(close)}?"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"known: {', '.join(map(shortened, names[:_LISTED]))}{more}"
