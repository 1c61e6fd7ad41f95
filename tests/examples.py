"""How many examples Hypothesis draws for a property."""

from __future__ import annotations

from hypothesis import settings

_USUAL = 100  # examples where nothing is said, of Hypothesis' own profile


def examples(count: int) -> int:
    """``count``, or as much less as the profile of this run (conftest.py) draws less than usual."""
    return max(1, count * settings().max_examples // _USUAL)
