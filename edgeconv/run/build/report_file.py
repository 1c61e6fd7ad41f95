"""Reading report.json: held to limits, to its schema, and to what the schema cannot say.

A report comes from anywhere: it was checked out, edited, cut off, sent by somebody.  Everything
behind this takes it for what ``edgeconv compile`` writes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from jsonschema.exceptions import ValidationError

from edgeconv.base import limits, regular_file
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.names import shortened
from edgeconv.base.schema import is_whole, missing_key, validator
from edgeconv.ir.layout import ROW_MAJOR, Layout
from edgeconv.run.build.former_names import renamed

SCHEMA = 1
MOST = (1 << 63) - 1  # of any whole number
# Of others: products and ratios of any two of them are finite.
LEAST, LARGEST = 1e-60, 1e60
_SHOWN = 60  # characters of a value
_PREFIX = re.compile(r"[a-z_][a-z0-9_]{0,63}")
_BOARD = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_HINT = "restore it, or compile the model again to another folder"
# Texts that have no problem, by their digests and the limits then: one compilation opens its
# project several times, and to hold a large report to the schema takes seconds.
_SOUND: dict[tuple[bytes, tuple[tuple[str, int], ...]], None] = {}
_MOST_SOUND = 16


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a report.  ``place``: the JSON path."""

    place: str
    got: str
    rule: str


def read(path: Path) -> dict[str, Any]:
    """The report in ``path``, its keys as they are called now (`former_names`).

    Raises EdgeconvError (exit status 2) naming file, JSON path, value and rule where it is none,
    one of another version, or damaged.
    """
    try:
        text = regular_file.content(path, "report-bytes").decode("utf-8")
    except OSError as error:
        raise _none(path, f"{path.name} is missing", str(error.strerror)) from error
    except UnicodeDecodeError as error:
        raise _none(path, f"{path.name} is damaged: it is not UTF-8") from error
    try:
        report = regular_file.nested(lambda: parse(text), "report-depth", str(path))
    except ValueError as error:
        raise _none(path, f"{path.name} is damaged: {error}") from error
    if not isinstance(report, dict):
        raise _none(path, f"{path.name} is damaged: it is no object")
    version = report.get("schema")
    if type(version) is int and version != SCHEMA and "program" in report:
        raise UsageError(
            "project of another version",
            where=str(path),
            got=f"schema {shortened(str(version), _SHOWN)}",
            rule=f"this edgeconv reads schema {SCHEMA}",
            hint="compile the model again",
        )
    report = renamed(report)
    known = _key(text)
    for problem in problems(report) if known not in _SOUND else ():
        raise UsageError(
            "the report is damaged",
            where=f"{path}: {problem.place}",
            got=problem.got,
            rule=problem.rule,
            hint=_HINT,
        )
    note_sound(text)
    return report


def note_sound(text: str) -> None:
    """Take a report for sound that was read so, or is made by us of one that was."""
    _SOUND[_key(text)] = None
    while len(_SOUND) > _MOST_SOUND:
        del _SOUND[next(iter(_SOUND))]


def _key(text: str) -> tuple[bytes, tuple[tuple[str, int], ...]]:
    return sha256(text.encode()).digest(), tuple(limits.in_force().items())


def note_made(report: Mapping[str, Any], text: str) -> None:
    """Take a report for sound that was made here, whose ``text`` is this: its shape is what the
    schema says.  One whose values have a problem, as those of the model may, is read as any other.
    """
    if not any(True for _ in chain(values(report, "$"), _contents(report))):
        note_sound(text)


def problems(report: dict[str, Any]) -> Iterator[Problem]:
    """What is wrong with a report, the outermost first."""
    yield from values(report, "$")
    errors = validator("edgeconv.report").iter_errors(report)
    yield from map(violation, sorted(errors, key=lambda error: len(error.absolute_path)))
    yield from _contents(report)


