"""Whether a document keeps a JSON schema, as one function compiled from it: yes or no, and fast.

For what is wrong, and where, ask jsonschema, which takes some thirty times as long to find that
nothing is: half a second for a network of a thousand layers.  Only keywords that our schemas use
are known, with the meaning of draft 2020-12 (https://json-schema.org/draft/2020-12), except that
1.0 is no integer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]
Schema = Mapping[str, Any]
Compile = Callable[[Any], Check]  # of a schema within the schema

_NOTES = frozenset(("$schema", "$defs", "title", "description"))
# Those that say nothing without the keyword that reads them.
_WITH = {"then": "if"}


def compiled(schema: Schema) -> Check:
    """A function that tells whether a document keeps ``schema``.

    References are to ``$defs``, and none leads back to itself.  Raises ValueError naming a keyword
    that is not known.
    """

    def inner(part: Schema) -> Check:
        checks = []
        for keyword, value in part.items():
            if keyword == "$ref":
                checks.append(inner(schema["$defs"][value.removeprefix("#/$defs/")]))
            elif keyword in _KEYWORDS:
                checks.append(_KEYWORDS[keyword](value, part, inner))
            elif keyword not in _NOTES and _WITH.get(keyword) not in part:
                raise ValueError(f"keyword {keyword!r} of a schema is not known")
        if len(checks) == 1:
            return checks[0]
        return lambda found: all(check(found) for check in checks)

    return inner(schema)


def is_whole(value: object) -> bool:
    """An integer as JSON writes sizes: not 1.0, which no size is in Python, and not true."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: dict[str, Check] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": is_whole,
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def _type(names: str | list[str], _: Schema, __: Compile) -> Check:
    if isinstance(names, str):
        return _TYPES[names]
    kinds = [_TYPES[name] for name in names]
    return lambda value: any(kind(value) for kind in kinds)


def _enum(values: list[Any], _: Schema, __: Compile) -> Check:
    return lambda found: any(
        found == value and isinstance(found, bool) == isinstance(value, bool) for value in values
    )


def _const(value: Any, part: Schema, inner: Compile) -> Check:
    return _enum([value], part, inner)


def _minimum(least: float, _: Schema, __: Compile) -> Check:
    return lambda value: not _is_number(value) or value >= least


def _beyond(least: float, _: Schema, __: Compile) -> Check:
    return lambda value: not _is_number(value) or value > least


def _pattern(text: str, _: Schema, __: Compile) -> Check:
    found = re.compile(text).search
    return lambda value: not isinstance(value, str) or found(value) is not None


def _required(keys: list[str], _: Schema, __: Compile) -> Check:
    needed = frozenset(keys)
    return lambda value: not isinstance(value, dict) or needed <= value.keys()


def _dependent(needs: Mapping[str, list[str]], part: Schema, inner: Compile) -> Check:
    checks = {key: _required(keys, part, inner) for key, keys in needs.items()}
    return lambda value: (
        not isinstance(value, dict)
        or all(check(value) for key, check in checks.items() if key in value)
    )


def _properties(parts: Mapping[str, Schema], _: Schema, inner: Compile) -> Check:
    checks = {key: inner(part) for key, part in parts.items()}

    def check(value: Any) -> bool:
        if not isinstance(value, dict):
            return True
        return all(checks[key](item) for key, item in value.items() if key in checks)

    return check


def _additional(others: Schema, part: Schema, inner: Compile) -> Check:
    check, named = inner(others), part.get("properties", {})
    return lambda value: (
        not isinstance(value, dict)
        or all(check(item) for key, item in value.items() if key not in named)
    )


def _items(part: Schema, _: Schema, inner: Compile) -> Check:
    check = inner(part)
    return lambda value: not isinstance(value, list) or all(map(check, value))


def _if(condition: Schema, part: Schema, inner: Compile) -> Check:
    applies, then = inner(condition), inner(part["then"])
    return lambda value: not applies(value) or then(value)


_KEYWORDS: dict[str, Callable[[Any, Schema, Compile], Check]] = {
    "additionalProperties": _additional,
    "const": _const,
    "dependentRequired": _dependent,
    "enum": _enum,
    "exclusiveMinimum": _beyond,
    "if": _if,
    "items": _items,
    "minimum": _minimum,
    "pattern": _pattern,
    "properties": _properties,
    "required": _required,
    "type": _type,
}
