"""Where the parts of a firmware image lie: what the linker script is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SYSTEM_VECTORS = 16  # entries of a vector table before those of external interrupts
LEAST_VECTOR_ALIGN = 128
# Below the stack: the smallest region of a memory protection unit of Armv7-M, and its alignment
# (Armv7-M Architecture Reference Manual, B3.5.8).
GUARD_BYTES = 32
SIBLING = "sibling"  # of a project: the folder of what starts its firmware on another board


def vector_align(interrupts: int) -> int:
    """Bytes that a vector table is aligned to: a power of two that holds it, and no less than the
    vector table offset register takes (Armv7-M Architecture Reference Manual, B3.2.5)."""
    table_bytes = 4 * (SYSTEM_VECTORS + interrupts)
    return max(LEAST_VECTOR_ALIGN, 1 << (table_bytes - 1).bit_length())


@dataclass(frozen=True, slots=True)
class Section:
    """A memory region as the linker knows it.  ``name`` is its C identifier in capitals, ``title``
    what the board calls it; ``base`` an address, ``size`` in bytes."""

    name: str
    title: str
    base: int
    size: int
    is_flash: bool


@dataclass(frozen=True, slots=True)
class FixedWords:
    """Words of 32 bits that the chip looks for ``at`` bytes from the start of the code's region.
    ``name``: as its manual has it."""

    name: str
    at: int
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LinkPlan:
    """By name of a ``Section``: where ``code`` (vectors, machine code, constants and the initial
    values of variables), ``data`` (stack and variables), ``io`` (the caller's inputs and outputs)
    and every bank of the arena lie, and, by the memory that the user names, every part of the
    ``weights``.  Those in RAM are loaded from beside the code.

    ``stack``: bytes that the linker reserves unless told otherwise; ``guard``: those below it that
    nothing may touch.  ``interrupts``: external ones
    in the vector table.  ``setup``: (register, address, bits to set) before variables are set up.
    ``clock_hz``: of the core, as predictions assume it.  ``start``: the folder of templates that
    start it; ``stack_align``: what its ABI keeps the stack pointer a multiple of.  ``offset``:
    bytes from the start of the code's region to what starts the core, and ``fixed``, by place, what
    else has its own place there.
    """

    regions: tuple[Section, ...]
    code: str
    weights: Mapping[str, str]
    data: str
    io: str
    banks: Mapping[str, str]
    stack: int
    interrupts: int
    setup: tuple[tuple[str, int, int], ...] = ()
    clock_hz: int | None = None
    guard: int = GUARD_BYTES
    start: str = "arm"
    stack_align: int = 8
    offset: int = 0
    fixed: tuple[FixedWords, ...] = ()

    def copied(self, memory: str) -> bool:
        """Whether start-up code copies a part of the weights to RAM."""
        place = self.weights[memory]
        return not next(each for each in self.regions if each.name == place).is_flash

    def unloaded(self, banks: Iterable[str], *, io: bool) -> frozenset[str]:
        """The regions that hold something without contents at start: stack and variables,
        ``banks`` of the arena, and with ``io`` the caller's inputs and outputs."""
        used = (self.data, *(self.banks[bank] for bank in banks))
        return frozenset((*used, self.io) if io else used)
