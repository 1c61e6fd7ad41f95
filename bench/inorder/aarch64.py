"""Instructions of AArch64 as rows of the table that ``core.c`` reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

_FLAGS, _VECTOR = 64, 32
_REGISTER = re.compile(r"\b(?:([xw])(\d+)|([vqdshb])(\d+)(?:\.[\w]+)?|(sp))\b")
# Their first operand is read as well.
_ADDS_UP = re.compile(
    r"(u|s)?(fml[as]l?2?|ml[as]l?2?|dot|adalp|mmla|usdot)|b(s|i)[lt]|bif|ins|movk|bfi|bfxil|bfm|sli|sri"
    r"|(s|u)(ml[as]l2?|aba|abal2?|rsra|sra)|(s|u)?q?(r?shr|xt)u?n2|sqdml\w+"
)
_SETS_FLAGS = re.compile(r"cmp|cmn|tst|(add|sub|and|bic)s|negs|fcmpe?|ccm[pn]|fccmpe?")
_NO_RESULT = re.compile(r"cmp|cmn|tst|fcmpe?|ccm[pn]|fccmpe?|b\..*|b|bl|br|blr|ret|cbn?z|tbn?z|nop")
_READS_FLAGS = re.compile(r"b\..*|c(sel|set|setm|inc|inv|neg|sinc|sinv|sneg|cmp|cmn)|fcsel|adc|sbc")

PLAIN, LOAD, STORE, FETCH_L1, FETCH_L2 = range(5)
ANYWHERE, FIRST, ALONE = range(3)
_ELEMENT = re.compile(r"v\d+\.\w\[\d+\]")


@dataclass(frozen=True, slots=True)
class Rules:
    """What cores differ in.  ``load``, ``insert``: pipes of vectors, of which a multiply-add of a
    whole vector keeps both, that a load of half a vector keeps, and an insertion from a general
    register."""

    load: int
    insert: int


# Tencent/ncnn, developer guide, A53 and A55 dual issue; for Cortex-A53 measured cycles of
# daniestevez/qsdr, tests/instruction_benchmark/aarch64/neon, say the same; for Cortex-A55 LLVM 19,
# AArch64SchedA55.td (but slothy-optimizer/slothy, cortex_a55.py, gives both a pipe there).
RULES: Mapping[str, Rules] = MappingProxyType(
    {"Cortex-A53": Rules(load=1, insert=1), "Cortex-A55": Rules(load=0, insert=0)}
)


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction: its kind, cycles until its result is there (those behind the first ``apart``
    from each other), cycles that it keeps the pipe of memory, pipes of vectors and for how long,
    whether it begins as the first of a cycle or alone, and the numbers of registers."""

    address: int
    kind: int
    latency: int
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    apart: int = 0
    memory: int = 0
    halves: int = 0
    cycles: int = 1
    place: int = ANYWHERE

    def __str__(self) -> str:
        named = (self.reads, self.writes)
        reads, writes = (f"{len(some)} {' '.join(map(str, some))}".strip() for some in named)
        taken = f"{self.apart} {self.memory} {self.halves} {self.cycles} {self.place}"
        return f"{self.address:x} {self.kind} {self.latency} {taken} {reads} {writes}"


def _named(text: str) -> list[int]:
    found: list[int] = []
    for _, general, _, vector, stack in _REGISTER.findall(text):
        found.append(31 if stack else int(general) if general else _VECTOR + int(vector))
    return found


def _split(text: str) -> list[str]:
    return [part.strip() for part in re.split(r",(?![^\[{]*[\]}])", text) if part.strip()]


