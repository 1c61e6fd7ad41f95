"""llvm-mca: the cycles of a loop on a model of a CPU, and what the model can do at most."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections.abc import Sequence

from innerloop.assembly import Loop
from innerloop.syntax import Instruction, Syntax

VERSION = 19  # whose models the results are about
# Rounds between which cycles are counted, so that filling and draining the pipeline are left out.
_FEW, _MANY = 200, 1000


def find_mca() -> str | None:
    """The program's name; None when LLVM ``VERSION`` is not installed."""
    for name in (f"llvm-mca-{VERSION}", "llvm-mca"):
        if shutil.which(name):
            text = subprocess.run([name, "--version"], capture_output=True, text=True, check=False)
            if f"LLVM version {VERSION}." in text.stdout:
                return name
    return None


def cycles(mca: str, body: Sequence[Instruction], syntax: Syntax, cpu: str) -> float:
    """Of one round of a loop with this body, that goes on for ever."""
    text = "".join(f"\t{instruction}\n" for instruction in body)
    few, many = (_total_cycles(mca, text, syntax, cpu, rounds) for rounds in (_FEW, _MANY))
    return (many - few) / (_MANY - _FEW)


def bound(mca: str, loop: Loop, syntax: Syntax, cpu: str) -> float:
    """Multiply-adds per cycle of a block of independent ones of the kind that the loop consists of.

    There are as many as registers are left for accumulators beside the operands.
    """
    sample = next(i for i in loop.body if syntax.multiplies(i))
    block = independent(sample, syntax)
    return _rate(mca, tuple(map(str, block)), syntax, cpu)


def independent(sample: Instruction, syntax: Syntax) -> list[Instruction]:
    """Multiply-adds like ``sample`` on registers, none of which waits for another."""
    operands = [o if not syntax.memory.search(o) else sample.operands[1] for o in sample.operands]
    at = syntax.destination % len(operands)
    plain = Instruction(sample.mnemonic, tuple(operands))
    sources = [syntax.named(plain, n) for n in range(len(operands)) if n != at]
    found = []
    for number in range(syntax.registers // len(syntax.named(plain, at))):
        operands[at] = re.sub(r"\d+", str(number), operands[at], count=1)
        candidate = Instruction(sample.mnemonic, tuple(operands))
        if not syntax.named(candidate, at) & frozenset().union(*sources):
            found.append(candidate)
    return found


@functools.cache
def _rate(mca: str, block: tuple[str, ...], syntax: Syntax, cpu: str) -> float:
    text = "".join(f"\t{line}\n" for line in block)
    few, many = (_total_cycles(mca, text, syntax, cpu, rounds) for rounds in (_FEW, _MANY))
    return len(block) * (_MANY - _FEW) / (many - few)


def _total_cycles(mca: str, text: str, syntax: Syntax, cpu: str, rounds: int) -> int:
    model = [f"-mtriple={syntax.triple}", f"-mattr={syntax.features}", f"-mcpu={cpu}"]
    done = subprocess.run(
        [mca, *model, f"-iterations={rounds}"],
        input=text,
        text=True,
        capture_output=True,
        check=True,
    )
    found = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
    assert found, done.stdout
    return int(found[1])
