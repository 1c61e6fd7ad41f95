"""Basic blocks: instructions of which only the last may branch.

A conditional instruction that ends a block, as ``POPNE {PC}``, is a branch to a block of its own:
that instruction without its condition, at its address + 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from edgeconv.run.cycles.operation import PC, Operation

ACCESS = {
    "ldr": (4, ""), "ldrb": (1, ""), "ldrh": (2, ""), "ldrsb": (1, "8"), "ldrsh": (2, "16"),
    "str": (4, ""), "strb": (1, ""), "strh": (2, ""), "vldr": (4, ""), "vstr": (4, ""),
    "ldrd": (4, ""), "strd": (4, ""),
}  # fmt: skip
MULTIPLE = {
    "ldm": 0, "pop": 0, "vldmia": 0, "vpop": 0, "ldmdb": -1, "vldmdb": -1,
    "stm": 0, "vstmia": 0, "push": -1, "vpush": -1, "stmdb": -1, "vstmdb": -1,
}  # fmt: skip
TABLES = {"tbb": 1, "tbh": 2}


class Ends(Enum):
    """How a block ends."""

    JUMP = auto()  # or runs into the next
    BRANCH = auto()  # to ``taken`` or on
    CALL = auto()
    INDIRECT = auto()  # a return, or a jump to an address that was computed
    TABLE = auto()


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions that are executed one after the other.

    ``run``: executes them on a machine; the address behind them, None where it is unknown.
    ``operations``: none of a branch that stands for one of a switch's (`switches.chain`).
    ``taken``: where a branch or call goes, None when a register says it.
    """

    address: int
    operations: tuple[Operation, ...]
    ends: Ends
    taken: int | None
    following: int
    run: Callable[[Any], int | None]

    @property
    def text(self) -> str:
        """The instruction that ends it."""
        return self.operations[-1].text if self.operations else "a switch"


@dataclass(frozen=True, slots=True)
class Cost:
    """Cycles of a block: of all its instructions, and more where its last one branches."""

    cycles: int
    taken: int


def is_store(operation: Operation) -> bool:
    """Whether it writes to memory."""
    return operation.name.lstrip("v").startswith(("st", "push"))


def access_bytes(operation: Operation) -> tuple[int, int]:
    """Bytes of each transfer of a load or store, and how many there are.  (0, 0): it is none."""
    if operation.name in ACCESS:
        return ACCESS[operation.name][0], len(operation.registers)
    if operation.name in MULTIPLE:
        return 4, len(operation.registers) - (operation.name[-1] in "mab")
    return 0, 0


def end_of(operation: Operation) -> Ends | None:
    """How an instruction ends a block; None: it does not."""
    name = operation.name
    if name == "b":
        return Ends.BRANCH if operation.condition else Ends.JUMP
    if name in ("cbz", "cbnz"):
        return Ends.BRANCH
    if name in ("bl", "blx"):
        return Ends.CALL
    if name in TABLES:
        return Ends.TABLE
    if name == "bx" or PC in operation.written:
        return Ends.BRANCH if operation.condition else Ends.INDIRECT
    return None
