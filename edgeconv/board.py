"""Boards: what a network is compiled for, read from one TOML file each.

The files lie in ``edgeconv/boards`` and in the folders that EDGECONV_BOARDS names (separated as
PATH is); they are scanned, never listed.  ``boards/schema.json`` says what a file may hold.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError

from edgeconv import sizes
from edgeconv.cache import Cache
from edgeconv.errors import EdgeconvError, Exit
from edgeconv.host import Host, detect
from edgeconv.registry import lookup
from edgeconv.targets import TARGETS, Target

FOLDERS_VARIABLE = "EDGECONV_BOARDS"
_NATIVE_CC = ("cc", "gcc", "clang")


class RunKind(Enum):
    """How a program built for the board runs on the machine that runs edgeconv."""

    NATIVE = "native"
    QEMU_USER = "qemu-user"
    NONE = "none"  # not at all: build only


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory region; ``kind`` is "ram" or "flash", ``size`` in bytes."""

    name: str
    kind: str
    size: int


@dataclass(frozen=True, slots=True)
class Toolchain:
    """``cc``: compiler commands, best first, arguments allowed.  ``flags``: the board's own, after
    those of its ISA.  ``install``: how to get the compiler."""

    cc: tuple[str, ...]
    flags: tuple[str, ...]
    static: bool
    install: str


@dataclass(frozen=True, slots=True)
class Run:
    """``command``: the emulator and its arguments, empty otherwise.  ``install``: how to get it."""

    kind: RunKind
    command: tuple[str, ...]
    install: str


@dataclass(frozen=True, slots=True)
class Board:
    """One board, everything detected that its file leaves to detection.

    ``toolchain`` and ``run`` are those for the machine at hand: a board of another architecture is
    cross-compiled and emulated, on a machine of its own architecture it is neither.
    """

    name: str
    description: str
    arch: str  # as uname -m prints it
    isa: str  # a row of edgeconv.targets.TARGETS
    cpu: str
    cores: int | None
    clock_hz: int | None
    prefetch: bool  # whether kernels fetch ahead in software
    caches: tuple[Cache, ...]  # by level; those that hold data
    memory: tuple[Memory, ...]
    toolchain: Toolchain
    run: Run
    path: Path

    @property
    def target(self) -> Target:
        """The instruction set and the caches that kernels are chosen for."""
        return replace(TARGETS[self.isa], caches=self.caches, prefetch=self.prefetch)

    @property
    def flags(self) -> tuple[str, ...]:
        """Compiler flags: those of the ISA, then the board's."""
        return (*self.target.flags, *self.toolchain.flags)

    @property
    def ram_bytes(self) -> int | None:
        """All RAM, None when the file names none."""
        return self._total("ram")

    @property
    def flash_bytes(self) -> int | None:
        """All flash, None when the file names none."""
        return self._total("flash")

    def _total(self, kind: str) -> int | None:
        found = [region.size for region in self.memory if region.kind == kind]
        return sum(found) if found else None


def names() -> tuple[str, ...]:
    """The boards that ``load`` knows, sorted."""
    return tuple(sorted(_files()))


def load(name: str, host: Host | None = None) -> Board:
    """The board ``name`` as seen from ``host`` (default: the running machine).

    Raises EdgeconvError (exit status 2): unknown name with a "did you mean", or a file that breaks
    the schema with the path of the field.
    """
    return check(lookup("board", name, _files()), host)


def check(path: Path, host: Host | None = None) -> Board:
    """The board that the file ``path`` describes; raises as ``load`` does."""
    data = _read(path)
    _validate(path, data)
    if data["name"] != path.stem:
        raise _invalid(path, "name", repr(data["name"]), f"the file is called {path.name}")
    return _build(path, data, host or detect())


def _folders() -> list[Path]:
    extra = [Path(p) for p in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if p]
    for folder in extra:
        if not folder.is_dir():
            raise EdgeconvError(
                "no such folder of boards",
                where=str(folder),
                hint=f"correct {FOLDERS_VARIABLE}",
                code=Exit.USAGE,
            )
    return [Path(str(resources.files("edgeconv.boards"))), *extra]


def _files() -> dict[str, Path]:
    """Board name (the file's stem) -> file, over all folders."""
    found: dict[str, Path] = {}
    for folder in _folders():
        for path in sorted(folder.glob("*.toml")):
            if path.stem in found:
                raise EdgeconvError(
                    "two boards of one name",
                    where=str(path),
                    got=repr(path.stem),
                    rule=f"{found[path.stem]} has it too",
                    hint="rename one of them",
                    code=Exit.USAGE,
                )
            found[path.stem] = path
    return found


def _read(path: Path) -> dict[str, Any]:
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
    formats.checks("size", raises=EdgeconvError)(_is_size)
    schema = json.loads((resources.files("edgeconv.boards") / "schema.json").read_text())
    return Draft202012Validator(schema, format_checker=formats)


