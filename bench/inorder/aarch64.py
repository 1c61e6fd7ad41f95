"""Instructions of AArch64 as rows of the table that ``core.c`` reads."""

from __future__ import annotations

import re
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction: its kind, cycles until its result is there, those that it keeps the pipes of
    integers, memory and vectors, and the numbers of registers."""

    address: int
    kind: int
    latency: int
    busy: tuple[int, int, int]
    reads: tuple[int, ...]
    writes: tuple[int, ...]

    def __str__(self) -> str:
        named = (self.reads, self.writes)
        reads, writes = (f"{len(some)} {' '.join(map(str, some))}".strip() for some in named)
        busy = " ".join(map(str, self.busy))
        return f"{self.address:x} {self.kind} {self.latency} {busy} {reads} {writes}"


def _named(text: str) -> list[int]:
    found: list[int] = []
    for _, general, _, vector, stack in _REGISTER.findall(text):
        found.append(31 if stack else int(general) if general else _VECTOR + int(vector))
    return found


def _split(text: str) -> list[str]:
    return [part.strip() for part in re.split(r",(?![^\[{]*[\]}])", text) if part.strip()]


def row(address: int, text: str, load_latency: int) -> Row:
    """The instruction ``text``, as objdump prints it, at ``address``.

    A core of two instructions a cycle, as Cortex-A53 and -A55: a multiply-add of a whole vector
    keeps the vector pipe for a cycle and adds to a sum four cycles later; a load of a whole vector
    keeps vectors and memory for two, of half a vector for one (the two-issue rules that ncnn's
    guide to these cores states).
    """
    mnemonic, _, rest = text.strip().partition("\t")
    operands = _split(rest.split("//")[0])
    memory = [operand for operand in operands if operand.startswith("[")]
    of_vectors = any(n >= _VECTOR for operand in operands for n in _named(operand))
    if mnemonic.startswith(("ldr", "ldur")) and operands[0] in ("xzr", "wzr"):
        kind = FETCH_L1 if operands[0] == "xzr" else FETCH_L2
        return Row(address, kind, 1, (0, 1, 0), tuple(_named(memory[0])), ())
    if mnemonic.startswith("ld") and memory:
        data = [n for operand in operands[: operands.index(memory[0])] for n in _named(operand)]
        wide = sum(n >= _VECTOR for n in data)
        cycles = (
            2 * wide if re.match(r"q|\{", operands[0]) and not mnemonic.startswith("ld1r") else 1
        )
        taken = (0, max(1, cycles), cycles if wide else 0)
        also = data if re.search(r"\}\[", operands[0]) else []
        return Row(address, LOAD, load_latency, taken, (*_named(memory[0]), *also), tuple(data))
    if mnemonic.startswith("st") and memory:
        read = [n for operand in operands for n in _named(operand)]
        return Row(address, STORE, 1, (0, 2 if of_vectors else 1, 0), tuple(read), ())
    plain = bool(_NO_RESULT.fullmatch(mnemonic))
    reads_first = plain or bool(_ADDS_UP.fullmatch(mnemonic))
    sources = operands if reads_first else operands[1:]
    reads = [n for operand in sources for n in _named(operand)]
    writes = [] if plain or not operands else _named(operands[0])[:1]
    if _READS_FLAGS.fullmatch(mnemonic):
        reads.append(_FLAGS)
    if _SETS_FLAGS.fullmatch(mnemonic):
        writes.append(_FLAGS)
    busy = (0, 0, 1) if of_vectors else (0, 0, 0)
    latency = 4 if of_vectors else 1
    return Row(address, PLAIN, latency, busy, tuple(reads), tuple(writes))


def as_loads(assembly: str) -> str:
    """Every fetch ahead as a load into the register that is none: QEMU tells of accesses to memory,
    and fetches are none to it.  64 bits stand for the first cache, 32 for the second."""
    text = re.sub(r"\bprfu?m\tpldl1\w+, ", "ldr\txzr, ", assembly, flags=re.IGNORECASE)
    return re.sub(r"\bprfu?m\tpldl2\w+, ", "ldr\twzr, ", text, flags=re.IGNORECASE)
