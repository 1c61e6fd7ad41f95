"""What a kernel call does on registers, and what it moves behind caches."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a kernel call.  ``slots``: vector instructions that compute, ``decoding`` those
    of them that bring numbers from storage formats and back.  ``moves``: loads and stores that take
    issue slots of their own.  ``weight_bytes`` and ``data_bytes`` pass between registers and the
    nearest memory: those of constants, and those of tensors and workspaces; ``input_bytes``: of
    these the inputs' own, 0 where all are taken to be moved as often.  ``fetches``: lines
    that are prefetched, on cores that else wait for them.  ``runs``: stretches of neighbouring
    bytes of the input that are begun, where more of them take turns than prefetchers follow.
    ``read_again`` and ``written_again``: bytes of lines of the input and of the output that are
    visited once more, after ``sweep`` bytes, where no `CacheTraffic` has them."""

    slots: float
    moves: float
    weight_bytes: float
    data_bytes: float
    decoding: float = 0.0
    fetches: float = 0.0
    runs: float = 0.0
    read_again: float = 0.0
    written_again: float = 0.0
    sweep: float = 0.0
    input_bytes: float = 0.0

    def times(self, by: float) -> Work:
        """The work of so many calls, or of a part of one."""
        own = {each.name: by * getattr(self, each.name) for each in fields(Work)}
        return Work(**{**own, "sweep": self.sweep})


@dataclass(frozen=True, slots=True)
class CacheTraffic:
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

    def times(self, by: float) -> CacheTraffic:
        """The work of so many calls."""
        moved = (getattr(self, each.name) for each in fields(self) if each.name != "level")
        return CacheTraffic(self.level, *(by * each for each in moved))

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
