"""The manifest of an emitted folder: which of its files are ours, and what we wrote into them.

``.edgeconv/manifest.json``.  What it does not name is the user's.  What it names is ours as long as
it has the SHA-256 that is noted; after that it is the user's too.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from edgeconv.base import regular_file
from edgeconv.base.errors import EdgeconvError

STATE = ".edgeconv"  # the folder in a project that is edgeconv's alone
MANIFEST = f"{STATE}/manifest.json"
VERSION = 1
PROJECT = "compiled project"  # of `kind`, and of manifests that name none
NOTHING = 0  # no file has this mode
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def document_of(path: Path) -> Any:
    """What a JSON file of the folder of state holds.

    Raises OSError, ValueError for other text, EdgeconvError where it exceeds a limit.
    """
    text = regular_file.content(path, "state-bytes").decode("utf-8")
    return regular_file.nested(lambda: json.loads(text), "report-depth", str(path))


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of an emitted folder.  ``program``: the prefix of files and symbols.  ``files``:
    SHA-256 by name, relative to the folder.  ``made``: what a build makes, ours whatever is in
    it.  ``kind``: what the folder is, in words.  ``once``: files for the user's own code, with the
    SHA-256 that they have until he writes into them."""

    program: str
    files: Mapping[str, str] = field(default_factory=dict)
    made: frozenset[str] = frozenset()
    kind: str = PROJECT
    once: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, directory: Path) -> Manifest | None:
        """The manifest in ``directory``, None where there is none.

        Raises EdgeconvError for one that is damaged.
        """
        path = plain(directory, MANIFEST)
        if path is None:
            return None
        try:
            return cls._checked(document_of(path))
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise EdgeconvError(
                "cannot tell which files are edgeconv's",
                where=str(path),
                rule="it is damaged" if not isinstance(error, OSError) else str(error.strerror),
                hint="restore it, or give another directory with -o",
            ) from error

    @classmethod
    def _checked(cls, document: Any) -> Manifest:
        files, made = document["files"], document["made"]
        kind, once = document.get("kind", PROJECT), document.get("once", {})
        if not (
            document["manifest"] == VERSION
            and isinstance(document["program"], str)
            and isinstance(kind, str)
            and isinstance(files, dict)
            and isinstance(once, dict)
            and isinstance(made, list)
            and all(fits(name) for name in (*files, *made, *once))
            and all(
                isinstance(s, str) and _SHA256.fullmatch(s)
                for s in (*files.values(), *once.values())
            )
        ):
            raise ValueError("not a manifest")
        return cls(document["program"], files, frozenset(made), kind, once)

    def text(self) -> str:
        """The file's; the same for the same files."""
        document = {
            "manifest": VERSION,
            "about": "The files of this folder that edgeconv wrote, with their SHA-256. It replaces"
            " and deletes no others, and these only while they are unchanged. Keep it with them.",
            "kind": self.kind,
            "program": self.program,
            "files": dict(sorted(self.files.items())),
            "made": sorted(self.made),
            "once": dict(sorted(self.once.items())),
        }
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    def with_files(self, files: Mapping[str, str]) -> Manifest:
        """The manifest with these files too."""
        return replace(self, files={**self.files, **files})

    def with_made(self, names: Iterable[str]) -> Manifest:
        """The manifest with these products of a build too."""
        return replace(self, made=self.made.union(names))

    def owns(self, directory: Path, name: str) -> bool:
        """Whether the file of this name in ``directory`` is there and ours: as we wrote it."""
        path = plain(directory, name)
        if path is None:
            return False
        return name in self.made or digest(path) in (self.files.get(name), self.once.get(name))


def fits(name: object) -> bool:
    """Whether a name leads to a place in the folder, other than to what is edgeconv's alone."""
    if not isinstance(name, str) or not name or _CONTROL.search(name):
        return False
    parts = name.split("/")
    return parts[0] != STATE and not {"", ".", ".."}.intersection(parts)


def plain(directory: Path, name: str) -> Path | None:
    """The regular file ``name`` in ``directory``, reached through no symbolic link; else None."""
    *folders, last = name.split("/")
    path = directory
    for part in folders:
        path = path / part
        if not stat.S_ISDIR(mode_of(path)):
            return None
    return path / last if stat.S_ISREG(mode_of(path / last)) else None


def occupied(directory: Path, name: str) -> bool:
    """Whether there is anything of this name, or anything but a folder on the way to it."""
    path = directory
    *folders, last = name.split("/")
    for part in folders:
        path = path / part
        if not stat.S_ISDIR(mode := mode_of(path)):
            return mode != NOTHING
    return mode_of(path / last) != NOTHING


def mode_of(path: Path) -> int:
    """What is there, as in ``st_mode``, or ``NOTHING``; a symbolic link is one itself.

    Raises OSError where that cannot be told, which ``Path.exists`` takes for nothing.
    """
    try:
        return path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING


def digest(path: Path) -> str:
    """SHA-256 of a file.  Raises OSError."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
