"""The JSON schemas that documents of ours are held to (https://json-schema.org/draft/2020-12)."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

_DEFINITIONS = "#/$defs/"


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
    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: is_whole(value))
    kind = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    schema = schema_of(package)
    found: Draft202012Validator = kind(_resolved(schema, schema), format_checker=formats)
    return found


def _resolved(found: Any, schema: dict[str, Any]) -> Any:
    """Some of a schema with definitions in place of references to them, where these stand alone:
    to look them up takes half of the time.  No definition of ours refers to itself."""
    if isinstance(found, list):
        return [_resolved(each, schema) for each in found]
    if not isinstance(found, dict):
        return found
    if found.keys() == {"$ref"} and found["$ref"].startswith(_DEFINITIONS):
        return _resolved(schema["$defs"][found["$ref"].removeprefix(_DEFINITIONS)], schema)
    return {key: _resolved(value, schema) for key, value in found.items()}


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
