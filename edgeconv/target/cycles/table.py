"""What a table of worst cases says of a core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CycleTable:
    """Most cycles of the instructions of a core without caches, memory without wait states.

    ``cores``: ``cpu`` of the boards' files.  ``source``: document, table and section.
    ``cycles``: of an instruction by its name, without condition and width, for a load or store
    those besides one for each register.  ``refill``: more of a branch that is taken, and of
    anything else that writes PC; ``returns``: more of a POP of PC, ``call``: of BL and BLX.
    ``address_stall``: more of a load or store whose address the instruction before computes.
    ``late_result``: more of these where the next instruction takes the result.
    ``literal``: more of a load relative to PC.  ``misaligned``: more of an access by the place of
    its address behind a multiple of its size; empty: such an access is a fault.
    ``fetched_ahead``: bytes of instructions that a branch throws away at most.
    """

    cores: tuple[str, ...]
    source: str
    cycles: Mapping[str, int]
    refill: int
    returns: int
    call: int
    fetched_ahead: int
    address_stall: int = 0
    literal: int = 0
    late_result: frozenset[str] = frozenset()
    misaligned: tuple[int, int, int, int] = (0, 0, 0, 0)
