"""Where board files lie: ``edgeconv/target/boards``, and the folders that EDGECONV_BOARDS names.

The variable separates them as PATH is.  Folders are scanned, never listed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean, shortened

FOLDERS_VARIABLE = "EDGECONV_BOARDS"
_ENDING = ".toml"


@cache
def shipped() -> Path:
    """The folder of the boards that come with edgeconv."""
    return Path(str(resources.files("edgeconv.target.boards")))


def files() -> dict[str, Path]:
    """Board name (the file's stem) -> file, over all folders; the first of two of one name.

    Raises EdgeconvError (exit status 2): no such folder.
    """
    found: dict[str, Path] = {}
    for folder in _folders():
        for name in sorted(_names_in(folder)):
            found.setdefault(name, folder / f"{name}{_ENDING}")
    return found


def _names_in(folder: Path) -> set[str]:
    """The boards whose files are in a folder."""
    try:
        with os.scandir(folder) as entries:
            files = [entry.name for entry in entries if entry.name.endswith(_ENDING)]
    except PermissionError:
        return set()
    return {file.removesuffix(_ENDING) for file in files} - {""}


def find(name: str) -> Path:
    """The file of the board ``name``.

    Raises EdgeconvError (exit status 2) for an unknown one, with a file that may be meant or a "did
    you mean", for one that two files describe, and as ``files``.
    """
    paths = [folder / f"{name}{_ENDING}" for folder in _folders() if name in _names_in(folder)]
    if not paths:
        known = files()
        given = "" if os.environ.get(FOLDERS_VARIABLE) else ", which is not set"
        raise UsageError(
            "unknown board",
            got=shortened(repr(name)),
            rule=f"neither shipped nor in a folder of {FOLDERS_VARIABLE}{given}",
            hint=_file_at_hand(name, known) or did_you_mean(name, known),
        )
    first, *others = paths
    if others:
        raise UsageError(
            "two boards of one name",
            where=str(others[0]),
            got=repr(name),
            rule=f"{first} has it too",
            hint="rename one of them",
        )
    return first


def _named() -> list[str]:
    """The folders of the variable, as they are written there."""
    return [path for path in os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep) if path]


def _folders() -> list[Path]:
    extra = [Path(path) for path in _named()]
    for folder in extra:
        if not os.path.isdir(folder):  # noqa: PTH112 - raises for no name, however long
            raise UsageError(
                "no such folder of boards", where=str(folder), hint=f"correct {FOLDERS_VARIABLE}"
            )
    return [shipped(), *extra]


def _file_at_hand(name: str, known: Mapping[str, object]) -> str:
    """How to use the board file that ``name`` means, by path or in the working directory; "" when
    there is none."""
    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if not os.path.isfile(path):  # noqa: PTH113 - Path.is_file() raises for names beyond 255 bytes
        return ""
    if path.stem in known:
        return f"did you mean {path.stem}?"
    value = os.pathsep.join(dict.fromkeys([*_named(), str(path.parent)]))
    board = f" and name the board {path.stem}" if name != path.stem else ""
    return f"{path} is there: set {FOLDERS_VARIABLE}={shlex.quote(value)}{board}"
