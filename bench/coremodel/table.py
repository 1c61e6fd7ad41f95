"""Rows of the table that replay.c reads: what a core takes of each instruction word."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from inorder import aarch64

from coremodel.cores import Core
from coremodel.disassembly import Model, disassembled, models, shape

_FLOATS = re.compile(r"fml[as]l?2?")
_INTEGERS = re.compile(r"[us]?(ml[as]l?2?|dot|adalp|mmla|abal?2?|usdot)")
_CONDITIONAL = re.compile(r"b\..+|cbn?z|tbn?z")
_PREFETCH = re.compile(r"prfu?m")
_SEEN_PREFETCH = ("ldrb", "wzr")  # in its place, of programs made for the recorder (emitted.py)
_ADDRESS = re.compile(r"\[(?:x(\d+)|(sp))(?:, #(-?\d+))?\]")
PLAIN, LOAD, STORE, BRANCH, PREFETCH = range(5)  # of pipeline.h
_KINDS = {aarch64.LOAD: LOAD, aarch64.STORE: STORE}
_STACK = 31
_UNKNOWN = Model(1, 1, {})
_MOST_NAMED, _MOST_USES = 12, 8  # NAMED and USES of pipeline.h
_MEMORY, _HALF, _OTHER_HALF = 1, 2, 4  # pipes of cores in order
Uses = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction word.

    ``latency``: cycles until what it writes is there; ``chained``: until the register that it
    ``accumulates`` in (-1: none) is there for the next multiply-add.  ``base`` and ``offset``:
    where it accesses memory, -1 where that is not a register and a number.  ``uses``: masks of
    pipes any of which serves, and cycles of it.
    """

    word: int
    kind: int
    latency: int
    uops: int
    place: int
    accumulates: int
    chained: int
    base: int
    offset: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    uses: Uses

    def __str__(self) -> str:
        numbers = [self.kind, self.latency, self.uops, self.place, self.accumulates, self.chained]
        numbers += [self.base, self.offset]
        for named in (self.reads[:_MOST_NAMED], self.writes[:_MOST_NAMED]):
            numbers += [len(named), *named]
        uses = self.uses[:_MOST_USES]
        numbers += [len(uses), *(number for use in uses for number in use)]
        return f"{self.word:08x} {' '.join(map(str, numbers))}"


def rows(words: Iterable[int], core: Core, cpu: str, near: int) -> Iterator[Row]:
    """A row of each word that LLVM's disassembler knows.

    ``near``: latency of the first cache, of cores in order.  Raises EdgeconvError without LLVM.
    """
    texts = disassembled(words)
    shapes = {text: shape(text) for text in texts.values()}
    said = {} if core.in_order else models(sorted(set(shapes.values())), core.model)
    rules = aarch64.RULES.get(cpu, aarch64.Rules(load=0, insert=0))
    pipes: dict[str, int] = {}
    for word, text in texts.items():
        made = aarch64.row(word, text, near, rules)
        if core.in_order:
            yield _row(word, text, made, made.latency, 1, made.place, made.latency, _in_order(made))
            continue
        model = said.get(shapes[text], _UNKNOWN)
        mnemonic = text.partition("\t")[0]
        floats = bool(_FLOATS.fullmatch(mnemonic))
        latency = core.multiply_add if floats else model.latency
        chained = core.chained[0 if floats else 1]
        uops = max(1, math.ceil(model.uops / core.micro_operations))
        uses = tuple(_uses(model.pipes, pipes))
        yield _row(word, text, made, latency, uops, aarch64.ANYWHERE, chained, uses)


def _row(
    word: int,
    text: str,
    made: aarch64.Row,
    latency: int,
    uops: int,
    place: int,
    chained: int,
    uses: Uses,
) -> Row:
    mnemonic, _, operands = text.partition("\t")
    kind = _KINDS.get(made.kind, PLAIN)
    base, offset = _address(operands)
    reads, writes = made.reads, made.writes
    if _CONDITIONAL.fullmatch(mnemonic):
        kind = BRANCH
    elif _PREFETCH.fullmatch(mnemonic):
        kind, reads, writes = PREFETCH, (base,) if base >= 0 else (), ()
    elif (mnemonic, operands.partition(",")[0]) == _SEEN_PREFETCH:
        kind = PREFETCH
    adds_up = _FLOATS.fullmatch(mnemonic) or _INTEGERS.fullmatch(mnemonic)
    into = writes[0] if adds_up and writes else -1
    chained = chained if into >= 0 else latency
    return Row(word, kind, latency, uops, place, into, chained, base, offset, reads, writes, uses)


def _address(operands: str) -> tuple[int, int]:
    """Base register and offset of what is accessed; -1 where it has an index, or changes before."""
    found = _ADDRESS.search(operands)
    if not found or operands[found.end() :].startswith("!"):
        return -1, 0
    return _STACK if found[2] else int(found[1]), int(found[3] or 0)


def _in_order(made: aarch64.Row) -> Uses:
    found = [(_MEMORY, made.memory)] if made.memory else []
    if made.halves == 1:
        found.append((_HALF | _OTHER_HALF, made.cycles))
    elif made.halves:
        found += [(_HALF, made.cycles), (_OTHER_HALF, made.cycles)]
    return tuple(found)


def _uses(pipes: Mapping[str, float], numbers: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Pipes of one kind serve alike where an instruction was spread over them."""
    kinds: dict[str, list[str]] = {}
    for name, cycles in pipes.items():
        kinds.setdefault(_kind(name, cycles), []).append(name)
    for members in kinds.values():
        mask = sum(1 << numbers.setdefault(name, len(numbers)) for name in members)
        whole = max(1, round(sum(pipes[name] for name in members)))
        yield from [(mask, whole)] if len(members) == 1 else [(mask, 1)] * whole


def _kind(pipe: str, cycles: float) -> str:
    """LLVM numbers the pipes of a group, and has letters for Cortex-A57's two of vectors; Neoverse
    N1's of simple integers include that of others, M, over which only these are spread."""
    name = re.sub(r"[0-9]*(#[0-9]+)?$", "", pipe)
    if name.endswith("UnitM") and cycles % 1:
        return name.replace("UnitM", "UnitS")
    return re.sub(r"Unit[WX]$", "UnitV", name)
