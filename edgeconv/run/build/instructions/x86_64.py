"""x86-64."""

from __future__ import annotations

from types import MappingProxyType

import capstone

from edgeconv.run.build.instructions.base import (
    NOTHING,
    Effect,
    Flow,
    Machine,
    Meaning,
    Move,
    aligns,
    control,
    moves,
    rules,
    writes_below,
)

_RULES = rules(
    [
        (r"(?:bnd |notrack )?call <N>", control(Flow.CALL)),
        (r"(?:bnd |notrack )?call (?P<reg>.*)", control(Flow.CALL_INDIRECT)),
        (r"(?:bnd )?jmp <N>", control(Flow.JUMP)),
        (r"notrack jmp .*", control(Flow.TABLE)),
        (r"(?:bnd )?jmp (?P<reg>.*)", control(Flow.JUMP_INDIRECT)),
        (r"(?:bnd )?(?:j\w+|loop\w*) <N>", control(Flow.BRANCH)),
        (r"(?:bnd |repz? )?ret.*|ud2|hlt|int3", control(Flow.STOP)),
        (r"pushf?q?(?: .*)?", lambda _: Meaning(effect=Effect(Move.GROW, 8))),
        (r"popf?q?(?: .*)?", lambda _: Meaning(effect=Effect(Move.GROW, -8))),
        (r"sub rsp, (?P<n>-?<D>)", moves(Move.GROW)),
        (r"add rsp, (?P<n>-?<D>)", moves(Move.GROW, -1)),
        (r"lea rsp, \[rsp - (?P<n><D>)\]", moves(Move.GROW)),
        (r"lea rsp, \[rsp \+ (?P<n><D>)\]", moves(Move.GROW, -1)),
        (r"and rsp, (?P<n>0xf{8}[0-9a-f]{8})", aligns),
        (r"leave", lambda _: Meaning(effect=Effect(Move.RESTORE, -8, "rbp"))),
        (r"mov rsp, (?P<reg>r\w+)", moves(Move.RESTORE)),
        (r"lea rsp, \[(?P<reg>r\w+) - (?P<n><D>)\]", moves(Move.RESTORE)),
        (r"lea rsp, \[(?P<reg>r\w+)(?: \+ (?P<n><D>))?\]", moves(Move.RESTORE, -1)),
        (r"mov (?P<reg>r\w+), rsp", moves(Move.SAVE)),
        (r"lea (?P<reg>r\w+), \[rsp(?: \+ (?P<n><D>))?\]", moves(Move.SAVE, -1)),
        (r"(?:cmp|test) .*", lambda _: NOTHING),
        (r"\w+ rsp(?:, .*)?", moves(Move.UNKNOWN)),
        (r".*\[rsp[^\]]* - (?P<n><D>)\].*", writes_below),
    ],
    N=r"(?P<n>0x[0-9a-f]+|\d+)",
    D=r"(?:0x[0-9a-f]+|\d+)",
)

MACHINE = Machine(
    elf_name="EM_X86_64",
    capstone_arch=capstone.CS_ARCH_X86,
    modes=MappingProxyType({"": capstone.CS_MODE_64}),
    rules=_RULES,
    width=lambda _: 1,
    stack_alignment=16,
    entry_bytes=8,
    red_zone=128,
    computed=r"add {register}, .*",
)
