"""Instructions as the stack analysis sees them: where control goes, what the stack pointer does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from capstone import Cs


class Flow(Enum):
    """Where control goes after an instruction."""

    NEXT = auto()
    CALL = auto()  # and back
    CALL_INDIRECT = auto()
    BRANCH = auto()  # to the target or on
    JUMP = auto()
    JUMP_INDIRECT = auto()
    TABLE = auto()  # a switch: somewhere in the same function
    STOP = auto()  # returns, or traps


class Move(Enum):
    """What an instruction does to the stack pointer or to a copy of it."""

    GROW = auto()  # moves it down by ``bytes``; up when negative
    ALIGN = auto()  # rounds it down to a multiple of ``bytes``, from ``register`` when given
    SAVE = auto()  # ``register`` = stack pointer - ``bytes``
    RESTORE = auto()  # stack pointer = ``register`` - ``bytes``
    RESET = auto()  # as it was when the function was entered
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Effect:
    """One change of the stack pointer (see Move)."""

    move: Move
    bytes: int = 0
    register: str = ""


@dataclass(frozen=True, slots=True)
class Meaning:
    """One instruction's meaning.

    ``target``: the address a direct branch names.  ``register``: that an indirect jump takes it
    from.  ``below``: how many bytes below the stack pointer it may write (red zone).
    """

    flow: Flow = Flow.NEXT
    target: int | None = None
    register: str = ""
    effect: Effect | None = None
    below: int = 0


NOTHING = Meaning()
_REMEMBERED = 1 << 16  # texts of instructions of one architecture; programs repeat most of theirs
Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], Meaning]]


@dataclass(frozen=True, slots=True)
class Instruction:
    """A decoded instruction; ``text`` is the disassembler's, "(bad)" when it knows none."""

    address: int
    size: int
    text: str
    meaning: Meaning


@dataclass(frozen=True, slots=True)
class Machine:
    """One architecture.

    ``elf_name``: as pyelftools spells ``e_machine``; ``bits`` of an address.  ``modes``: capstone's
    mode for each kind of code; "" where an architecture has one, otherwise the name of the mapping
    symbol ($a, $t).
    ``width``: bytes of an instruction that cannot be decoded.  ``entry_bytes``: what a call itself
    pushes, before which the stack pointer was a multiple of ``stack_alignment``.  ``red_zone``:
    bytes below the stack pointer that a function without calls may write.  ``computed``: pattern of
    the instruction that computes the address of a switch's branch, with {register} for the register
    that is then jumped to; where it loads that address from an entry of a table, whose address the
    group ``index`` has, ``indexed`` is the pattern of what computes that.  ``exception_bytes``:
    what the processor saves on the stack when it takes an exception.  ``placed``: an instruction
    with the target that the one before it and its own address give it, where its text does not say.
    ``far_bytes``: so far before the jump of a far call, of two instructions, lies the relocation of
    both, of a type in ``far_calls``.  ``remarks``: types of relocations that tell linkers what they
    may do, not where a symbol is.
    """

    elf_name: str
    capstone_arch: int
    modes: Mapping[str, int]
    rules: Sequence[Rule]
    width: Callable[[bytes], int]
    stack_alignment: int
    bits: int = 64
    entry_bytes: int = 0
    red_zone: int = 0
    computed: str = ""
    indexed: str = ""
    exception_bytes: int = 0
    placed: Callable[[Instruction | None, Instruction], Instruction] | None = None
    far_bytes: int = 0
    far_calls: frozenset[int] = frozenset()
    remarks: frozenset[int] = frozenset()
    _decoders: dict[str, Cs] = field(default_factory=dict, compare=False, repr=False)
    _meanings: dict[str, Meaning] = field(default_factory=dict, compare=False, repr=False)

    def decode(self, data: bytes, address: int, mode: str = "") -> Iterator[Instruction]:
        """The instructions of ``data``, which lies at ``address``."""
        before: Instruction | None = None
        for instruction in self._disassembled(data, address, mode):
            yield self.placed(before, instruction) if self.placed else instruction
            before = instruction

    def _disassembled(self, data: bytes, address: int, mode: str) -> Iterator[Instruction]:
        if mode not in self._decoders:
            self._decoders[mode] = Cs(self.capstone_arch, self.modes[mode])
        at = 0
        while at < len(data):
            for where, size, name, operands in self._decoders[mode].disasm_lite(
                data[at:], address + at
            ):
                text = f"{name} {operands}".rstrip()
                yield Instruction(where, size, text, self.meaning(text))
                at = where - address + size
            if at < len(data):
                size = min(self.width(data[at : at + 4]), len(data) - at)
                yield Instruction(address + at, size, "(bad)", NOTHING)
                at += size

    def meaning(self, text: str) -> Meaning:
        """The meaning of an instruction: that of the first rule that matches all of its text."""
        found = self._meanings.get(text)
        if found is None:
            if len(self._meanings) >= _REMEMBERED:
                self._meanings.clear()
            found = self._meanings[text] = self._matched(text)
        return found

    def _matched(self, text: str) -> Meaning:
        for pattern, make in self.rules:
            match = pattern.fullmatch(text)
            if match:
                return make(match)
        return NOTHING


def rules(
    table: Sequence[tuple[str, Callable[[re.Match[str]], Meaning]]], **names: str
) -> tuple[Rule, ...]:
    """Compile a table of patterns; ``<NAME>`` in a pattern stands for ``names["NAME"]``."""
    compiled = []
    for pattern, make in table:
        for name, value in names.items():
            pattern = pattern.replace(f"<{name}>", value)
        compiled.append((re.compile(pattern), make))
    return tuple(compiled)


def number(match: re.Match[str], group: int | str = "n") -> int:
    """The number in a group, decimal or hexadecimal."""
    return int(match[group], 0)


def control(flow: Flow) -> Callable[[re.Match[str]], Meaning]:
    """A rule's right side: control goes to the group ``n``, or to where the group ``reg`` says."""

    def make(match: re.Match[str]) -> Meaning:
        groups = match.groupdict()
        target = number(match) if groups.get("n") else None
        return Meaning(flow, target=target, register=groups.get("reg") or "")

    return make


def moves(move: Move, sign: int = 1, flow: Flow = Flow.NEXT) -> Callable[[re.Match[str]], Meaning]:
    """A rule's right side: ``sign`` times the group ``n`` bytes (0 without), register ``reg``."""

    def make(match: re.Match[str]) -> Meaning:
        groups = match.groupdict()
        count = sign * number(match) if groups.get("n") else 0
        return Meaning(flow, effect=Effect(move, count, groups.get("reg") or ""))

    return make


def aligns(match: re.Match[str]) -> Meaning:
    """A rule's right side: the stack pointer, or the register ``reg``, rounded down by the mask
    ``n``, which is -alignment as 64 bits."""
    return Meaning(
        effect=Effect(Move.ALIGN, (1 << 64) - number(match), match.groupdict().get("reg") or "")
    )


def writes_below(match: re.Match[str]) -> Meaning:
    """A rule's right side: memory is written ``n`` bytes below the stack pointer."""
    return Meaning(below=number(match))
