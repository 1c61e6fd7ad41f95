"""How each architecture writes multiply-adds, loads, stores and registers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of assembly.  ``operands`` as written, separated at commas outside of brackets."""

    mnemonic: str
    operands: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.mnemonic} {', '.join(self.operands)}".rstrip()


# The vector registers that operand number n of an instruction names, parts of one included.
Named = Callable[[Instruction, int], frozenset[int]]


@dataclass(frozen=True, slots=True)
class Syntax:
    """The assembly language of one architecture; patterns match whole mnemonics or operands.

    ``triple`` and ``features`` are LLVM's.  ``end`` matches whole instructions that the next one
    does not follow: jumps and returns.  ``memory`` matches operands in memory where mnemonics do
    not tell.  ``destination``: index of the operand that is written, unless the instruction is a
    load, which writes all vectors that it names.  ``stack`` matches operands relative to the stack
    pointer, ``framed`` those relative to the frame pointer of functions that have one, which is
    where an instruction matches ``frame``.  ``between`` matches what is written on the way to an
    accumulator, where mnemonics do not tell.  ``registers``: vector registers that may accumulate.
    """

    triple: str
    comment: str
    multiply_add: re.Pattern[str]
    load: re.Pattern[str]
    store: re.Pattern[str]
    branch: re.Pattern[str]
    end: re.Pattern[str]
    stack: re.Pattern[str]
    frame: re.Pattern[str]
    framed: re.Pattern[str]
    named: Named
    registers: int
    destination: int = 0
    features: str = ""
    memory: re.Pattern[str] = re.compile(r"(?!)")
    between: re.Pattern[str] = re.compile(r"(?!)")

    def multiplies(self, instruction: Instruction) -> bool:
        """It is a multiply-add, into an accumulator."""
        named = self.multiply_add.fullmatch(instruction.mnemonic)
        return bool(named) and not self.between.search(instruction.operands[self.destination])

    def loads(self, instruction: Instruction) -> bool:
        """It reads memory, be it as an operand."""
        return bool(self.load.fullmatch(instruction.mnemonic)) or any(
            self.memory.search(operand) for operand in instruction.operands[: self.destination]
        )

    def stores(self, instruction: Instruction) -> bool:
        """It writes memory."""
        written = instruction.operands[self.destination :][:1]
        return bool(self.store.fullmatch(instruction.mnemonic)) or any(
            self.memory.search(operand) for operand in written
        )

    def on_stack(self, instruction: Instruction, frame: bool) -> bool:
        """An operand is relative to the stack pointer, or to the frame pointer if there is one."""
        return any(
            self.stack.search(operand) or (frame and self.framed.search(operand))
            for operand in instruction.operands
        )

    def written(self, instruction: Instruction) -> frozenset[int]:
        """The vector registers that an instruction other than a store writes."""
        count = len(instruction.operands)
        if self.load.fullmatch(instruction.mnemonic):
            return frozenset().union(*(self.named(instruction, n) for n in range(count)))
        return self.named(instruction, self.destination % count) if count else frozenset()


def _x86(instruction: Instruction, n: int) -> frozenset[int]:
    match = re.fullmatch(r"%[xyz]mm(\d+)(?: ?\{.*)?", instruction.operands[n])
    return frozenset((int(match[1]),)) if match else frozenset()


def _aarch64(instruction: Instruction, n: int) -> frozenset[int]:
    return frozenset(map(int, re.findall(r"\b[vqds](\d+)\b", instruction.operands[n])))


