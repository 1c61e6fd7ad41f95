"""A data cache, as boards state it and the running machine tells it."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Cache:
    """One level that holds data.  ``size`` and ``line`` in bytes.

    None where no source states it: ``latency`` in core cycles from load to use, ``ways`` the lines
    that a set holds, ``bandwidth`` the bytes per core cycle that one core reads from it, ``others``
    those that other cores bring into it meanwhile.
    """

    level: int
    size: int
    line: int
    latency: int | None = None
    ways: int | None = None
    bandwidth: float | None = None
    others: float | None = None

    def in_words(self, times: int) -> Cache:
        """The cache, where all that it holds is counted as so many ``times`` its bytes."""
        return replace(
            self,
            size=times * self.size,
            line=times * self.line,
            bandwidth=self.bandwidth and times * self.bandwidth,
            others=self.others and times * self.others,
        )


# Taken where a board names no cache: what application cores have at least.
ASSUMED = (Cache(1, 32 * 1024, 64), Cache(2, 256 * 1024, 64))
ASSUMED_LINE = ASSUMED[0].line  # bytes
