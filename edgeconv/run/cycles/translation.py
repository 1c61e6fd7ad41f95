"""Basic blocks as functions of Python, which execute them on numbers or None (unknown)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from edgeconv.run.cycles import semantics
from edgeconv.run.cycles.block import (
    ACCESS,
    MULTIPLE,
    TABLES,
    Block,
    Cost,
    Ends,
    end_of,
    is_store,
)
from edgeconv.run.cycles.operation import FIRST_SINGLE, LR, PC, SP, Operation, Register

_NOTHING = frozenset(["it", "nop", "dsb", "dmb", "isb", "hint", "yield"])


def translated(address: int, operations: Sequence[Operation], cost: Cost) -> Block:
    """The block of ``operations``, of which only the last may end it."""
    return _Translation(address, operations, cost).block()


class _Translation:
    def __init__(self, address: int, operations: Sequence[Operation], cost: Cost) -> None:
        self._address, self._operations, self._cost = address, tuple(operations), cost
        self._lines: list[str] = []
        self._indent = ""
        self._predicated = False
        self._kind: int | None = None  # of the flags in fa and fb; None: they are in f
        self._used: set[int] = set()
        self._written: set[int] = set()
        self._flags_written = False

    def block(self) -> Block:
        last = self._operations[-1]
        ends = end_of(last)
        for operation in self._operations[: -1 if ends else None]:
            self._plain(operation)
        target: int | None = None
        if ends is None:
            ends = Ends.JUMP
            self._leave(f"{last.following}")
        else:
            target = self._ending(last, ends)
        return Block(
            self._address, self._operations, ends, target, last.following, self._compiled()
        )

    def _compiled(self) -> Callable[[Any], int | None]:
        cost, count = self._cost.cycles, len(self._operations)
        head = ["def block(m):", " R = m.registers", " f = m.flags"]
        head += [f" {_name(index)} = R[{index}]" for index in sorted(self._used | self._written)]
        head += [f" m.cycles += {cost}", f" m.executed += {count}"]
        names: dict[str, Any] = {
            **{name: getattr(semantics, name) for name in _CALLED},
            "M": 0xFFFF_FFFF,
            "S": 1 << 31,
        }
        exec("\n".join([*head, *self._lines]), names)
        return names["block"]  # type: ignore[no-any-return]

    def _line(self, text: str) -> None:
        self._lines.append(f" {self._indent}{text}")

    def _value(self, index: int) -> str:
        if index == PC:
            raise AssertionError("PC is read by its own rules")
        self._used.add(index)
        return _name(index)

    def _assign(self, index: int, expression: str) -> None:
        name = _name(index)
        self._written.add(index)
        if self._predicated:
            self._line(f"t = {expression}")
            self._line(f"{name} = t if k or t == {name} else None")
        else:
            self._line(f"{name} = {expression}")

    def _plain(self, operation: Operation) -> None:
        if operation.name in _NOTHING:
            return
        if not operation.condition:
            self._do(operation)
            return
        self._line(f"k = {self._condition(operation.condition)}")
        self._put_flags()
        self._line("if k is not False:")
        self._indent, self._predicated = " ", True
        before = len(self._lines)
        self._do(operation)
        if len(self._lines) == before:
            self._line("pass")
        self._indent, self._predicated = "", False

    def _do(self, operation: Operation) -> None:
        name = operation.name
        sources = self._sources(operation)
        rule = semantics.COMPUTED.get(len(sources), {}).get(name)
        if name in ACCESS:
            self._access(operation)
        elif name in MULTIPLE:
            self._multiple(operation)
        elif operation.place is not None or is_store(operation):
            raise NotImplementedError(operation.text)
        elif name in semantics.COMPARED:
            self._computed(operation, semantics.COMPARED[name], sources, None)
        elif name in ("adc", "sbc"):
            self._carried(operation, sources)
        elif name == "adr":
            distance = operation.operands[-1]
            assert isinstance(distance, int)
            self._assign(
                operation.registers[0], str((operation.address & ~1) + 4 & -4) + f" + {distance}"
            )
        elif name == "movt":
            self._move_top(operation)
        elif name in ("bfi", "bfc"):
            self._bit_field(operation)
        elif name in semantics.LONG:
            self._long(operation)
        elif rule and len(operation.written) == 1 and (name[0] != "v" or _is_plain(operation)):
            self._computed(operation, rule, sources, operation.registers[0])
        else:
            self._unknown(operation)

    def _sources(self, operation: Operation) -> list[str]:
        """Expressions of the operands that are read; of two operands the first is read too, unless
        the instruction moves or extends."""
        operands = operation.operands
        if operation.name not in semantics.COMPARED and operands:
            of_one = operation.name in semantics.COMPUTED[1]
            skips = len(operands) != 2 or of_one
            operands = operands[1:] if skips else operands
        return [self._operand(each, operation) for each in operands]

    def _operand(self, operand: Register | int, operation: Operation) -> str:
        if isinstance(operand, int):
            return str(operand & 0xFFFF_FFFF)
        if operand.index == PC:
            aligned = isinstance(operation.operands[-1], int)  # ADR
            return str((operation.address & ~1) + 4 & (-4 if aligned else -1))
        name = self._value(operand.index)
        if not operand.shift or (operand.shift != "rrx" and not operand.amount):
            return name
        if operand.shift not in semantics.SHIFTED:
            return "None"
        done = semantics.SHIFTED[operand.shift].format(name, operand.amount)
        return f"(None if {name} is None else {done})"

    def _computed(
        self, operation: Operation, rule: semantics.Rule, sources: list[str], to: int | None
    ) -> None:
        names = "abc"[: len(sources)]
        for name, source in zip(names, sources, strict=True):
            self._line(f"{name} = {source}")
        unknown = " or ".join(
            f"{name} is None"
            for name, source in zip(names, sources, strict=True)
            if not source.isdigit()
        )
        expression = f"None if {unknown} else {rule.expression}" if unknown else rule.expression
        flags = operation.sets_flags or operation.name in semantics.COMPARED
        if not flags:
            assert to is not None
            self._assign(to, expression)
            return
        if rule.kind == semantics.LOGICAL or to is not None:
            self._line(f"d = {expression}")
        first, second = "a", "b"
        if rule.kind == semantics.LOGICAL:
            carry = semantics.CARRY.get(operation.name)
            first, second = "d", "None"
            if carry and len(sources) == 2 and sources[1].isdigit():
                second = f"None if a is None else {carry.format('a', sources[1])}"
        elif operation.name == "rsb":
            first, second = "b", "a"
        self._set_flags(rule.kind, first, second)
        if to is not None:
            self._assign(to, "d")

    def _set_flags(self, kind: int, first: str, second: str) -> None:
        self._flags_written = True
        if self._predicated:
            self._line(f"t = ({kind}, {first}, {second})")
            self._line("f = t if k or t == f else UNKNOWN_FLAGS")
            return
        self._line(f"fa = {first}")
        self._line(f"fb = {second}")
        self._kind = kind

    def _put_flags(self) -> None:
        """The flags to ``f``."""
        if self._kind is not None:
            self._line(f"f = ({self._kind}, fa, fb)")
            self._kind = None

    def _condition(self, condition: str) -> str:
        quick = semantics.QUICK.get(-1 if self._kind is None else self._kind, {}).get(condition)
        if quick is None:
            self._put_flags()
            return f"holds({condition!r}, f)"
        unknown = "fa is None" + (" or fb is None" if "fb" in quick else "")
        return f"None if {unknown} else {quick}"

    def _carried(self, operation: Operation, sources: list[str]) -> None:
        self._put_flags()
        a, b = sources
        if operation.name == "sbc":
            b = (
                str(~int(b) & 0xFFFF_FFFF)
                if b.isdigit()
                else f"(None if {b} is None else ~{b} & M)"
            )
        self._line(f"d, g = with_carry({a}, {b}, f)")
        if operation.sets_flags:
            self._flags_written = True
            self._line("f = g if k or g == f else UNKNOWN_FLAGS" if self._predicated else "f = g")
        self._assign(operation.registers[0], "d")

    def _move_top(self, operation: Operation) -> None:
        to, top = operation.registers[0], operation.operands[-1]
        assert isinstance(top, int)
        name = self._value(to)
        self._assign(to, f"None if {name} is None else {name} & 0xffff | {top << 16}")

    def _bit_field(self, operation: Operation) -> None:
        to, (low, width) = operation.registers[0], operation.operands[-2:]
        assert isinstance(low, int)
        assert isinstance(width, int)
        mask = (1 << width) - 1
        name = self._value(to)
        field, unknown = "0", f"{name} is None"
        if operation.name == "bfi":
            source = self._value(operation.registers[1])
            field, unknown = f"({source} & {mask}) << {low}", f"{unknown} or {source} is None"
        cleared = f"{name} & {~(mask << low) & 0xFFFF_FFFF}"
        self._assign(to, f"None if {unknown} else {cleared} | {field}")

    def _long(self, operation: Operation) -> None:
        low, high, *factors = operation.registers
        a, b = (self._value(index) for index in factors)
        self._line(f"a, b = {a}, {b}")
        product = semantics.LONG[operation.name]
        self._line(f"w = None if a is None or b is None else {product}")
        self._assign(low, "None if w is None else w & M")
        self._assign(high, "None if w is None else w >> 32 & M")

    def _unknown(self, operation: Operation) -> None:
        for index in sorted(operation.written):
            self._assign(index, "None")
        if operation.sets_flags or operation.name in ("vmrs", "msr"):
            self._set_flags(semantics.LOGICAL, "None", "None")

    def _place(self, operation: Operation) -> str:
        """Puts the address of a load or store into ``p``; the expression of what write-back adds
        to its base."""
        place = operation.place
        assert place is not None
        if place.base == PC:
            self._line(f"p = {((operation.address & ~1) + 4 & -4) + place.distance}")
            return ""
        base = self._value(place.base)
        if place.index is not None:
            index = self._value(place.index)
            self._line(
                f"p = None if {base} is None or {index} is None "
                f"else {base} + ({index} << {place.shift}) & M"
            )
        elif place.distance:
            self._line(f"p = None if {base} is None else {base} + {place.distance} & M")
        else:
            self._line(f"p = {base}")
        if not operation.writes_back:
            return ""
        step = operation.increment
        if isinstance(step, Register):
            raise NotImplementedError(operation.text)
        if step:
            return f"None if p is None else p + {step} & M"
        return "p"

    def _access(self, operation: Operation) -> None:
        back = self._place(operation)
        size, sign = ACCESS[operation.name]
        base = operation.place.base if operation.place else SP
        if back and is_store(operation):
            self._line(f"q = {back}")
            back = "q"
        for position, index in enumerate(operation.registers):
            at = f"p + {4 * position} & M" if position else "p"
            at = f"None if p is None else {at}" if position else at
            if is_store(operation):
                self._store(at, self._value(index), size)
                continue
            self._line(f"d = m.load({at}, {size})")
            self._assign(index, f"None if d is None else extended(d, {sign})" if sign else "d")
        if back:
            self._assign(base, back)

    def _store(self, at: str, value: str, size: int) -> None:
        if self._predicated:
            self._line(f"(m.store if k else m.maybe_store)({at}, {value}, {size})")
        else:
            self._line(f"m.store({at}, {value}, {size})")

    def _multiple(self, operation: Operation) -> None:
        name = operation.name
        implicit = name[-1] not in "mab"  # PUSH, POP: SP
        listed = operation.registers if implicit else operation.registers[1:]
        base = SP if implicit else operation.registers[0]
        start = self._value(base)
        down, bytes_ = MULTIPLE[name], 4 * len(listed)
        self._line(f"p = None if {start} is None else {start} + {down * bytes_} & M")
        if operation.writes_back or implicit:
            end = f"None if p is None else p + {bytes_} & M"
            self._line(f"q = {'p' if down else end}")
        for position, index in enumerate(listed):
            at = f"None if p is None else p + {4 * position} & M"
            if is_store(operation):
                self._store(at, self._value(index), 4)
                continue
            self._line(f"d = m.load({at}, 4)")
            if index == PC:
                self._line("pc = d")
            else:
                self._assign(index, "d")
        if operation.writes_back or implicit:
            self._assign(base, "q")

    def _ending(self, last: Operation, ends: Ends) -> int | None:
        extra = self._cost.taken
        if ends is Ends.BRANCH:
            return self._branch(last)
        if extra:
            self._line(f"m.cycles += {extra}")
        number = next((each for each in last.operands if isinstance(each, int)), None)
        if ends is Ends.JUMP:
            self._leave(str(number))
            return number
        if ends is Ends.CALL:
            where = str(number) if number is not None else self._address_in(last.registers[0])
            self._line(f"pc = {where}")
            self._assign(LR, str(last.following | 1))
            self._leave("pc")
            return number
        if ends is Ends.TABLE:
            self._table(last)
        elif last.name == "bx":
            self._leave(self._address_in(last.registers[0]))
        elif last.name in MULTIPLE:
            self._multiple(last)
            self._leave("None if pc is None else pc & ~1")
        elif last.name == "ldr":
            self._load_pc(last)
        else:
            self._computed_pc(last)
        return None

    def _branch(self, last: Operation) -> int:
        if last.name in ("cbz", "cbnz"):
            register, target = last.operands
            assert isinstance(register, Register)
            assert isinstance(target, int)
            name = self._value(register.index)
            same = "==" if last.name == "cbz" else "!="
            condition = f"None if {name} is None else {name} {same} 0"
        else:
            condition = self._condition(last.condition)
            number = next((each for each in last.operands if isinstance(each, int)), None)
            target = number if last.name == "b" and number is not None else last.address | 1
        extra = 0 if target & 1 else self._cost.taken
        self._line(f"k = {condition}")
        if extra:
            self._line(f"if k: m.cycles += {extra}")
        self._leave(f"None if k is None else {target} if k else {last.following}")
        return target

    def _address_in(self, index: int) -> str:
        name = self._value(index)
        return f"None if {name} is None else {name} & ~1"

    def _table(self, last: Operation) -> None:
        size, place = TABLES[last.name], last.place
        assert place is not None
        assert place.index is not None
        base = str(last.address + 4) if place.base == PC else self._value(place.base)
        index = self._value(place.index)
        unknown = f"{index} is None" + ("" if place.base == PC else f" or {base} is None")
        at = f"{base} + {index} * {size} & M"
        self._line(f"d = m.load(None if {unknown} else {at}, {size})")
        self._leave(f"None if d is None else {last.address + 4} + 2 * d")

    def _load_pc(self, last: Operation) -> None:
        back = self._place(last)
        self._line("d = m.load(p, 4)")
        if back and last.place:
            self._assign(last.place.base, back)
        self._leave("None if d is None else d & ~1")

    def _computed_pc(self, last: Operation) -> None:
        """MOV or ADD to PC."""
        sources = [each for each in last.registers if each != PC]
        if last.name not in ("mov", "add") or len(sources) != 1:
            raise NotImplementedError(last.text)
        where = self._address_in(sources[0])
        if last.name == "add":
            where = f"None if {_name(sources[0])} is None else "
            where += f"{_name(sources[0])} + {(last.address & ~1) + 4} & M & ~1"
        self._leave(where)

    def _leave(self, where: str) -> None:
        self._put_flags()
        self._line(f"pc = {where}")
        if self._flags_written:
            self._line("m.flags = f")
        for index in sorted(self._written):
            self._line(f"R[{index}] = {_name(index)}")
        self._line("return pc")


_CALLED = (
    "signed", "signed16", "extended", "rotated", "quotient", "holds", "with_carry", "UNKNOWN_FLAGS",
)  # fmt: skip


def _name(index: int) -> str:
    return f"r{index}" if index < FIRST_SINGLE else f"s{index - FIRST_SINGLE}"


def _is_plain(operation: Operation) -> bool:
    """Whether VMOV moves the 32 bits of one register to another."""
    return len(operation.operands) == 2 and all(
        isinstance(each, Register) for each in operation.operands
    )
