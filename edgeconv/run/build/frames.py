"""How deep one function's stack gets, and at which depth it calls others, from its instructions.

The instructions are followed along every path from the entry with the largest depth known at each.
That needs no word of the compiler, so it holds for libraries and assembly too; where the stack
pointer is set in a way that cannot be followed, only the compiler can say (``stack_usage.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from edgeconv.run.build.code import Code, Function
from edgeconv.run.build.instructions import Effect, Flow, Instruction, Move

# A depth that still grows at the same place after so many visits grows in a loop.
_VISITS = 32
# How far before an indirect jump the instruction lies that computed its target.
_LOOK_BACK = 12
# Instructions that leave a saved copy of the stack pointer usable: they read it, or give the
# register its caller's value back, or move it up.
_KEEPS_COPY = re.compile(r"(?:push|pop|cmp|cmn|tst|test|st|ld|(?:c\.)?[ls]w)\S* .*|adds?\S* .*#\w+")
# Inline switch tables of Thumb-1: libgcc's helpers return into the table that follows the call.
_SWITCH_ROUTINE = "__gnu_thumb1_case_"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of another function.  ``callee``: address, or name when it is elsewhere.  ``depth``:
    bytes of the caller's own frame that are still there; None: all of it."""

    callee: int | str
    depth: int | None


@dataclass(slots=True)
class Frame:
    """What one function does with the stack.

    ``depth``: bytes at most, with what its own call pushed; None when the instructions do not say,
    and then ``unknown`` has the instruction.  ``slack``: bytes that the compiler's figure leaves
    out: what a call pushes, padding of aligned frames, the red zone.  ``indirect``: the instruction
    that calls through a pointer, "" without one.
    """

    depth: int | None = 0
    slack: int = 0
    calls: list[Call] = field(default_factory=list)
    indirect: str = ""
    unknown: str = ""


def analyse(code: Code, function: Function) -> Frame:
    """Follow the instructions of ``function``."""
    return _Walk(code, function).run()