def _contents(report: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a report that has the shape which the schema says."""
    yield from _names(report)
    yield from _ports(report)
    yield from _times(report)
    yield from _streaming(report)
    yield from _sums(report)


def _none(path: Path, rule: str, got: str = "") -> EdgeconvError:
    return UsageError(
        "not an edgeconv project",
        where=str(path.parent),
        got=got,
        rule=rule,
        hint="give a directory that `edgeconv compile` wrote",
    )


def parse(text: str) -> Any:
    """The value that a text of JSON has.  Raises ValueError where it has none."""

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number of JSON")

    return json.loads(text, parse_constant=constant)


def violation(error: ValidationError) -> Problem:
    """A violation of a schema: place, value and rule."""
    found: Any = error.instance
    if key := missing_key(error):
        return Problem(f"{error.json_path}.{key}", "", "is missing")
    rule = error.message.removeprefix(repr(found)).strip()
    return Problem(error.json_path, _shown(found), shortened(rule, 2 * _SHOWN))


def _shown(value: object) -> str:
    return shortened(json.dumps(value), _SHOWN)


def values(value: Any, place: str) -> Iterator[Problem]:
    """What is wrong below any key, known or not: numbers to calculate with, text that can be
    written."""
    if isinstance(value, dict):
        for key, inner in value.items():
            inside = f"{place}.{shortened(key, _SHOWN)}"
            yield from values(key, inside)
            yield from values(inner, inside)
    elif isinstance(value, list | tuple):  # of what is made here
        for number, inner in enumerate(value):
            yield from values(inner, f"{place}[{number}]")
    elif isinstance(value, float) and value and not LEAST <= abs(value) <= LARGEST:
        yield Problem(place, str(value), f"numbers are 0 or from {LEAST:g} to {LARGEST:g}")
    elif is_whole(value) and abs(value) > MOST:
        yield Problem(place, shortened(str(value), _SHOWN), f"numbers are at most {MOST}")
    elif isinstance(value, str):
        if len(value) > (most := limits.limit("name-length")):
            yield Problem(place, f"{len(value)} characters", f"text has at most {most}")
        elif not _writable(value):
            yield Problem(place, _shown(value), "is no text: it has half of a UTF-16 pair")


def _writable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _names(report: Mapping[str, Any]) -> Iterator[Problem]:
    """Names that become names of files lead nowhere else."""
    name, board, file = report["program"]["name"], report["board"], report["model"]["file"]
    if not _PREFIX.fullmatch(name):
        yield Problem("$.program.name", _shown(name), "is no prefix of files and symbols")
    if not _BOARD.fullmatch(board) or len(board) > 128:
        yield Problem("$.board", _shown(board), "is no name of a board")
    if not file or file in (".", "..") or {"/", "\0"} & set(file):
        yield Problem("$.model.file", _shown(file), "is the name of a file, without directories")


def _ports(report: Mapping[str, Any]) -> Iterator[Problem]:
    rank, most = limits.limit("tensor-rank"), limits.limit("tensor-elements")
    for direction in ("inputs", "outputs", "states"):
        seen: set[str] = set()
        for number, port in enumerate(report.get(direction, ())):
            place = f"$.{direction}[{number}]"
            shape = port["shape"]
            if len(shape) > rank or math.prod(shape) > most:
                rule = f"has at most {rank} dimensions and {most} elements"
                yield Problem(f"{place}.shape", _shown(shape), rule)
            layout = port.get("layout")
            if layout and not _fits(Layout.parse(layout), tuple(shape), direction):
                rule = "is one of images of that shape without padding"
                yield Problem(f"{place}.layout", _shown(layout), rule)
            if port["name"] in seen:
                yield Problem(f"{place}.name", _shown(port["name"]), "is there twice")
            seen.add(port["name"])
    for number, port in enumerate(report.get("states", ())):
        if len(port.get("initial", ())) not in (0, math.prod(port["shape"])):
            got = f"{len(port['initial'])} elements"
            yield Problem(f"$.states[{number}].initial", got, f"are those of {port['shape']}")
    counts = {port["name"] for port in report["outputs"] if port["shape"] == [1]}
    for number, port in enumerate(report["outputs"]):
        data_dependent = port.get("data_dependent", {"axis": -1})
        if data_dependent["axis"] >= len(port["shape"]):
            place = f"$.outputs[{number}].data_dependent.axis"
            yield Problem(place, str(data_dependent["axis"]), f"is a dimension of {port['shape']}")
        if "count" in data_dependent and data_dependent["count"] not in counts:
            place = f"$.outputs[{number}].data_dependent.count"
            yield Problem(place, _shown(data_dependent["count"]), "is an output of one number")


def _fits(layout: Layout, shape: tuple[int, ...], direction: str) -> bool:
    """Whether it pads nothing; the caller's tensors have other layouts where they are images."""
    if direction != "states":
        return layout.fits(shape)
    return layout == ROW_MAJOR or (len(shape) > 1 and layout.elements(shape) == math.prod(shape))


def _sums(report: Mapping[str, Any]) -> Iterator[Problem]:
    """No part is larger than the whole."""
    ram, flash = report["ram"], report["flash"]
    # Layers may have constants in common.
    most = max((layer["weight_bytes"] for layer in report["layers"]), default=0)
    for place, whole, what, part in (
        ("$.ram.total", ram["total"], "the arena", ram["arena"]),
        ("$.ram.arena", ram["arena"], "the workspace", ram["workspace"]),
        ("$.ram.arena", ram["arena"], "its states", ram.get("states_apart", 0)),
        ("$.flash.total", flash["total"], "the weights", flash["weights"]),
        ("$.flash.weights", flash["weights"], "the weights of one layer", most),
    ):
        if whole < part:
            yield Problem(place, str(whole), f"is at least {part}, {what}")


def _streaming(report: Mapping[str, Any]) -> Iterator[Problem]:
    """Layers that stream rows follow each other, and their rows are those of their results."""
    layers, end = report["layers"], 0
    for number, step in enumerate(report.get("steps", ())):
        for position, each in enumerate(step["layers"]):
            place, found = f"$.steps[{number}].layers[{position}]", each["layer"]
            if not end <= found < len(layers) or (position and found != end):
                yield Problem(f"{place}.layer", str(found), "is a layer behind the one before")
                return
            end = found + 1
            # Of a layer that accumulates they are those of the result that it reads.
            sums = each.get("accumulates", False)
            if sums and not 0 < position == len(step["layers"]) - 1:
                yield Problem(f"{place}.accumulates", "true", "is the last layer of several")
                return
            shape = layers[found - sums]["output_shape"]
            if len(shape) < 2 or each["rows"] != shape[-2]:
                yield Problem(f"{place}.rows", str(each["rows"]), f"are those of {shape}")
            if each["ring"] > each["rows"]:
                yield Problem(f"{place}.ring", str(each["ring"]), "is a part of the rows")
            if "patches" in step:
                yield from _patches(each.get("columns"), f"{place}.columns", shape)


def _patches(
    columns: Mapping[str, int] | None, place: str, shape: Sequence[int]
) -> Iterator[Problem]:
    """Columns of a layer that computes those of patches are those of its result."""
    if columns is None or columns["rows"] != shape[-1] or columns["ring"] > columns["rows"]:
        yield Problem(place, str(columns), f"are columns of {shape}, of which memory holds a part")


def _times(report: Mapping[str, Any]) -> Iterator[Problem]:
    """The arena's map stays within the arena's time and its layers."""
    layers = len(report["layers"])
    if layers > (most := limits.limit("model-nodes")):
        yield Problem("$.layers", f"{layers} layers", f"at most {most}")
    for number, entry in enumerate(report.get("arena_map", ())):
        place = f"$.arena_map[{number}]"
        if not entry["first"] <= entry["last"] <= layers:
            got = f"from {entry['first']} to {entry['last']}"
            yield Problem(place, got, f"is live in order, and until step {layers} at most")
