"""A data cache, as boards state it and the running machine tells it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cache:
    """One level that holds data.  ``size`` and ``line`` in bytes; ``latency`` in core cycles from
    load to use, None where no source states it."""

    level: int
    size: int
    line: int
    latency: int | None = None
