"""64-bit Power, little-endian (ELFv2)."""

from __future__ import annotations

from types import MappingProxyType

import capstone

from edgeconv.run.build.instructions.base import (
    Flow,
    Machine,
    Meaning,
    Move,
    control,
    moves,
    rules,
    writes_below,
)

_RULES = rules(
    [
        (r"bl <N>", control(Flow.CALL)),
        (r"b\w*(?:ctrl|lrl)[+-]?(?: .*)?", control(Flow.CALL_INDIRECT)),
        (r"b <N>", control(Flow.JUMP)),
        (r"b\w*ctr[+-]?(?: .*)?", lambda _: Meaning(Flow.JUMP_INDIRECT, register="ctr")),
        (r"blr|trap", control(Flow.STOP)),
        (r"bcl .*", control(Flow.NEXT)),  # reads the program counter
        (r"b\w+[+-]? (?:.*, )?<N>", control(Flow.BRANCH)),
        (r"stdu r1, -(?P<n><D>)\(r1\)", moves(Move.GROW)),
        (r"addi r1, r1, (?P<n>-?<D>)", moves(Move.GROW, -1)),
        (r"ld r1, 0\(r1\)", moves(Move.RESET)),
        (r"mr r1, (?P<reg>r\d+)", moves(Move.RESTORE)),
        (r"addi r1, (?P<reg>r\d+), (?P<n>-?<D>)", moves(Move.RESTORE, -1)),
        (r"mr (?P<reg>r\d+), r1", moves(Move.SAVE)),
        (r"addi (?P<reg>r\d+), r1, (?P<n><D>)", moves(Move.SAVE, -1)),
        (r"addi r\d+, r1, -(?P<n><D>)", writes_below),
        (r".* -(?P<n><D>)\(r1\)", writes_below),
        (r"stdux \w+, r1, .*", moves(Move.UNKNOWN)),
        (r"(?!cmp|std|stw|st)\w+ r1, .*", moves(Move.UNKNOWN)),
    ],
    N=r"(?P<n>0x[0-9a-f]+|\d+)",
    D=r"(?:0x[0-9a-f]+|\d+)",
)

MACHINE = Machine(
    elf_name="EM_PPC64",
    capstone_arch=capstone.CS_ARCH_PPC,
    modes=MappingProxyType({"": capstone.CS_MODE_64 | capstone.CS_MODE_LITTLE_ENDIAN}),
    rules=_RULES,
    width=lambda _: 4,
    stack_alignment=16,
    red_zone=288,
    computed=r"add {register}, .*",
)