def _arm(instruction: Instruction, n: int) -> frozenset[int]:
    """q registers, each of which is two d and, up to q7, four s registers."""
    found: set[int] = set()
    pattern = r"\b([qds])(\d+)\b(?:\s*-\s*[qds](\d+))?"
    for kind, first, last in re.findall(pattern, instruction.operands[n]):
        parts = {"q": 1, "d": 2, "s": 4}[kind]
        found |= {i // parts for i in range(int(first), int(last or first) + 1)}
    return frozenset(found)


def _power(instruction: Instruction, n: int) -> frozenset[int]:
    """VSX registers: an accumulator is four of them, a pair two, and v0 is number 32."""
    match = re.fullmatch(r"(?:vs|v|a|f)?(\d+)", instruction.operands[n])
    if not match:
        return frozenset()
    number, mnemonic = int(match[1]), instruction.mnemonic
    if re.match(r"xx(mt|mf|set)acc", mnemonic) or (n == 0 and re.match(r"p?xv\w+ger", mnemonic)):
        return frozenset(range(4 * number, 4 * number + 4))
    if re.fullmatch(r"p?(l|st)xvpx?", mnemonic):
        return frozenset((number, number + 1)) if n == 0 else frozenset()
    if re.match(r"p?(l|st)(xv|xs|v|f)", mnemonic):
        high = re.match(r"p?(l|st)(v|xs\w)", mnemonic) and not re.match(r"(l|st)xs\w+x", mnemonic)
        return frozenset((number + 32 if high else number,)) if n == 0 else frozenset()
    if re.match(r"v", mnemonic):
        return frozenset((number + 32,))
    return frozenset((number,)) if re.match(r"xx|xv|xs|f", mnemonic) else frozenset()


_X86_64 = Syntax(
    triple="x86_64-linux-gnu",
    comment="#",
    multiply_add=re.compile(r"vfn?madd\d+ps|vdpbf16ps|vpdpbusd|vpdpwssd|vpaddd"),
    load=re.compile(r"(?!)"),
    store=re.compile(r"push\w?"),
    branch=re.compile(r"j\w+"),
    end=re.compile(r"(jmp|ret)q?( .*)?"),
    memory=re.compile(r"\("),
    stack=re.compile(r"\(%[er]sp"),
    frame=re.compile(r"movq? %rsp, %rbp"),
    framed=re.compile(r"\(%rbp"),
    named=_x86,
    registers=16,
    destination=-1,
)

_AARCH64 = Syntax(
    triple="aarch64-linux-gnu",
    comment="//",
    multiply_add=re.compile(r"fmla|sdot|smmla|sadalp|smlal2?"),
    between=re.compile(r"\.8h"),
    load=re.compile(r"ld\w+"),
    store=re.compile(r"st\w+"),
    branch=re.compile(r"b(\.\w+|eq|ne|cs|hs|cc|lo|mi|pl|hi|ls|ge|lt|gt|le)?|cbn?z|tbn?z"),
    end=re.compile(r"(b|br|ret)( .*)?"),
    stack=re.compile(r"\[sp"),
    frame=re.compile(r"(mov|add) x29, sp.*"),
    framed=re.compile(r"\[x29"),
    named=_aarch64,
    registers=32,
)

_ARMV7 = Syntax(
    triple="thumbv7-linux-gnueabihf",
    comment="@",
    multiply_add=re.compile(r"v(mla|fma)\.f32|vpadal\.s16|vmlal\.s16"),
    load=re.compile(r"v?ld\w*(\.\w+)?|v?pop"),
    store=re.compile(r"v?st\w*(\.\w+)?|v?push"),
    branch=re.compile(r"b(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?(\.[nw])?|cbn?z"),
    end=re.compile(r"b(\.[nw])? .*|bx .*|.*\bpc\b.*"),
    stack=re.compile(r"\b(sp|r13)\b"),
    frame=re.compile(r"(mov|add) (fp|r7|r11), sp.*"),
    framed=re.compile(r"\[(fp|r7|r11)\b"),
    named=_arm,
    registers=16,
    features="+neon,+vfp4",
)

_PPC64LE = Syntax(
    triple="powerpc64le-linux-gnu",
    comment="#",
    multiply_add=re.compile(r"xvmadd[am]sp|vmaddfp|xvf32gerpp|xvbf16ger2pp|xvi8ger4pp|xvi16ger2pp"),
    load=re.compile(r"p?l(xv|xs|v|f|w|h|b|d|q)\w*"),
    store=re.compile(r"p?st\w+"),
    branch=re.compile(r"b\w*[+-]?"),
    end=re.compile(r"b .*|blr|bctr"),
    stack=re.compile(r"\((r?)1\)$"),
    frame=re.compile(r"mr r?31, r?1"),
    framed=re.compile(r"\(r?31\)$"),
    named=_power,
    registers=32,
)

SYNTAXES: Mapping[str, Syntax] = MappingProxyType(
    {"x86_64": _X86_64, "aarch64": _AARCH64, "armv7l": _ARMV7, "ppc64le": _PPC64LE}
)