def _is_size(value: object) -> bool:
    """Strings only: integers are sizes as they stand.  Raises EdgeconvError as sizes.parse does."""
    return not isinstance(value, str) or sizes.parse(value) > 0


def _validate(path: Path, data: Mapping[str, Any]) -> None:
    """Raise for the first violation in file order of depth: the outermost field that is wrong."""
    errors = sorted(
        _validator().iter_errors(data),
        key=lambda error: (len(error.absolute_path), error.json_path),
    )
    if errors:
        raise _violation(path, errors[0])


def _violation(path: Path, error: ValidationError) -> EdgeconvError:
    field = error.json_path.removeprefix("$").lstrip(".")
    if isinstance(error.cause, EdgeconvError):  # a size that does not parse
        cause = error.cause
        return _invalid(path, field, cause.got, cause.rule, cause.hint)
    if error.validator in ("required", "additionalProperties"):
        return _invalid(path, field, "", error.message)
    hint = str(error.schema.get("description", "")) if isinstance(error.schema, dict) else ""
    return _invalid(path, field, json.dumps(error.instance, default=str), _rule(error), hint)


def _rule(error: ValidationError) -> str:
    """The broken rule without the value, which the message names already."""
    rules = {
        "type": "must be of type",
        "enum": "must be one of",
        "const": "must be",
        "pattern": "must match",
        "minimum": "must be at least",
        "maximum": "must be at most",
        "minLength": "must have a length of at least",
        "minItems": "must have a length of at least",
    }
    value = error.validator_value
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{rules[error.validator]} {text}" if error.validator in rules else error.message


def _invalid(path: Path, field: str, got: str, rule: str, hint: str = "") -> EdgeconvError:
    where = f"{path}: {field}" if field else str(path)
    return EdgeconvError(
        "invalid board file", where=where, got=got, rule=rule, hint=hint, code=Exit.USAGE
    )


def _build(path: Path, data: Mapping[str, Any], host: Host) -> Board:
    here = data["arch"] == "host"
    arch = host.arch if here else data["arch"]
    caches = tuple(
        Cache(c["level"], _bytes(c["size"]), c["line"], c.get("latency"), c.get("ways"))
        for c in sorted(data.get("cache", ()), key=lambda c: int(c["level"]))
    )
    native = _is_native(data["run"], arch, host)
    return Board(
        name=data["name"],
        description=data["description"],
        arch=arch,
        isa=_isa(path, data["isa"], arch, host if here else None),
        cpu=data.get("cpu", host.cpu if here else arch),
        cores=data.get("cores", host.cores if here else None),
        clock_hz=data.get("clock_hz", host.clock_hz if here else None),
        prefetch=data.get("prefetch", False),
        caches=caches or (host.caches if here else ()),
        memory=tuple(
            Memory(m["name"], m["kind"], _bytes(m["size"])) for m in data.get("memory", ())
        ),
        toolchain=_toolchain(data["toolchain"], native),
        run=_run(data["run"], native),
        path=path,
    )


def _bytes(size: int | str) -> int:
    return sizes.parse(size) if isinstance(size, str) else size


def _isa(path: Path, isa: str, arch: str, host: Host | None) -> str:
    """The row's name; "auto" picks the widest one that ``host`` has."""
    if isa == "auto":
        if host is None:
            raise _invalid(path, "isa", '"auto"', 'only a board of arch "host" can be detected')
        fits = (
            row for row in TARGETS.values() if row.arch in (arch, "any") and host.has(row.cpu_flags)
        )
        return max(fits, key=lambda row: row.lanes).name
    row = lookup("ISA", isa, TARGETS)
    if row.arch not in (arch, "any"):
        raise _invalid(path, "isa", repr(isa), f"it is for {row.arch}, the board's arch is {arch}")
    return row.name


def _is_native(run: Mapping[str, Any], arch: str, host: Host) -> bool:
    return arch == host.arch and host.has(tuple(run.get("native_if", ())))


def _toolchain(data: Mapping[str, Any], native: bool) -> Toolchain:
    own = tuple(data["cc"])
    return Toolchain(
        cc=tuple(dict.fromkeys((*_NATIVE_CC, *own))) if native else own,
        flags=tuple(data.get("flags", ())),
        static=bool(data.get("static", False)) and not native,
        install=data.get("install", ""),
    )


def _run(data: Mapping[str, Any], native: bool) -> Run:
    if native:
        return Run(RunKind.NATIVE, (), "")
    kind = RunKind(data["kind"])
    if kind is RunKind.NATIVE:  # a board of another architecture, without an emulator
        kind = RunKind.NONE
    return Run(kind, tuple(data.get("command", ())), data.get("install", ""))
