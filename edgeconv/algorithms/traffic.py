"""What crosses behind a cache: the prediction that every convolution algorithm makes."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Crossing:
    """Bytes between the cache of ``level`` and the next one behind it (or memory).

    Into the cache: lines of the unpacked ``input``, of ``packed`` panels (to write them, and read
    again once evicted), of ``filters``, of output to go on summing (``output_reads``).  Out of it:
    packed panels and output.
    """

    level: int
    input: float
    packed: float
    filters: float
    output_reads: float
    packed_writes: float
    output_writes: float

    @property
    def reads(self) -> float:
        """Bytes into the cache."""
        return self.input + self.packed + self.filters + self.output_reads

    @property
    def writes(self) -> float:
        """Bytes out of the cache."""
        return self.packed_writes + self.output_writes

    @property
    def total(self) -> float:
        """Bytes either way."""
        return self.reads + self.writes

    def misses(self, line: int) -> float:
        """Lines brought in where a write fetches its line first, as cache simulators count them."""
        return (self.input + self.packed + self.filters + self.output_writes) / line

    def times(self, count: int) -> Crossing:
        """The same for ``count`` groups or images, one after the other."""
        scaled = {f.name: getattr(self, f.name) * count for f in fields(self) if f.name != "level"}
        return Crossing(level=self.level, **scaled)


def lost(touched: float, capacity: int) -> bool:
    """Whether a line is evicted before its next use, ``touched`` distinct bytes later.

    A cache that replaces the line unused for longest holds it exactly if these bytes fit.
    """
    return touched > capacity
