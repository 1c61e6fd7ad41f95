"""Folders in which new files are made, and how those go that a killed run left behind.

A staging folder is locked as long as the run lives that made it.  It holds ``files/``, what is to
be put in place, and ``old/``, what is kept until everything is.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from edgeconv.base.output_folder.interrupts import deferred
from edgeconv.base.output_folder.lock import locked, take
from edgeconv.base.output_folder.manifest import NOTHING, mode_of

PREFIX = ".edgeconv-staging-"
MARK = "made-by-edgeconv"  # in every staging folder: without it, a folder of such a name stays
FILES, OLD = "files", "old"
JOURNAL = "journal.json"  # drawn up in the folder, in force beside it: see owned.journal
_WAIT = 10.0  # seconds, for others who make or sweep staging folders


@contextmanager
def staging(parent: Path) -> Iterator[Path]:
    """A new staging folder in ``parent``, gone at the end; what killed runs left goes first.

    Raises OSError, and EdgeconvError where ``parent`` stays locked.
    """
    found: list[Path] = []
    opened = -1
    try:
        with locked(parent, _WAIT), deferred():
            sweep(parent)
            found.append(folder := parent / f"{PREFIX}{secrets.token_hex(4)}")
            folder.mkdir()
            (folder / MARK).touch()
            (folder / FILES).mkdir()
            (folder / OLD).mkdir()
            opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            take(opened)
        yield folder
    finally:
        with deferred():
            for folder in found:
                if not _needed(parent):
                    remove(folder)
            if opened >= 0:
                with suppress(OSError):
                    os.close(opened)


def sweep(parent: Path) -> None:
    """Remove the staging folders of runs that are no more; call with ``parent`` locked."""
    if _needed(parent):
        return
    with suppress(OSError):
        for entry in [e for e in os.scandir(parent) if e.name.startswith(PREFIX)]:
            if entry.is_dir(follow_symlinks=False):
                _sweep_one(Path(entry.path))


def _needed(parent: Path) -> bool:
    """Whether what the folders hold may be wanted back, since a change has not been undone yet."""
    try:
        return mode_of(parent / JOURNAL) != NOTHING
    except OSError:
        return True


def _sweep_one(folder: Path) -> None:
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        if take(opened):
            remove(folder)
    finally:
        with suppress(OSError):
            os.close(opened)


def remove(folder: Path) -> None:
    """Remove a staging folder as far as that can be done.

    The mark goes last, so that what cannot be removed now is known for ours later.
    """
    try:
        if mode_of(folder / MARK) == NOTHING:
            folder.rmdir()
            return
    except OSError:
        return
    for name in (FILES, OLD):
        with suppress(OSError):  # of closing, which it does not ignore
            shutil.rmtree(folder / name, ignore_errors=True)
    with suppress(OSError):
        (folder / JOURNAL).unlink(missing_ok=True)
        if {entry.name for entry in os.scandir(folder)} == {MARK}:
            (folder / MARK).unlink()
            folder.rmdir()
