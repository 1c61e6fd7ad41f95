"""Mutants of protobuf messages: any field of any message, knowing nothing of what it means."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor as Field
from google.protobuf.message import Message

INTEGERS = (
    *(0, 1, -1, 2, -2, 3, 4, 5, 7, 8, 16, 64, 100, 127, 255, 256, 1000, 65536),
    *(1 << 20, 1 << 30, (1 << 31) - 1, 1 << 31, -(1 << 31), 1 << 32, 1 << 40, 10**9),
    *((1 << 62), (1 << 63) - 1, -(1 << 63)),
)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-45, 1e30, -1e30, float("inf"), float("nan"))
STRINGS = ("", "x", "y", "\0", "../x", "/dev/zero", "a" * 5000, "é", "ai.onnx", "\x1b[31m", "%s%n")

_LIMITS: dict[int, tuple[int, int]] = {
    Field.TYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    Field.TYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    Field.TYPE_UINT64: (0, (1 << 64) - 1),
}


def messages(message: Any) -> Iterator[Any]:
    """``message`` and all messages in it."""
    yield message
    for field, value in message.ListFields():
        if field.type == Field.TYPE_MESSAGE:
            for inner in [value] if isinstance(value, Message) else value:
                yield from messages(inner)


def strings(message: Any) -> list[str]:
    """Every text in ``message``."""
    found: list[str] = []
    for inner in messages(message):
        for field, value in inner.ListFields():
            if field.type == Field.TYPE_STRING:
                found += [value] if isinstance(value, str) else value
    return sorted(set(found))


def mutate(source: random.Random, whole: Any) -> None:
    """Change one field somewhere in ``whole``."""
    target = source.choice(list(messages(whole)))
    fields = [field for field, _ in target.ListFields()]
    if not fields or source.random() < 0.15:
        fields = list(target.DESCRIPTOR.fields)
    field = source.choice(fields)
    repeated = not isinstance(getattr(target, field.name), Message | str | bytes | int | float)
    (_change_list if repeated else _change_single)(source, whole, target, field)


def _value(source: random.Random, whole: Any, field: Any, old: Any) -> Any:
    """Another value for a field of numbers or text."""
    if field.type in _LIMITS or field.type == Field.TYPE_ENUM:
        low, high = _LIMITS.get(field.type, (-(1 << 31), (1 << 31) - 1))
        if field.type == Field.TYPE_ENUM:
            return source.choice([value.number for value in field.enum_type.values])
        near = int(old or 0) + source.choice((-2, -1, 1, 2))
        return min(max(source.choice((near, near, -int(old or 0), *INTEGERS)), low), high)
    if field.type in (Field.TYPE_FLOAT, Field.TYPE_DOUBLE):
        return source.choice((*FLOATS, source.uniform(-10, 10)))
    if field.type == Field.TYPE_STRING:
        return source.choice((*STRINGS, *strings(whole), *strings(whole)))
    data = bytearray(old or b"")
    return bytes(source.choice(_BYTES)(source, data))


_BYTES: tuple[Callable[[random.Random, bytearray], bytes | bytearray], ...] = (
    lambda source, data: data[: source.randrange(len(data) + 1)],
    lambda source, data: data + data,
    lambda source, data: bytes(source.randrange(256) for _ in data[:4096]),
    lambda source, data: b"",
    lambda source, data: (
        source.choice(INTEGERS).to_bytes(8, "little", signed=True) * max(1, len(data) // 8)
    ),
)


def _change_single(source: random.Random, whole: Any, target: Any, field: Any) -> None:
    if source.random() < 0.2:
        target.ClearField(field.name)
    elif field.type == Field.TYPE_MESSAGE:
        others = [m for m in messages(whole) if m.DESCRIPTOR is field.message_type]
        copy = field.message_type._concrete_class()
        if others:
            copy.CopyFrom(source.choice(others))
        getattr(target, field.name).CopyFrom(copy)
    else:
        old = getattr(target, field.name)
        setattr(target, field.name, _value(source, whole, field, old))


def _change_list(source: random.Random, whole: Any, target: Any, field: Any) -> None:
    values = getattr(target, field.name)
    old = list(values)
    way = source.randrange(4)
    if way == 0 and old:  # one less
        del values[source.randrange(len(old))]
    elif way == 1:  # one more: a copy, or a new one
        place = source.randrange(len(old) + 1)
        if field.type == Field.TYPE_MESSAGE:
            pool = old or [m for m in messages(whole) if m.DESCRIPTOR is field.message_type]
            old.insert(place, source.choice(pool) if pool else field.message_type._concrete_class())
        else:
            old.insert(place, _value(source, whole, field, source.choice(old) if old else None))
        _refill(target, field, old)
    elif way == 2 and len(old) > 1:  # another order
        source.shuffle(old)
        _refill(target, field, old)
    elif old and field.type != Field.TYPE_MESSAGE:
        place = source.randrange(len(old))
        old[place] = _value(source, whole, field, old[place])
        _refill(target, field, old)


def _refill(target: Any, field: Any, values: list[Any]) -> None:
    copies = []
    for value in values:
        if isinstance(value, Message):
            copy = type(value)()
            copy.CopyFrom(value)
            value = copy
        copies.append(value)
    target.ClearField(field.name)
    getattr(target, field.name).extend(copies)
