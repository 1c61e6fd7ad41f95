"""Board files: TOML, held against ``boards/schema.json`` and against what the schema cannot say."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from edgeconv.errors import EdgeconvError, Exit
from edgeconv.quantities import DIMENSIONS, parse

# -mfpu and -mfloat-abi follow from `fpu` and `float_abi`: stated twice they could differ.
_DERIVED_FLAGS = ("-mfpu", "-mfloat-abi")
BARE_METAL = "none"

Data = Mapping[str, Any]


def read(path: Path) -> dict[str, Any]:
    """The contents of a board file, valid.

    Raises EdgeconvError (exit status 2) with the path of the field when they are not.
    """
    data = _parse(path)
    _validate(path, data)
    if data["name"] != path.stem:
        raise invalid(path, "name", repr(data["name"]), f"the file is called {path.name}")
    for field, got, rule in (problem for check in _CHECKS for problem in check(data)):
        raise invalid(path, field, got, rule)
    return data


def invalid(path: Path, field: str, got: str, rule: str, hint: str = "") -> EdgeconvError:
    """The error of one field, given by its path in the file."""
    where = f"{path}: {field}" if field else str(path)
    return EdgeconvError(
        "invalid board file", where=where, got=got, rule=rule, hint=hint, code=Exit.USAGE
    )


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise EdgeconvError(
            "cannot read the board file", where=str(path), rule=str(reason), code=Exit.USAGE
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise EdgeconvError(
            "board file is not TOML", where=str(path), rule=str(error), code=Exit.USAGE
        ) from error


@cache
def _validator() -> Draft202012Validator:
    formats = FormatChecker(formats=())
    for dimension in DIMENSIONS:
        formats.checks(dimension, raises=EdgeconvError)(partial(_is_quantity, dimension))
    schema = json.loads((resources.files("edgeconv.boards") / "schema.json").read_text())
    return Draft202012Validator(schema, format_checker=formats)


def _is_quantity(dimension: str, value: object) -> bool:
    """Raises EdgeconvError as ``quantities.parse`` does."""
    return parse(value, dimension) > 0


def _validate(path: Path, data: Data) -> None:
    """Raise for the first violation in file order of depth: the outermost field that is wrong."""
    errors = sorted(
        _validator().iter_errors(data),
        key=lambda error: (len(error.absolute_path), error.json_path),
    )
    if errors:
        raise _violation(path, errors[0])


def _violation(path: Path, error: ValidationError) -> EdgeconvError:
    field = error.json_path.removeprefix("$").lstrip(".")
    if isinstance(error.cause, EdgeconvError):  # a quantity that does not parse
        cause = error.cause
        return invalid(path, field, cause.got, cause.rule, cause.hint)
    if error.validator in ("required", "additionalProperties"):
        return invalid(path, field, "", error.message)
    hint = str(error.schema.get("description", "")) if isinstance(error.schema, dict) else ""
    return invalid(path, field, json.dumps(error.instance, default=str), _rule(error), hint)


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
        "minLength": "must have a length of at least",
        "minItems": "must have a length of at least",
    }
    value = error.validator_value
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{rules[error.validator]} {text}" if error.validator in rules else error.message


Problem = tuple[str, str, str]  # path of the field, what was found, the rule


def _levels_once(data: Data) -> Iterator[Problem]:
    levels = [cache["level"] for cache in data.get("cache", ())]
    for number, level in enumerate(levels):
        if level in levels[:number]:
            yield f"cache[{number}].level", str(level), "another cache is of this level"


def _names_once(data: Data) -> Iterator[Problem]:
    names = [region["name"] for region in data.get("memory", ())]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield f"memory[{number}].name", repr(name), "another region has this name"


def _apart(data: Data) -> Iterator[Problem]:
    """Regions with an address share no byte."""
    placed = [
        (
            region["base"],
            region["base"] + int(parse(region["size"], "size")),
            region["name"],
            number,
        )
        for number, region in enumerate(data.get("memory", ()))
        if "base" in region
    ]
    for base, end, name, number in placed:
        for other_base, other_end, other, earlier in placed:
            if earlier < number and base < other_end and other_base < end:
                rule = f"{name} overlaps {other} at {other_base:#x} to {other_end - 1:#x}"
                yield f"memory[{number}].base", f"{base:#x}", rule


def _can_start(data: Data) -> Iterator[Problem]:
    """Firmware needs somewhere to start from, and somewhere for its variables."""
    if data.get("os") != BARE_METAL:
        if "firmware" in data:
            yield "firmware", "", f'a board has firmware when its os is "{BARE_METAL}"'
        return
    kinds = {region["kind"] for region in data["memory"]}
    if "flash" not in kinds:
        yield "memory", ", ".join(sorted(kinds)), "firmware starts from a region of kind flash"
    if kinds == {"flash"}:
        yield "memory", "flash", "firmware needs RAM: a region of kind tcm, sram or dram"


def _stated_once(data: Data) -> Iterator[Problem]:
    for number, flag in enumerate(data["toolchain"].get("flags", ())):
        if flag.partition("=")[0] in _DERIVED_FLAGS:
            rule = "the keys fpu and float_abi of the board say this"
            yield f"toolchain.flags[{number}]", repr(flag), rule


def _float_abi_fits(data: Data) -> Iterator[Problem]:
    """An FPU is used only when compilers are told how floats are passed to functions."""
    fpu, abi = data.get("fpu"), data.get("float_abi")
    if fpu == "none" and abi not in (None, "soft"):
        yield "float_abi", repr(abi), 'a core whose fpu is "none" has "soft" only'
    if fpu not in (None, "none") and abi is None:
        yield "float_abi", "", 'an fpu needs it: "hard" or "softfp"'
    if fpu not in (None, "none") and abi == "soft":
        yield "float_abi", repr(abi), 'the fpu would not be used; it needs "hard" or "softfp"'


_CHECKS: tuple[Callable[[Data], Iterator[Problem]], ...] = (
    _levels_once,
    _names_once,
    _apart,
    _can_start,
    _stated_once,
    _float_abi_fits,
)
