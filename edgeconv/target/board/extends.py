"""What a board file takes over from another: ``extends`` names a class of boards, or a board.

A class is a file of the folder ``classes`` beside the board files: what boards of one core or one
family have in common, which alone is no board.  Tables are merged key by key; any other value, and
a list of tables whole, takes the place of that of the same key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean, shortened
from edgeconv.target import board_folders

KEY = "extends"
_CLASSES = "classes"
_MOST = 8  # files one after the other
_OWN = (KEY, "name", "description")  # what each file says of itself

Data = Mapping[str, Any]


@cache
def classes() -> Mapping[str, Path]:
    """Name of a class -> its file, of the shipped ones."""
    return {path.stem: path for path in (board_folders.shipped() / _CLASSES).glob("*.toml")}


def extended(path: Path, parse: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """What the file ``path`` holds and what it extends, one merged into the other; ``parse`` reads
    a file.

    Raises EdgeconvError (exit status 2): no such class or board, or files that extend each other.
    """
    data, passed = parse(path), [path]
    found = dict(data)
    while KEY in data:
        base = _find(path, data[KEY])
        if base in passed or len(passed) == _MOST:
            rule = (
                "it extends itself" if base in passed else f"at most {_MOST} files do so in a row"
            )
            raise _wrong(path, data[KEY], rule, "leave it out of one of them")
        passed.append(base)
        data = parse(base)
        found = _merged({key: data[key] for key in data if key not in _OWN}, found)
    found.pop(KEY, None)
    return found


def _find(path: Path, name: object) -> Path:
    """The file that ``name`` means: of a class, else of a board."""
    known = classes()
    if not isinstance(name, str):
        raise _wrong(path, name, "the name of a class or board is expected", "")
    if name in known:
        return known[name]
    boards = board_folders.files()
    if name not in boards:
        hint = did_you_mean(name, (*known, *boards))
        raise _wrong(path, name, "there is no such class, and no such board", hint)
    return board_folders.find(name)


def _merged(base: dict[str, Any], own: Data) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        below = merged.get(key)
        tables = isinstance(below, dict) and isinstance(value, dict)
        merged[key] = _merged(below, value) if tables and below is not None else value
    return merged


def _wrong(path: Path, name: object, rule: str, hint: str) -> UsageError:
    where = f"{path}: {KEY}"
    return UsageError(
        "invalid board file", where=where, got=shortened(repr(name)), rule=rule, hint=hint
    )
