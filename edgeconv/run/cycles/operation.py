"""Instructions of T32 (Thumb) with their operands, as the execution on unknown data takes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import capstone
from capstone import arm

from edgeconv.run.build.instructions import MACHINES

SP, LR, PC = 13, 14, 15
FIRST_SINGLE = 16  # s0 among the registers; d0 is s0 and s1
REGISTERS = FIRST_SINGLE + 32
_CORE = {"sb": 9, "sl": 10, "fp": 11, "ip": 12, "sp": SP, "lr": LR, "pc": PC}
_CONDITIONS = dict(
    zip(
        range(arm.ARM_CC_EQ, arm.ARM_CC_AL),
        ("eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"),
        strict=True,
    )
)
_SHIFTS = {
    arm.ARM_SFT_ASR: "asr",
    arm.ARM_SFT_LSL: "lsl",
    arm.ARM_SFT_LSR: "lsr",
    arm.ARM_SFT_ROR: "ror",
    arm.ARM_SFT_RRX: "rrx",
}
# What the disassembler calls an instruction by the name that it has had before UAL.
# It does not say of all registers of a list that they are written.
_LISTS = ("ldm", "pop", "vldm", "vpop")
_NAMES = {"movs": "mov", "fmstat": "vmrs", "fconsts": "vmov", "fconstd": "vmov"}


@dataclass(frozen=True, slots=True)
class Register:
    """An operand; ``shift``: what is done to it first, by ``amount`` bits."""

    index: int
    shift: str = ""
    amount: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """An address: ``base`` + (``index`` << ``shift``) + ``distance``; of PC the aligned one."""

    base: int
    index: int | None
    shift: int
    distance: int


@dataclass(frozen=True, slots=True)
class Operation:
    """One instruction.

    ``name``: without condition, width and flags.  ``condition``: "" always.  ``operands``: numbers
    and registers, of loads and stores those that are transferred.  ``written``: registers that it
    writes, those of an address left out.  ``increment``: what is added to the base of ``place``
    afterwards, 0 where it stays.  ``ahead``: bytes added to it before, by write-back.
    """

    address: int
    size: int
    name: str
    text: str
    condition: str
    sets_flags: bool
    operands: tuple[Register | int, ...]
    written: frozenset[int]
    place: Place | None
    writes_back: bool
    increment: int | Register

    @property
    def following(self) -> int:
        """The address behind it."""
        return self.address + self.size

    @property
    def registers(self) -> tuple[int, ...]:
        """The register operands, in order."""
        return tuple(o.index for o in self.operands if isinstance(o, Register))

    @property
    def read(self) -> frozenset[int]:
        """Registers that it reads, those of an address included; more than it does of some."""
        place = self.place
        of_place = () if place is None else (place.base, place.index)
        return frozenset((*self.registers, *(r for r in of_place if r is not None)))


class Decoder:
    """Decodes T32.  Keeps nothing of what it decodes."""

    def __init__(self) -> None:
        machine = MACHINES["EM_ARM", 32]
        self._capstone = capstone.Cs(machine.capstone_arch, machine.modes["$t"])
        self._capstone.detail = True

    def decode(self, data: bytes, address: int) -> Iterator[Operation]:
        """The instructions of ``data`` in order, up to the first that is none."""
        return map(self._made, self._capstone.disasm(data, address))

    def _made(self, found: Any) -> Operation:
        name = found.insn_name()
        if name == "hint" and found.mnemonic.startswith("nop"):
            name = "nop"  # the only one of the hints of Thumb-2 that takes a known time
        listed: list[Register | int] = []
        place: Place | None = None
        written: set[int] = set()
        for operand in found.operands:
            if operand.type == arm.ARM_OP_REG:
                for register in self._indices(operand.reg):
                    shift = _SHIFTS.get(operand.shift.type, "")
                    listed.append(Register(register, shift, operand.shift.value))
                    if operand.access & capstone.CS_AC_WRITE or name.startswith(_LISTS):
                        written.add(register)
            elif operand.type == arm.ARM_OP_MEM:
                place = self._place(operand)
            elif operand.type == arm.ARM_OP_IMM:
                listed.append(operand.imm)
        increment: int | Register = 0
        if found.post_index and place:
            increment = listed.pop()
        return Operation(
            found.address,
            found.size,
            _NAMES.get(name, name),
            f"{found.mnemonic} {found.op_str}".rstrip(),
            _CONDITIONS.get(found.cc, ""),
            bool(found.update_flags) or name == "movs",
            tuple(listed),
            frozenset(written),
            place,
            bool(found.writeback),
            increment,
        )

    def _place(self, operand: Any) -> Place:
        memory = operand.mem
        index = self._indices(memory.index)[0] if memory.index else None
        return Place(self._indices(memory.base)[0], index, operand.shift.value, memory.disp)

    def _indices(self, register: int) -> tuple[int, ...]:
        """Where a register of the disassembler stands; of a double two; () of special ones."""
        name = self._capstone.reg_name(register)
        if name in _CORE:
            return (_CORE[name],)
        kind, number = name[0], name[1:]
        if not number.isdigit():
            return ()
        if kind == "r":
            return (int(number),)
        if kind == "s":
            return (FIRST_SINGLE + int(number),)
        first = FIRST_SINGLE + 2 * int(number)
        return (first, first + 1) if kind == "d" and first + 1 < REGISTERS else ()
