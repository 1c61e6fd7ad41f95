"""64-bit Arm (A64)."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType

import capstone

from edgeconv.run.build.instructions.base import (
    Effect,
    Flow,
    Machine,
    Meaning,
    Move,
    aligns,
    control,
    moves,
    rules,
)


def _immediate(move: Move, sign: int) -> Callable[[re.Match[str]], Meaning]:
    """An add or sub, whose number may be shifted left by 12."""

    def make(match: re.Match[str]) -> Meaning:
        count = sign * (int(match["n"], 0) << (12 if match["shift"] else 0))
        return Meaning(effect=Effect(move, count, match.groupdict().get("reg") or ""))

    return make


def _write_back(sign: int) -> Callable[[re.Match[str]], Meaning]:
    """An access that moves the stack pointer before (group ``n``) or after it (``m``)."""

    def make(match: re.Match[str]) -> Meaning:
        return Meaning(effect=Effect(Move.GROW, sign * int(match["n"] or match["m"], 0)))

    return make


_RULES = rules(
    [
        (r"bl <N>", control(Flow.CALL)),
        (r"blr\w* (?P<reg>\w+).*", control(Flow.CALL_INDIRECT)),
        (r"b <N>", control(Flow.JUMP)),
        (r"(?:b\.\w+|cbn?z \w+,|tbn?z \w+, <I>,) <N>", control(Flow.BRANCH)),
        (r"br\w* (?P<reg>\w+).*", control(Flow.JUMP_INDIRECT)),
        (r"ret\w*(?: .*)?|brk .*|udf .*|hlt .*", control(Flow.STOP)),
        (r"sub sp, sp, <S>", _immediate(Move.GROW, +1)),
        (r"add sp, sp, <S>", _immediate(Move.GROW, -1)),
        (r".*\[sp, #-(?P<n><D>)\]!|.*\[sp\], #-(?P<m><D>)", _write_back(+1)),
        (r".*\[sp, #(?P<n><D>)\]!|.*\[sp\], #(?P<m><D>)", _write_back(-1)),
        (r"mov sp, (?P<reg>\w+)", moves(Move.RESTORE)),
        (r"sub sp, (?P<reg>\w+), <S>", _immediate(Move.RESTORE, +1)),
        (r"add sp, (?P<reg>\w+), <S>", _immediate(Move.RESTORE, -1)),
        (r"and sp, (?P<reg>\w+), #(?P<n>0xf{8}[0-9a-f]{8})", aligns),
        (r"mov (?P<reg>\w+), sp", moves(Move.SAVE)),
        (r"sub (?P<reg>\w+), sp, <S>", _immediate(Move.SAVE, +1)),
        (r"add (?P<reg>\w+), sp, <S>", _immediate(Move.SAVE, -1)),
        (r"(?!cmp|cmn|tst|st)\w+ sp, .*", moves(Move.UNKNOWN)),
    ],
    N=r"#(?P<n>0x[0-9a-f]+|\d+)",
    I=r"#(?:0x[0-9a-f]+|\d+)",
    S=r"#(?P<n>0x[0-9a-f]+|\d+)(?P<shift>, lsl #12)?",
    D=r"0x[0-9a-f]+|\d+",
)


MACHINE = Machine(
    elf_name="EM_AARCH64",
    capstone_arch=capstone.CS_ARCH_ARM64,
    modes=MappingProxyType({"": capstone.CS_MODE_LITTLE_ENDIAN}),
    rules=_RULES,
    width=lambda _: 4,
    stack_alignment=16,
    computed=r"add {register}, .*",
)
