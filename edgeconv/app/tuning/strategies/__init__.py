"""Which candidates are measured next: one file each, found by scanning."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random

from edgeconv.app.tuning.pool import Batch, Pool
from edgeconv.base.registry import lookup, scan


@dataclass(frozen=True, slots=True)
class Strategy:
    """A search strategy.  ``following``: what comes next, nothing where all that it wants is
    measured.  ``require`` raises EdgeconvError where something that it needs is not installed."""

    name: str
    following: Callable[[Pool, Random], Batch]
    require: Callable[[], None] = lambda: None


@cache
def strategies() -> dict[str, Strategy]:
    """By name."""
    return scan(sys.modules[__name__], "STRATEGY", Strategy)


def find(name: str) -> Strategy:
    """Raises EdgeconvError (exit status 2) for an unknown name, and as `Strategy.require`."""
    found = lookup("strategy", name, strategies())
    found.require()
    return found
