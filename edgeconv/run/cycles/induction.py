"""Loops of one block that end by induction variables: all iterations but the last at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from edgeconv.run.cycles.block import Block, Cost, Ends, access_bytes, is_store
from edgeconv.run.cycles.memory import Memory
from edgeconv.run.cycles.operation import PC, Operation, Register
from edgeconv.run.cycles.semantics import ADDED, SUBTRACTED, holds

_MASK = 0xFFFF_FFFF
_SIGN = 1 << 31
_LEAST = 4  # iterations that are worth it
_KEPT = 256  # iterations of which the numbers are kept that they write
# A number: what registers have at the start of the iteration, each times a factor, and a constant;
# None: not of this kind.
Linear = tuple[tuple[tuple[int, int], ...], int]


class State(Memory):
    """Memory, registers, and what has been counted: ``visits`` of blocks, by address."""

    registers: list[int | None]
    cycles: int
    executed: int
    visits: Counter[int]


@dataclass(frozen=True, slots=True)
class _Access:
    place: Linear
    size: int
    stores: bool


@dataclass(frozen=True, slots=True)
class InductionLoop:
    """``increments``: what an iteration adds to registers; ``lost``: registers that it writes in
    another way.  ``left``, ``right``: what is compared at its end, which goes on where
    ``condition`` holds."""

    increments: dict[int, int]
    lost: tuple[int, ...]
    left: Linear
    right: Linear
    kind: int
    condition: str
    accesses: tuple[_Access, ...]
    cost: Cost
    address: int
    instructions: int

    def forward(self, machine: State) -> None:
        """Executes all iterations but the last, as far as it is known how many there are."""
        registers = machine.registers
        left, right = self._now(self.left, registers), self._now(self.right, registers)
        if left is None or right is None:
            return
        count = self._iterations(left, right)
        if count is None or count < _LEAST:
            return
        skipped = count - 1
        starts = [self._now(access.place, registers) for access in self.accesses]
        if any(a.stores and at is None for a, at in zip(self.accesses, starts, strict=True)):
            return
        if count <= _KEPT and self._writes_known(machine, starts):
            return
        for access, at in zip(self.accesses, starts, strict=True):
            self._touch(machine, access, at, skipped)
        machine.cycles += skipped * (self.cost.cycles + self.cost.taken)
        machine.executed += skipped * self.instructions
        machine.visits[self.address] += skipped
        for index, step in self.increments.items():
            value = registers[index]
            registers[index] = None if value is None else value + step * skipped & _MASK
        for index in self.lost:
            registers[index] = None

    def _writes_known(self, machine: State, starts: Sequence[int | None]) -> bool:
        """Whether it may store numbers that are known, as of a structure that is copied."""
        if not any(access.stores for access in self.accesses):
            return False
        loads = [
            (access, at)
            for access, at in zip(self.accesses, starts, strict=True)
            if not access.stores
        ]
        return not loads or any(machine.known(at, access.size) is not None for access, at in loads)

    def _touch(self, machine: State, access: _Access, at: int | None, count: int) -> None:
        step = self._advance(access.place)
        if at is None:
            machine.extra += count * machine.penalty(None, access.size)
            return
        last = at + step * (count - 1)
        regions = {machine.region(at), machine.region(last & _MASK)}
        if len(regions) > 1 or not 0 <= last <= _MASK:
            machine.extra += count * machine.penalty(None, access.size)
        else:
            period = 4 // gcd(step, 4)
            for phase in range(min(period, count)):
                times = (count - phase + period - 1) // period
                machine.extra += times * machine.penalty(at + step * phase, access.size)
        if access.stores:
            low, high = min(at, last), max(at, last) + access.size
            machine.forget(low, high - low)

    def _advance(self, number: Linear) -> int:
        step = sum(factor * self.increments.get(index, 0) for index, factor in number[0])
        return (step + _SIGN & _MASK) - _SIGN

    def _now(self, number: Linear, registers: list[int | None]) -> int | None:
        total = number[1]
        for index, factor in number[0]:
            value = registers[index]
            if value is None:
                return None
            total += factor * value
        return total & _MASK

    def _iterations(self, left: int, right: int) -> int | None:
        """How many there are; None: not known."""
        by, other = self._advance(self.left), self._advance(self.right)
        if self.condition == "ne" and self.kind == SUBTRACTED:
            distance, step = right - left & _MASK, by - other & _MASK
            if not step:
                return None
            if step >= _SIGN:
                distance, step = -distance & _MASK, -step & _MASK
            return None if distance % step else distance // step + 1
        guess = self._guess(left, right, by - other)
        if guess is None:
            return None
        for count in (guess - 1, guess, guess + 1):
            if count >= 1 and self._is_last(left, right, by, other, count):
                return count
        return None

    def _guess(self, left: int, right: int, by: int) -> int | None:
        """Iterations of a comparison by size, about."""
        if not by:
            return None
        unsigned = self.condition in ("hs", "lo", "hi", "ls")
        a = left if unsigned else (left ^ _SIGN) - _SIGN
        b = right if unsigned else (right ^ _SIGN) - _SIGN
        if self.kind == ADDED:
            b = -b
        return max((b - a) // by + 1, 1)

    def _is_last(self, left: int, right: int, by: int, other: int, count: int) -> bool:
        """Whether the loop ends after so many, and not before: what is compared does not wrap, so
        that the comparison changes once."""
        unsigned = self.condition in ("hs", "lo", "hi", "ls")
        low, high = (0, _MASK) if unsigned else (-_SIGN, _SIGN - 1)
        for start, step in ((left, by), (right, other)):
            first = start if unsigned else (start ^ _SIGN) - _SIGN
            if not low <= first + step * (count - 1) <= high:
                return False
        if self.condition in ("mi", "pl") or self.kind != SUBTRACTED:
            # The sign of the difference, which must not wrap either.
            sign = 1 if self.kind == SUBTRACTED else -1
            for at in (0, count - 1):
                a = ((left + by * at & _MASK) ^ _SIGN) - _SIGN
                b = ((right + other * at & _MASK) ^ _SIGN) - _SIGN
                if not -_SIGN <= a - sign * b < _SIGN:
                    return False
        return self._goes_on(left, right, by, other, count - 1) is not False and (
            self._goes_on(left, right, by, other, count) is False
        )

    def _goes_on(self, left: int, right: int, by: int, other: int, count: int) -> bool | None:
        """Whether it goes on after so many iterations; True before the first."""
        if not count:
            return True
        a, b = left + by * (count - 1) & _MASK, right + other * (count - 1) & _MASK
        return holds(self.condition, (self.kind, a, b))


def induction_loop(block: Block, cost: Cost) -> InductionLoop | None:
    """The loop that a block is, where it ends by a branch to itself; None where it does not, or
    does not count."""
    last = block.operations[-1]
    if block.ends is not Ends.BRANCH or block.taken != block.address or last.name != "b":
        return None
    if last.condition not in ("ne", "gt", "ge", "lt", "le", "hi", "hs", "lo", "ls", "mi", "pl"):
        return None
    form = _Form()
    for operation in block.operations[:-1]:
        form.take(operation)
    if form.flags is None or form.unknown_store:
        return None
    kind, left, right = form.flags
    written = {index for each in block.operations for index in each.written} | form.moved
    steps = {}
    for index in written:
        final = form.values.get(index)
        if final is not None and final[0] == ((index, 1),):
            steps[index] = final[1]
    lost = tuple(sorted(written - steps.keys()))
    used = {index for number in (left, right) for index, _ in number[0]}
    if used & set(lost):
        return None
    accesses = []
    for access in form.accesses:
        if any(index in lost for index, _ in access.place[0]):
            return None
        accesses.append(access)
    return InductionLoop(
        steps, lost, left, right, kind, last.condition, tuple(accesses), cost,
        block.address, len(block.operations),
    )  # fmt: skip


class _Form:
    """What registers hold, as far as that is linear in what they held at the start."""

    def __init__(self) -> None:
        self.values: dict[int, Linear | None] = {}
        self.moved: set[int] = set()  # by write-back
        self.flags: tuple[int, Linear, Linear] | None = None
        self.accesses: list[_Access] = []
        self.unknown_store = False

    def value(self, operand: Register | int) -> Linear | None:
        if isinstance(operand, int):
            return (), operand
        found = self.values.get(operand.index, (((operand.index, 1),), 0))
        if not operand.shift or found is None:
            return found
        return _scaled(found, 1 << operand.amount) if operand.shift == "lsl" else None

    def take(self, operation: Operation) -> None:
        name, operands = operation.name, operation.operands
        if operation.condition:
            # May happen or not: neither result is linear.
            if operation.sets_flags or name in ("cmp", "cmn", "tst", "teq", "vmrs"):
                self.flags = None
            self._access(operation, sure=False)
            self._lose(operation)
            return
        if access_bytes(operation)[0]:
            self._access(operation, sure=True)
            return
        sources = operands if len(operands) == 2 and name not in ("mov",) else operands[1:]
        values = [self.value(each) for each in sources]
        if name in ("cmp", "cmn"):
            self._compare(SUBTRACTED if name == "cmp" else ADDED, values)
            return
        if operation.sets_flags or name in ("tst", "teq", "vmrs"):
            self.flags = None
        result = None
        if name in ("add", "sub") and len(values) == 2:
            a, b = values
            if operation.sets_flags:
                self._compare(ADDED if name == "add" else SUBTRACTED, values)
            if a is not None and b is not None:
                result = _sum(a, b if name == "add" else _scaled(b, -1))
        elif name == "mov" and len(values) == 1:
            result = values[0]
        elif name == "lsl" and len(values) == 2 and isinstance(sources[1], int) and values[0]:
            result = _scaled(values[0], 1 << sources[1])
        self._lose(operation)
        if result is not None and len(operation.written) == 1:
            (index,) = operation.written
            self.values[index] = result

    def _compare(self, kind: int, values: list[Linear | None]) -> None:
        left, right = values
        self.flags = None if left is None or right is None else (kind, left, right)

    def _lose(self, operation: Operation) -> None:
        for index in operation.written:
            self.values[index] = None
        if operation.condition and operation.writes_back and operation.place:
            self.values[operation.place.base] = None

    def _access(self, operation: Operation, *, sure: bool) -> None:
        size, count = access_bytes(operation)
        if not size:
            return
        place, stores = operation.place, is_store(operation)
        if place is None:
            # Of several registers: the base is not followed.
            self.unknown_store |= stores
            if not sure:
                self._lose(operation)
            listed = operation.registers
            base = listed[0] if operation.name[-1] in "mab" else 13
            start = self.values.get(base, (((base, 1),), 0))
            for index in operation.written:
                self.values[index] = None
            if start is None or operation.name in ("push", "vpush", "stmdb", "ldmdb"):
                self.unknown_store |= stores
                self.values[base] = None
                self.moved.add(base)
                return
            self._note(start, size, count, stores=False)
            if operation.writes_back or base == 13:
                self.values[base] = _sum(start, ((), size * count)) if sure else None
                self.moved.add(base)
            elif base not in listed[1:]:
                self.values[base] = start
            return
        at: Linear | None = self.value(Register(place.base))
        if place.base == PC:
            at = (), (operation.address + 4 & -4)
        if place.index is not None:
            by = self.value(Register(place.index))
            at = None if at is None or by is None else _sum(at, _scaled(by, 1 << place.shift))
        elif at is not None:
            at = _sum(at, ((), place.distance))
        if at is None:
            self.unknown_store |= stores
        else:
            self._note(at, size, count, stores=stores)
        if not stores:
            for each in operation.written:
                self.values[each] = None
        if operation.writes_back:
            self.moved.add(place.base)
            step = operation.increment
            moved = None if at is None or isinstance(step, Register) else _sum(at, ((), step))
            self.values[place.base] = moved if sure else None

    def _note(self, at: Linear, size: int, count: int, *, stores: bool) -> None:
        self.accesses += [_Access(_sum(at, ((), size * n)), size, stores) for n in range(count)]


def _sum(a: Linear, b: Linear) -> Linear:
    factors = dict(a[0])
    for index, factor in b[0]:
        factors[index] = factors.get(index, 0) + factor
    return tuple(sorted((i, f) for i, f in factors.items() if f)), a[1] + b[1]


def _scaled(a: Linear, by: int) -> Linear:
    return tuple((index, factor * by) for index, factor in a[0]), a[1] * by
