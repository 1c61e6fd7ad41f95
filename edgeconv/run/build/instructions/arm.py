"""32-bit Arm, A32 and T32 (Thumb)."""

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
    control,
    moves,
    rules,
)

_REGISTER_BYTES = {"s": 4, "d": 8, "q": 16}  # all others have 4
# The first halfword of a 32-bit T32 instruction is at least this (Arm ARM, F3.1).
_FIRST_WIDE = 0xE800
# With the registers of the FPU, and a word to align them (Armv7-M Architecture Reference Manual,
# B1.5.7).
_EXCEPTION_WORDS = 27


def _listed(sign: int, flow: Flow = Flow.NEXT) -> Callable[[re.Match[str]], Meaning]:
    """The stack pointer moves by the registers of the group ``list``."""

    def make(match: re.Match[str]) -> Meaning:
        registers = match["list"].split(", ")
        count = sum(
            _REGISTER_BYTES.get(name[0], 4) if name[1:].isdigit() else 4 for name in registers
        )
        return Meaning(flow, effect=Effect(Move.GROW, sign * count))

    return make


def _width(data: bytes) -> int:
    return 4 if int.from_bytes(data[:2], "little") >= _FIRST_WIDE else 2


def _up(match: re.Match[str]) -> Meaning:
    return Meaning(effect=Effect(Move.GROW, -int(match["n"] or match["m"], 0)))


# Of a conditional instruction the worse outcome counts: growth happens, release does not.
_RULES = rules(
    [
        (r"blx?<C><W> <N>", control(Flow.CALL)),
        (r"blx(?:ns)?<C> (?P<reg>\w+)", control(Flow.CALL_INDIRECT)),
        (r"b(?:al)?<W> <N>", control(Flow.JUMP)),
        (r"b<C><W> <N>", control(Flow.BRANCH)),
        (r"cbn?z \w+, <N>", control(Flow.BRANCH)),
        (r"bx(?:ns)? lr|mov pc, lr|udf.*", control(Flow.STOP)),
        (r"(?:bx|mov)<C> (?:pc, )?lr", control(Flow.NEXT)),
        (r"bx<C> (?P<reg>\w+)", control(Flow.JUMP_INDIRECT)),
        (r"tb[bh] .*", control(Flow.TABLE)),
        (r"(?:pop|ldm(?:ia)?)<W> (?:sp!, )?\{(?P<list>.*), pc\}", control(Flow.STOP)),
        (r"(?:pop|ldm<M>)<W> (?:\w+!?, )?\{(?:.*, )?pc\}", control(Flow.STOP)),
        (r"(?:pop|ldm)\w+<W> (?:\w+!?, )?\{(?:.*, )?pc\}", control(Flow.NEXT)),
        (r"ldr<W> pc, \[sp\], #.*", control(Flow.STOP)),
        (r"ldr<C><W> pc, \[sp\], #.*", control(Flow.NEXT)),
        (r"ldr<C><W> pc, \[\w+, -?[a-z]\w*(?:, lsl #\d+)?\]", control(Flow.TABLE)),
        (r"(?:add|mov)<C><W> pc, .*", control(Flow.TABLE)),
        (r"ldr<C><W> pc, .*", control(Flow.JUMP_INDIRECT)),
        (r"v?push<C><W> \{(?P<list>.*)\}", _listed(+1)),
        (r"v?stm(?:db|fd)<C><W> sp!, \{(?P<list>.*)\}", _listed(+1)),
        (r"v?pop<W> \{(?P<list>.*)\}", _listed(-1)),
        (r"v?ldm(?:ia|fd)?<W> sp!, \{(?P<list>.*)\}", _listed(-1)),
        (r"\w+<W> .*\[sp, #-(?P<n><D>)\]!", moves(Move.GROW)),
        (r"\w+<W> .*\[sp\], #-(?P<n><D>)", moves(Move.GROW)),
        (r"\w+<W> .*\[sp(?:, #(?P<n><D>)\]!|\], #(?P<m><D>))", _up),
        (r"sub<C>[sw]?<W> sp, (?:sp, )?#(?P<n><D>)", moves(Move.GROW)),
        (r"add[sw]?<W> sp, (?:sp, )?#(?P<n><D>)", moves(Move.GROW, -1)),
        (r"mov<W> sp, (?P<reg>\w+)", moves(Move.RESTORE)),
        (r"sub[sw]?<W> sp, (?P<reg>\w+), #(?P<n><D>)", moves(Move.RESTORE)),
        (r"add[sw]?<W> sp, (?P<reg>\w+), #(?P<n><D>)", moves(Move.RESTORE, -1)),
        (r"mov<W> (?P<reg>\w+), sp", moves(Move.SAVE)),
        (r"add[sw]?<W> (?P<reg>\w+), sp, #(?P<n><D>)", moves(Move.SAVE, -1)),
        (r"sub[sw]?<W> (?P<reg>\w+), sp, #(?P<n><D>)", moves(Move.SAVE)),
        # Registers loaded from where the stack pointer points leave it there, unless it is one.
        (r"v?ldm<M><C><W> sp, \{(?!.*\bsp\b).*\}", control(Flow.NEXT)),
        (r"ldm<M><C><W> \w+!?, \{.*\bsp\b.*\}", moves(Move.UNKNOWN)),
        (r"v?(?:ldm|stm)\w*<W> sp!, .*", moves(Move.UNKNOWN)),
        (r"(?!cmp|cmn|tst|teq|v?st|v?push)\w+<W> sp(?:, .*)?", moves(Move.UNKNOWN)),
    ],
    C=r"(?:eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al)?",
    M=r"(?:ia|ib|da|db|fd|ea)?",
    W=r"(?:\.\w+)*",
    N=r"#(?P<n>0x[0-9a-f]+|\d+)",
    D=r"0x[0-9a-f]+|\d+",
)


MACHINE = Machine(
    elf_name="EM_ARM",
    capstone_arch=capstone.CS_ARCH_ARM,
    modes=MappingProxyType(
        {
            "$a": capstone.CS_MODE_ARM | capstone.CS_MODE_V8,
            "$t": capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8,
        }
    ),
    rules=_RULES,
    width=_width,
    stack_alignment=8,
    bits=32,
    exception_bytes=4 * _EXCEPTION_WORDS,
)
