"""Board files: TOML, held against ``boards/schema.json`` and against what the schema cannot say."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from jsonschema import FormatChecker
from jsonschema.exceptions import ValidationError

from edgeconv.base import limits, regular_file
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.names import did_you_mean, shortened
from edgeconv.base.quantities import DIMENSIONS, parse
from edgeconv.base.schema import missing_key, schema_of, validator
from edgeconv.target.board.checks import problems
from edgeconv.target.board.extends import extended

_PACKAGE = "edgeconv.target.boards"  # which has the schema
_SHOWN_PATH = 200  # characters
# A key of that many parts: an inner table each.
_DOTTED = r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{most},}}"""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")  # TOML's keys that need no quotes

Data = Mapping[str, Any]
# Path and texts of files that were found valid: commands load a board more than once, and tests
# all of them again and again.
_VALID: set[tuple[Path | str, ...]] = set()


def read(path: Path) -> dict[str, Any]:
    """The contents of a board file and of what it extends, valid.

    Raises EdgeconvError (exit status 2) with the path of the field when they are not.
    """
    texts: list[str] = []

    def parsed(each: Path) -> dict[str, Any]:
        texts.append(_text(each))
        return _parse(each, texts[-1], limits.limit("board-depth"))

    data = extended(path, parsed)
    if (path, *texts) not in _VALID:
        _require_valid(path, data)
        _VALID.add((path, *texts))
    return data


def _require_valid(path: Path, data: Data) -> None:
    _validate(path, data)
    if data["name"] != path.stem:
        rule = f"the file is called {path.name}"
        raise invalid(path, "name", repr(data["name"]), rule, "rename one of them")
    for problem in problems(data):
        raise invalid(path, problem.field, problem.got, problem.rule, problem.hint)


def invalid(path: Path, field: str, got: str, rule: str, hint: str = "") -> EdgeconvError:
    """The error of one field, given by its path in the file."""
    where = f"{path}: {field}" if field else str(path)
    return UsageError("invalid board file", where=where, got=got, rule=rule, hint=hint)


def _text(path: Path) -> str:
    try:
        # -sig: some editors begin a text with a byte order mark, which TOML has no place for.
        return regular_file.content(path, "board-bytes").decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "cannot read the board file",
            where=shortened(str(path), _SHOWN_PATH),
            rule=str(error.strerror) if isinstance(error, OSError) else "not UTF-8",
            hint="" if isinstance(error, OSError) else "save it in this encoding",
        ) from error


@lru_cache(maxsize=1024)
def _parse(path: Path, text: str, most: int) -> dict[str, Any]:
    """What ``text`` of a file says, no deeper than ``most``; not to be changed."""
    if re.search(_DOTTED.format(most=most + 1), text):  # which take tomllib time without end
        raise limits.exceeded("board-depth", f"more than {most}", str(path))
    try:
        data: dict[str, Any] = regular_file.nested(
            lambda: tomllib.loads(text), "board-depth", str(path)
        )
    except ValueError as error:  # of TOML, or an integer of more digits than Python reads
        raise UsageError("board file is not TOML", where=str(path), rule=str(error)) from error
    return data


@cache
def _quantities() -> FormatChecker:
    formats = FormatChecker(formats=())
    for dimension in DIMENSIONS:
        formats.checks(dimension, raises=EdgeconvError)(partial(_is_quantity, dimension))
    return formats


def _is_quantity(dimension: str, value: object) -> bool:
    """Raises EdgeconvError as ``base.quantities.parse`` does, and for what no float holds."""
    try:
        found = parse(value, dimension)
    except OverflowError:
        found = math.inf
    if math.isinf(found):
        hint = f"write it like {DIMENSIONS[dimension].example!r}"
        raise EdgeconvError("invalid quantity", got=repr(value), rule="is too large", hint=hint)
    return found > 0


def _validate(path: Path, data: Data) -> None:
    """Raise for the first violation in file order of depth: the outermost field that is wrong."""
    errors = sorted(
        validator(_PACKAGE, _quantities()).iter_errors(data),
        key=lambda error: (len(error.absolute_path), error.json_path),
    )
    if errors:
        raise _violation(path, errors[0])


def _violation(path: Path, error: ValidationError) -> EdgeconvError:
    field = error.json_path.removeprefix("$").lstrip(".")
    if isinstance(error.cause, EdgeconvError):  # a quantity that does not parse
        cause = error.cause
        return invalid(path, field, shortened(cause.got), cause.rule, cause.hint)
    found: Any = error.instance
    if key := missing_key(error):
        about = _description([*error.absolute_path, key])
        return invalid(path, _joined(field, key), "", "is missing", about)
    if error.validator == "additionalProperties":
        allowed = _at(error.absolute_path)["properties"]
        key = next(key for key in found if key not in allowed)
        return invalid(path, _joined(field, key), "", "no such key", did_you_mean(key, allowed))
    hint = _description(error.absolute_path)
    if error.validator == "type" and error.validator_value == "array":
        hint = f"write [[{field}]]" if isinstance(found, dict) else hint
    got = shortened(json.dumps(found, default=str))
    return invalid(path, field, got, _rule(error), hint)


def _joined(field: str, key: str) -> str:
    name = key if _BARE_KEY.fullmatch(key) else json.dumps(key)
    return f"{field}.{shortened(name)}" if field else shortened(name)


def _at(path: Iterable[str | int]) -> dict[str, Any]:
    """The part of the schema that describes the field ``path``."""
    schema = schema_of(_PACKAGE)
    for step in path:
        schema = schema["items"] if isinstance(step, int) else schema["properties"][step]
    return schema


def _description(path: Iterable[str | int]) -> str:
    return str(_at(path).get("description", ""))


def _rule(error: ValidationError) -> str:
    """The broken rule without the value, which the message names already."""
    rules = {
        "type": "must be of type",
        "enum": "must be one of",
        "const": "must be",
        "pattern": "must match",
        "minimum": "must be at least",
        "exclusiveMinimum": "must be more than",
        "maximum": "must be at most",
        "multipleOf": "must be a multiple of",
        "minLength": "must have a length of at least",
        "minItems": "must have a length of at least",
    }
    value = error.validator_value
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{rules[error.validator]} {text}" if error.validator in rules else error.message
