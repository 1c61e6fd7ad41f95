"""Assembly as compilers print it: functions, their innermost loops, and what these do.

A micro-kernel's inner loop reads its two operands and writes nothing but registers.  So every store
in it is a spill, and so is every access relative to the stack or frame pointer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from innerloop.syntax import Instruction, Syntax


@dataclass(frozen=True, slots=True)
class Loop:
    """An innermost loop, its branch last, and what one round of it does.

    ``loads`` includes multiply-adds with an operand in memory.  ``others``: vector instructions
    that neither multiply and add nor touch memory.  ``spills``: see the module's text.
    ``reloads``: writes to an accumulator other than by a multiply-add.
    """

    body: tuple[Instruction, ...]
    multiply_adds: int
    loads: int
    others: int
    spills: int
    reloads: int

    @property
    def sound(self) -> bool:
        """No spill and no accumulator that moves."""
        return not self.spills and not self.reloads


def functions(text: str) -> dict[str, list[str]]:
    """The lines of every function in a compiler's output, by name."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    types = set(re.findall(r"^\s*\.type\s+(\w+),\s*[@%]function", text, re.MULTILINE))
    for line in text.splitlines():
        label = re.match(r"(\w+):", line)
        if label and label[1] in types:
            current = found.setdefault(label[1], [])
        elif line.lstrip().startswith(".size"):
            current = []
        else:
            current.append(line)
    return found


def loops(lines: Sequence[str], syntax: Syntax) -> list[Loop]:
    """The innermost loops of one function that multiply and add, the one that does most first."""
    code, labels = _parse(lines, syntax)
    frame = any(syntax.frame.fullmatch(str(instruction)) for instruction in code)
    spans = []
    for end, instruction in enumerate(code):
        start = _goal(instruction, labels, syntax)
        if (
            start is not None
            and start <= end
            and _returns(code[start : end + 1], start, labels, syntax)
        ):
            spans.append((start, end))
    found = [
        _count(code[start : end + 1], syntax, frame)
        for start, end in spans
        if not any((s, e) != (start, end) and s >= start and e <= end for s, e in spans)
    ]
    return sorted((loop for loop in found if loop.multiply_adds), key=lambda x: -x.multiply_adds)


def _goal(instruction: Instruction, labels: Mapping[str, int], syntax: Syntax) -> int | None:
    """Where a branch goes; None for anything else."""
    if not syntax.branch.fullmatch(instruction.mnemonic) or not instruction.operands:
        return None
    return labels.get(instruction.operands[-1])


def _returns(
    span: Sequence[Instruction], start: int, labels: Mapping[str, int], syntax: Syntax
) -> bool:
    """The first instruction leads to the last one, a branch back to it, so that they are a loop.

    Code that compilers move behind a function's end branches back too.
    """
    seen: set[int] = set()
    waiting = [0]
    while waiting:
        at = waiting.pop()
        if at in seen or not 0 <= at < len(span):
            continue
        seen.add(at)
        if not syntax.end.fullmatch(str(span[at])):
            waiting.append(at + 1)
        goal = _goal(span[at], labels, syntax)
        if goal is not None:
            waiting.append(goal - start)
    return len(span) - 1 in seen


def _parse(lines: Sequence[str], syntax: Syntax) -> tuple[list[Instruction], dict[str, int]]:
    """The instructions, and for every label the index of the one that follows it."""
    code: list[Instruction] = []
    labels: dict[str, int] = {}
    for line in lines:
        text = re.sub(r"^\s*\{\w+\}", "", line.partition(syntax.comment)[0]).strip()
        label = re.fullmatch(r"([.\w$]+):", text)
        if label:
            labels[label[1]] = len(code)
        elif text and not text.startswith((".", "#")):
            mnemonic, *rest = text.split(None, 1)
            code.append(Instruction(mnemonic, tuple(_operands(rest[0] if rest else ""))))
    return code, labels


def _operands(text: str) -> Iterator[str]:
    """Separated at the commas outside of brackets."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text:
        yield text[start:].strip()


def _count(body: Sequence[Instruction], syntax: Syntax, frame: bool) -> Loop:
    products = [i for i in body if syntax.multiplies(i)]
    rest = [i for i in body if i not in products]
    accumulators = frozenset().union(*(syntax.written(i) for i in products))
    stack = [i for i in body if syntax.on_stack(i, frame) or syntax.stores(i)]
    return Loop(
        body=tuple(body),
        multiply_adds=len(products),
        loads=sum(syntax.loads(i) for i in body),
        others=sum(
            any(syntax.named(i, n) for n in range(len(i.operands)))
            and not syntax.loads(i)
            and not syntax.stores(i)
            for i in rest
        ),
        spills=len(stack),
        reloads=sum(bool(accumulators & syntax.written(i)) for i in rest if not syntax.stores(i)),
    )
