"""RISC-V of 32 bits and of 64, with compressed instructions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import capstone

from edgeconv.run.build.instructions.base import (
    Effect,
    Flow,
    Instruction,
    Machine,
    Meaning,
    Move,
    control,
    moves,
    rules,
)

# Both lowest bits of an instruction of 32 bits are set (RISC-V Unprivileged ISA, 1.5).
_WIDE = 3
_PAGE = re.compile(r"(?P<op>auipc|(?:c\.)?lui) (?P<reg>\w+), (?P<n>-?(?:0x[0-9a-f]+|\d+))")
_THROUGH = re.compile(
    r"(?:c\.)?j(?:al)?r (?:\w+, )??(?P<reg>\w+)(?:, (?P<n>-?(?:0x[0-9a-f]+|\d+)))?"
)
_DIRECT = {Flow.CALL_INDIRECT: Flow.CALL, Flow.JUMP_INDIRECT: Flow.JUMP}
_PAGE_BITS, _AUIPC_BYTES = 12, 4
_SUM = r"(?:c\.)?add {register}, .*"
_CALLS = frozenset({18, 19})  # R_RISCV_CALL, R_RISCV_CALL_PLT
_REMARKS = frozenset({43, 51})  # R_RISCV_ALIGN, R_RISCV_RELAX


def _added(move: Move) -> Callable[[re.Match[str]], Meaning]:
    """An addition of ``n`` to the stack pointer, or between it and ``reg``."""

    def make(match: re.Match[str]) -> Meaning:
        register = match.groupdict().get("reg") or ""
        return Meaning(effect=Effect(move, -int(match["n"], 0), register))

    return make


def _width(data: bytes) -> int:
    return 4 if data[0] & _WIDE == _WIDE else 2


def _placed(mask: int, before: Instruction | None, instruction: Instruction) -> Instruction:
    """``instruction`` with the address that it goes to, of the bits of ``mask``: its text has the
    distance, or, of a far one, what is added to the page that AUIPC or LUI has put into a register
    just ``before``."""
    meaning = instruction.meaning
    if meaning.target is not None:
        target = instruction.address + meaning.target & mask
        return replace(instruction, meaning=replace(meaning, target=target))
    page = _PAGE.fullmatch(before.text) if before else None
    through = _THROUGH.fullmatch(instruction.text)
    if before is None or not page or not through or page["reg"] != through["reg"]:
        return instruction
    flow = _DIRECT.get(meaning.flow, meaning.flow)
    distance = (int(page["n"], 0) << _PAGE_BITS) + int(through["n"] or "0", 0)
    origin = before.address if page["op"] == "auipc" else 0
    target = origin + distance & mask
    return replace(instruction, meaning=replace(meaning, flow=flow, target=target, register=""))


_RULES = rules(
    [
        (r"(?:c\.)?jal (?:(?:ra|t0), )?<N>", control(Flow.CALL)),
        (r"(?:c\.j|j|jal zero,) <N>", control(Flow.JUMP)),
        (r"(?:c\.)?b\w+ .*, <N>", control(Flow.BRANCH)),
        (r"m?ret|(?:c\.)?jr ra|(?:c\.)?unimp", control(Flow.STOP)),
        (r"jalr zero, (?P<reg>\w+)(?:, <D>)?", control(Flow.JUMP_INDIRECT)),
        (r"(?:c\.)?jr (?P<reg>\w+)(?:, <D>)?", control(Flow.JUMP_INDIRECT)),
        (r"(?:c\.)?j\S* (?:\w+, )??(?P<reg>\w+)(?:, <D>)?", control(Flow.CALL_INDIRECT)),
        (r"(?:c\.)?addi(?:16sp)? sp, (?:sp, )?<N>", _added(Move.GROW)),
        (r"addi sp, (?P<reg>\w+), <N>", _added(Move.RESTORE)),
        (r"(?:c\.addi4spn|addi) (?P<reg>\w+), sp, <N>", _added(Move.SAVE)),
        (r"(?:c\.)?mv sp, (?P<reg>\w+)", moves(Move.RESTORE)),
        (r"(?:c\.)?mv (?P<reg>\w+), sp", moves(Move.SAVE)),
        (r"(?!(?:c\.)?(?:f?s[bhwd]|b))[\w.]+ sp(?:, .*)?", moves(Move.UNKNOWN)),
    ],
    N=r"(?P<n>-?(?:0x[0-9a-f]+|\d+))",
    D=r"-?(?:0x[0-9a-f]+|\d+)",
)


def _machine(bits: int, mode: int, computed: str) -> Machine:
    """Addresses of ``bits``; ``computed``: see `Machine`."""
    return Machine(
        elf_name="EM_RISCV",
        capstone_arch=capstone.CS_ARCH_RISCV,
        modes=MappingProxyType({"": mode | capstone.CS_MODE_RISCVC}),
        rules=_RULES,
        width=_width,
        stack_alignment=16,
        bits=bits,
        computed=computed,
        indexed=_SUM,
        exception_bytes=0,
        placed=partial(_placed, (1 << bits) - 1),
        far_bytes=_AUIPC_BYTES,
        far_calls=_CALLS,
        remarks=_REMARKS,
    )


# Tables of switches have addresses, or, of code that may be linked anywhere (libgcc) and where
# addresses have 64 bits, distances of 32.
_ADDRESS = r"(?:c\.)?lw {register}, 0\((?P<index>\w+)\)"
MACHINES = (
    _machine(32, capstone.CS_MODE_RISCV32, f"{_ADDRESS}|{_SUM}"),
    _machine(64, capstone.CS_MODE_RISCV64, _SUM),
)
