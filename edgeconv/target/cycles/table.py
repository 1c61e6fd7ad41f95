"""What a table of worst cases says of a core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


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
    ``like``: of instructions that the core has not and newer ones have, the one of its own that
    they are taken to be as slow as where a newer core is taken for it (`taken_for`).
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
    like: Mapping[str, str] = field(default_factory=dict)

    def taken_for(self, cpu: str) -> CycleTable:
        """The table for a core of which nothing is known, by the name of its board's file: this
        one, saying so."""
        source = f"of a {', '.join(self.cores)}, taken for the {cpu}: {self.source}"
        if self.like:
            source += f"; {', '.join(sorted({name.upper() for name in self.like}))} as there "
            source += ", ".join(sorted({name.upper() for name in self.like.values()}))
        late = {newer for newer, own in self.like.items() if own in self.late_result}
        newer = {name: self.cycles[own] for name, own in self.like.items()}
        return replace(
            self,
            cores=(cpu,),
            source=source,
            cycles={**self.cycles, **newer},
            late_result=self.late_result | late,
        )
