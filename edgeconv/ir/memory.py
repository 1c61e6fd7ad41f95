"""What the memory planner decides: an order of execution and a place for every tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Region(Enum):
    """Whose memory a tensor lies in."""

    ARENA = "arena"
    INPUT = "input"  # the caller's input buffer: read only
    OUTPUT = "output"  # the caller's output buffer


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor or a workspace lies, and from which to which step its bytes are in use.

    ``index`` is the number of the graph input or output for the caller's regions; ``bank`` is the
    entry of ``MemoryMap.banks`` for the arena.  Steps count the entries of ``MemoryMap.order``; -1
    is before the first (an input that the caller fills) and ``len(order)`` after the last (an
    output that the caller reads).  Both ends are inclusive.
    """

    region: Region
    offset: int  # bytes from the start of the region, or of its bank
    bytes: int  # unrounded
    first: int
    last: int
    index: int = 0
    bank: int = 0


@dataclass(frozen=True, slots=True)
class BankUse:
    """The part of the arena that lies in one memory.

    ``name``: a lower-case C identifier.  ``bytes``: up to the highest byte in use.
    ``lower_bound``: as MemoryMap's, of what lies here.  ``capacity``: the bytes it may take, None
    for no limit.
    """

    name: str
    bytes: int
    lower_bound: int
    capacity: int | None = None

    @property
    def excess(self) -> int:
        """Bytes that do not fit."""
        return 0 if self.capacity is None else max(0, self.bytes - self.capacity)


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """Result of ``search.memory.plan``.

    ``order``: indices into ``Choice.layers`` in execution order.  ``places``: by tensor name, for
    every non-constant tensor.  ``workspaces``: by layer index.  ``granted``: the aliases honoured,
    as (layer index, alias index).  ``lower_bound`` is the largest sum over the steps of the sizes,
    rounded up to ``align``, of what is live then (bytes shared by an alias counted once);
    ``optimal`` says that no arena smaller than ``arena_bytes`` exists for this order and these
    aliases, because it meets the bound or because the search proved it.

    ``banks``: the memories that the arena lies in, fastest first, unused ones included; a
    single one called "arena" where no memories were given.  ``arena_bytes`` is their sum, which may
    exceed ``lower_bound``, the least of one arena: tensors stay where they are put.  What did not
    fit any bank is in one nevertheless: see ``BankUse.excess``.  ``caller_bank``: the number of the
    memory that holds the caller's inputs and outputs.
    """

    order: tuple[int, ...]
    places: Mapping[str, Place]
    workspaces: Mapping[int, Place]
    granted: frozenset[tuple[int, int]]
    arena_bytes: int
    lower_bound: int
    align: int
    optimal: bool
    banks: tuple[BankUse, ...]
    caller_bank: int = 0