class _Walk:
    def __init__(self, code: Code, function: Function) -> None:
        self._code = code
        self._function = function
        self._entry = code.machine.entry_bytes
        self._frame = Frame()
        self._depths: dict[int, int] = {}
        self._visits: dict[int, int] = {}
        self._copies: dict[str, int | None] = {}
        self._bodies = [function]
        self._table_depth: int | None = None
        self._loaded = ""
        self._work: list[tuple[int, int]] = []
        self._below = 0
        self._deepest = self._entry

    def run(self) -> Frame:
        self._work.append((self._function.address, self._entry))
        self._drain()
        self._unreached()
        self._drain()
        frame = self._frame
        frame.slack += self._entry + self._below
        frame.depth = None if frame.unknown else self._deepest
        return frame

    def _drain(self) -> None:
        while self._work:
            self._follow(*self._work.pop())
            if not self._work and self._table_depth is not None:
                self._work.extend(self._behind_table())
                if not self._work:
                    self._frame.indirect = self._frame.indirect or self._loaded
                self._loaded = ""

    def _follow(self, address: int, depth: int) -> None:
        if address in self._depths and depth <= self._depths[address]:
            return
        instruction = self._instruction(address)
        if instruction is None:
            return
        visits = self._visits[address] = self._visits.get(address, 0) + 1
        if visits > _VISITS:
            self._lost(instruction)
            return
        self._depths[address] = depth
        meaning = instruction.meaning
        if meaning.effect:
            depth = self._moved(instruction, meaning.effect, depth)
        # What is further below is an address that the stack pointer moves to later.
        below = meaning.below if meaning.below <= self._code.machine.red_zone else 0
        self._below = max(self._below, below)
        self._deepest = max(self._deepest, depth + below)
        self._continue(instruction, depth)

    def _continue(self, instruction: Instruction, depth: int) -> None:
        flow, following = instruction.meaning.flow, instruction.address + instruction.size
        # Data behind a function (a traceback table) does not go on to the next one.
        data = instruction.text == "(bad)" and not self._has(following)
        if flow in (Flow.NEXT, Flow.BRANCH) and not data:
            self._go(following, depth, depth - self._entry)
        if flow in (Flow.BRANCH, Flow.JUMP, Flow.JUMP_INDIRECT):
            self._jump(instruction, depth, depth - self._entry)
        if flow is Flow.TABLE:
            self._table_depth = max(self._table_depth or 0, depth)
        if flow in (Flow.CALL, Flow.CALL_INDIRECT):
            self._call(instruction, depth)
            # A call that ends a function does not return.
            if self._has(following):
                self._follow_later(following, depth)

    def _jump(self, instruction: Instruction, depth: int, left: int | None) -> None:
        """``left``: bytes of the own frame that are still there if another function is entered."""
        target = self._code.target(instruction)
        if isinstance(target, int) and self._code.containing(target):
            self._go(target, depth, left)
        elif isinstance(target, str):
            self._frame.calls.append(Call(target, left))
        elif self._is_switch(instruction):
            self._table_depth = max(self._table_depth or 0, depth)
        else:
            self._frame.indirect = instruction.text

    def _go(self, address: int, depth: int, left: int | None) -> None:
        """Control goes on at ``address``: in this function, in a part or the middle of another, or
        it enters another one, which then returns to this one's caller."""
        entered = self._code.entered(address)
        if entered is None or entered == self._function:
            self._follow_later(address, depth)
        else:
            self._frame.calls.append(Call(entered.address, left))

    def _follow_later(self, address: int, depth: int) -> None:
        function = self._code.containing(address)
        if function and function.split_off and function not in self._bodies:
            self._bodies.append(function)
        self._work.append((address, depth))

    def _call(self, instruction: Instruction, depth: int) -> None:
        target = self._code.target(instruction)
        called = self._code.called(target) if isinstance(target, int) else None
        if called and self._is_inside(called):
            self._follow_later(called.address, depth + self._entry)
        elif called:
            self._frame.calls.append(Call(called.address, None))
            if called.name.startswith(_SWITCH_ROUTINE):
                self._table_depth = max(self._table_depth or 0, depth)
        elif isinstance(target, str):
            self._frame.calls.append(Call(target, None))
        else:
            self._frame.indirect = instruction.text

    def _has(self, address: int) -> bool:
        return any(body.address <= address < body.end for body in self._bodies)

    def _is_inside(self, called: Function) -> bool:
        """Whether a call goes to another place in the same function: a far jump of Thumb-1, or a
        subroutine of hand-written assembly.  Both go on at the depth of the call."""
        function = self._function
        return function.address < called.address < called.end == function.end

    def _moved(self, instruction: Instruction, effect: Effect, depth: int) -> int:
        """The depth after the stack pointer has moved."""
        move, register = effect.move, effect.register
        if move is Move.GROW:
            return depth + effect.bytes
        if move is Move.SAVE:
            value = depth + effect.bytes
            self._copies[register] = value if self._copies.get(register, value) == value else None
        elif move is Move.RESET:
            return self._entry
        elif move is Move.UNKNOWN:
            self._lost(instruction)
        else:
            return self._restored(instruction, effect, depth)
        return depth

    def _restored(self, instruction: Instruction, effect: Effect, depth: int) -> int:
        if effect.register:
            copy = self._copies.get(effect.register)
            if copy is None or not self._is_kept(effect.register):
                self._lost(instruction)
                return depth
            depth = copy
        if effect.move is Move.ALIGN:
            alignment = min(effect.bytes, self._code.machine.stack_alignment)
            padding = effect.bytes - alignment + -depth % alignment
            self._frame.slack += padding
            return depth + padding
        return depth + effect.bytes

    def _is_kept(self, register: str) -> bool:
        """Whether nothing but copies of the stack pointer is written to the register."""
        for body in self._bodies:
            for instruction in self._code.body(body).values():
                name, _, operands = instruction.text.partition(" ")
                effect = instruction.meaning.effect
                saves = effect and effect.move is Move.SAVE
                if operands.split(",")[0] == register and not (
                    saves or _KEEPS_COPY.fullmatch(f"{name} {operands}")
                ):
                    return False
        return True

    def _is_switch(self, instruction: Instruction) -> bool:
        """Whether the target of an indirect jump was computed by an addition, as from a table of
        distances, or loaded from a place that was; a pointer to a function is loaded or moved.
        One from a table of functions is loaded from such a place too: `_drain` tells by whether
        there is code behind the jump that nothing else leads to."""
        pattern, register = self._code.machine.computed, instruction.meaning.register
        loaded = ""
        body = [i for f in self._bodies for i in self._code.body(f).values()]
        before = [i.text for i in body if i.address < instruction.address][: -_LOOK_BACK - 1 : -1]
        for text in before if pattern else ():
            moved = re.fullmatch(r"mtctr (\S+)", text)
            found = re.fullmatch(pattern.format(register=re.escape(register)), text)
            if register == "ctr" and moved:
                register = moved[1]
            elif found and found.groupdict().get("index"):
                register, pattern = found["index"], self._code.machine.indexed
                loaded = instruction.text
            elif found:
                self._loaded = self._loaded or loaded
                return True
            elif re.fullmatch(rf"\S+ {re.escape(register)}(?:,.*)?", text):
                return False
        return False

    def _behind_table(self) -> list[tuple[int, int]]:
        """The first instruction not reached yet, at the depth of the switch."""
        for body in self._bodies:
            for address in self._code.body(body):
                if address not in self._depths and not self._visits.get(address):
                    return [(address, self._table_depth or 0)]
        return []

    def _unreached(self) -> None:
        """Calls in code that no path leads to count too: a path may have been missed."""
        for body in self._bodies:
            for address, instruction in self._code.body(body).items():
                flow = instruction.meaning.flow
                if address in self._depths:
                    continue
                if flow in (Flow.CALL, Flow.CALL_INDIRECT):
                    self._call(instruction, self._deepest)
                elif flow in (Flow.BRANCH, Flow.JUMP, Flow.JUMP_INDIRECT):
                    self._jump(instruction, self._deepest, None)

    def _instruction(self, address: int) -> Instruction | None:
        function = self._code.containing(address)
        return self._code.body(function).get(address) if function else None

    def _lost(self, instruction: Instruction) -> None:
        self._frame.unknown = self._frame.unknown or instruction.text
