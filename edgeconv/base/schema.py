"""The JSON schemas that documents of ours are held to (https://json-schema.org/draft/2020-12)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

_REFERENCE, _DEFINITIONS = "$ref", "#/$defs/"
_APART = frozenset({_REFERENCE, "$defs"})
_WORDS = frozenset({"title", "description"})  # which hold a document to nothing


@cache
def schema_of(package: str) -> dict[str, Any]:
    """The ``schema.json`` of a package."""
    text = (resources.files(package) / "schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def validator(package: str, formats: FormatChecker | None = None) -> Draft202012Validator:
    """What holds a document to the schema of ``package``, in which 1.0 is no integer: it is one in
    JSON, but neither in TOML nor as a size in Python."""
    schema = schema_of(package)
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: is_whole(value))
    kind = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    within = _inlined(schema, schema.get("$defs", {}))
    found: Draft202012Validator = kind(within, format_checker=formats)
    return found


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """``schema`` with what its references name in their places, which costs nothing to look up; no
    definition of ours is recursive."""
    if isinstance(schema, list):
        return [_inlined(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    own = {key: _inlined(value, definitions) for key, value in schema.items() if key not in _APART}
    name = schema.get(_REFERENCE)
    if name is None:
        return own
    named = _inlined(definitions[name.removeprefix(_DEFINITIONS)], definitions)
    assert own.keys() <= _WORDS, name  # beside a reference stand words alone
    return {**named, **own}


def is_whole(value: object) -> bool:
    """An integer, which true is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def missing_key(error: ValidationError) -> str:
    """The first key that an object lacks; "" where the error is another one."""
    found: Any = error.instance
    needed: Any = error.validator_value
    if error.validator == "dependentRequired":
        needed = [key for given, keys in needed.items() if given in found for key in keys]
    elif error.validator != "required":
        return ""
    return str(next(key for key in needed if key not in found))
