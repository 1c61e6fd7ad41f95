"""The file that ``edgeconv boards new`` writes: its name, and that none is overwritten."""

from __future__ import annotations

import re
from pathlib import Path

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.names import shortened
from edgeconv.target import board as boards

_LONGEST_NAME = 100  # characters: a file of this name has to fit, with what is added to it
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")  # as boards/schema.json has it


def path_of(name: str, output: Path | None) -> Path:
    """The file to write, after everything that can be wrong with it was looked at.

    Raises EdgeconvError (exit status 2): the name is no board's name or taken, or the file is there
    already, or its folder is not.
    """
    if len(name) > _LONGEST_NAME:
        rule = f"a name has at most {_LONGEST_NAME} characters"
        raise _wrong("invalid name of a board", shortened(repr(name)), rule, "write a shorter one")
    if not _NAME.fullmatch(name):
        rule = "a name has a-z and 0-9, in parts joined by single hyphens"
        raise _wrong("invalid name of a board", repr(name), rule, "write one like my-board")
    path = output if output is not None else Path(f"{name}.toml")
    path = path / f"{name}.toml" if path.is_dir() else path
    if path.name != f"{name}.toml":
        rule = "the file of a board has the board's name"
        raise _wrong("invalid argument", str(path), rule, f"write -o {path.with_name(name)}.toml")
    if path.exists():
        raise _exists(path)
    if not path.parent.is_dir():
        raise UsageError("no such folder", where=str(path.parent), hint="make it first")
    if name in boards.names():
        rule = "there is a board of this name already"
        raise _wrong("invalid name of a board", repr(name), rule, "see `edgeconv boards list`")
    return path


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there; raises EdgeconvError (exit status 2) where it is."""
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise _exists(path) from None


def _exists(path: Path) -> EdgeconvError:
    return UsageError(
        "the board file exists",
        where=str(path),
        rule="it is not overwritten",
        hint="remove it, or give -o another folder",
    )


def _wrong(what: str, got: str, rule: str, hint: str) -> EdgeconvError:
    return UsageError(what, got=got, rule=rule, hint=hint)