def _load(
    address: int, mnemonic: str, operands: list[str], at: str, rules: Rules, near: int
) -> Row:
    """A vector is two cycles of both pipes and of the core, and there a cycle later than half."""
    data = [n for operand in operands[: operands.index(at)] for n in _named(operand)]
    wide = sum(n >= _VECTOR for n in data)
    also = data if re.search(r"\}\[", operands[0]) else []
    row = partial(Row, address, LOAD, reads=(*_named(at), *also), writes=tuple(data))
    if wide and re.match(r"q|\{", operands[0]) and not (mnemonic.startswith("ld1r") or also):
        cycles = 2 * wide
        return row(latency=near + 1, apart=2, memory=cycles, halves=2, cycles=cycles, place=ALONE)
    memory = max(1, wide if wide else len(data))
    if wide:
        halves = 2 if mnemonic.startswith("ld1r") or also else rules.load
        return row(latency=near, apart=1, memory=memory, halves=halves, cycles=memory)
    return row(latency=near, memory=memory)


def row(address: int, text: str, near: int, rules: Rules) -> Row:
    """The instruction ``text``, as objdump prints it, at ``address``; a load that is ``near`` has
    this latency.

    A core of two instructions a cycle, as Cortex-A53 and -A55, whose vectors have two pipes of 64
    bits.  On whole vectors instructions keep both and begin as the first of a cycle; a
    multiply-add adds to a sum four cycles later; a load of a whole vector keeps them for two, and
    begins alone (GCC, config/arm/cortex-a53.md, by Arm: cortex_a53_single_issue; ONNX Runtime, pull
    request 10754, of Cortex-A55).  Latencies of loads and insertions: qsdr, as for ``RULES``.
    """
    mnemonic, _, rest = text.strip().partition("\t")
    operands = _split(rest.split("//")[0])
    memory = [operand for operand in operands if operand.startswith("[")]
    of_vectors = any(n >= _VECTOR for operand in operands for n in _named(operand))
    if mnemonic.startswith(("ldr", "ldur")) and operands[0] in ("xzr", "wzr"):
        kind = FETCH_L1 if operands[0] == "xzr" else FETCH_L2
        return Row(address, kind, 1, tuple(_named(memory[0])), memory=1)
    if mnemonic.startswith("ld") and memory:
        return _load(address, mnemonic, operands, memory[0], rules, near)
    if mnemonic.startswith("st") and memory:
        read = tuple(n for operand in operands for n in _named(operand))
        taken = 2 if of_vectors else 1
        return Row(address, STORE, 1, read, memory=taken, halves=2 if of_vectors else 0)
    inserts = mnemonic in ("ins", "mov") and bool(_ELEMENT.match(operands[0]))
    plain = bool(_NO_RESULT.fullmatch(mnemonic))
    reads_first = plain or inserts or bool(_ADDS_UP.fullmatch(mnemonic))
    sources = operands if reads_first else operands[1:]
    reads = [n for operand in sources for n in _named(operand)]
    writes = [] if plain or not operands else _named(operands[0])[:1]
    if _READS_FLAGS.fullmatch(mnemonic):
        reads.append(_FLAGS)
    if _SETS_FLAGS.fullmatch(mnemonic):
        writes.append(_FLAGS)
    made = partial(Row, address, PLAIN, reads=tuple(reads), writes=tuple(writes))
    if not of_vectors:
        return made(latency=1)
    if inserts and _named(operands[1])[:1] < [_VECTOR]:
        return made(latency=2, halves=rules.insert)
    whole = re.search(r"\.(16b|8h|4s|2d)\b", rest)
    return made(latency=4, halves=2, place=FIRST) if whole else made(latency=4, halves=1)


def as_loads(assembly: str) -> str:
    """Every prefetch as a load into the register that is none: QEMU tells of accesses to memory,
    and fetches are none to it.  64 bits stand for the first cache, 32 for the second."""
    text = re.sub(r"\bprfu?m\tpldl1\w+, ", "ldr\txzr, ", assembly, flags=re.IGNORECASE)
    return re.sub(r"\bprfu?m\tpldl2\w+, ", "ldr\twzr, ", text, flags=re.IGNORECASE)
