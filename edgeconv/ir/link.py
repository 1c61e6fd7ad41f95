"""Where the parts of a firmware image lie: what the linker script is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
class LinkPlan:
    """By name of a ``Section``: where ``code`` (vectors, machine code, constants and the initial
    values of variables), ``weights``, ``data`` (stack and variables), ``io`` (the caller's inputs
    and outputs) and every bank of the arena lie.

    ``stack``: bytes that the linker reserves unless told otherwise.  ``interrupts``: external ones
    in the vector table.  ``setup``: (register, address, bits to set) before variables are set up.
    ``clock_hz``: of the core, as predictions assume it.
    """

    regions: tuple[Section, ...]
    code: str
    weights: str
    data: str
    io: str
    banks: Mapping[str, str]
    stack: int
    interrupts: int
    setup: tuple[tuple[str, int, int], ...] = ()
    clock_hz: int | None = None
