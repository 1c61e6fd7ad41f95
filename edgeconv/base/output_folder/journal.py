"""Several files of a folder change together, or not at all.

A rollback journal, after SQLite's (https://www.sqlite.org/atomiccommit.html).  New files lie ready
in a staging folder of the same file system.  The journal, once it is there, names every file that
is about to change.  Each of them is then linked aside and the new one renamed over it; a file that
goes is renamed aside.  Removing the journal is the moment at which the change counts.  A run that
fails before undoes what it did; of one that was killed, the next command undoes it (`recover`).

No other file of the folder is opened, moved or linked at any time, and the folder itself stays the
same one: it may be a mount point, somebody's working directory, or hold a repository.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.output_folder import staging
from edgeconv.base.output_folder.interrupts import deferred
from edgeconv.base.output_folder.lock import locked
from edgeconv.base.output_folder.manifest import (
    MANIFEST,
    NOTHING,
    STATE,
    digest,
    document_of,
    fits,
    mode_of,
    plain,
)

JOURNAL = f"{STATE}/{staging.JOURNAL}"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of several files that is under way.  ``placed``: SHA-256 by name of what is put from
    ``<folder>/files`` into the directory, and ``new`` those of them that have no predecessor.
    ``removed``: what goes."""

    folder: str
    placed: Mapping[str, str]
    new: frozenset[str]
    removed: tuple[str, ...]

    def text(self) -> str:
        document = {
            "staging": self.folder,
            "placed": dict(self.placed),
            "new": sorted(self.new),
            "removed": list(self.removed),
        }
        return json.dumps(document, indent=1, ensure_ascii=False)

    @classmethod
    def read(cls, path: Path) -> Change:
        """Raises ValueError and what else a damaged file leads to."""
        document = document_of(path)
        found = cls(
            document["staging"],
            document["placed"],
            frozenset(document["new"]),
            tuple(document["removed"]),
        )
        names = (*found.placed, *found.new, *found.removed)
        if not all(name == MANIFEST or fits(name) for name in names) or not fits(found.folder):
            raise ValueError("names that lead out of the folder")
        return found


def switch(
    directory: Path, staged: Path, placed: Mapping[str, str], removed: Iterable[str]
) -> None:
    """Put ``staged``/files into ``directory`` (SHA-256 by name) and let go of ``removed``.

    ``staged`` is a staging folder in ``directory``'s own folder of state.  Call with ``directory``
    locked.  Raises OSError, and then everything is as it was.
    """
    new = frozenset(name for name in placed if not _there(directory / name))
    change = Change(staged.name, placed, new, tuple(removed))
    with deferred():
        for name in placed:
            _sync(staged / staging.FILES / name)
        draft = staged / "journal.json"
        draft.write_text(change.text(), encoding="utf-8")
        _sync(draft)
        draft.rename(directory / JOURNAL)
        try:
            _sync(directory / STATE)
            _carry_out(directory, staged, change)
            (directory / JOURNAL).unlink()
        except BaseException:
            _undo(directory, change)
            raise
        _tidy(directory, change.removed)


def recover(directory: Path) -> None:
    """Undo what a killed run began in ``directory``, and remove what it had staged there; without
    effect where nothing was.

    Raises EdgeconvError where it cannot be undone.
    """
    try:
        if not _there(directory / JOURNAL):
            _remove_staged(directory / STATE)
            return
        with locked(directory), deferred():
            if _there(directory / JOURNAL):  # still
                _undo(directory, Change.read(directory / JOURNAL))
                staging.sweep(directory / STATE)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is damaged"
        raise EdgeconvError(
            "cannot undo what an interrupted run began",
            where=str(directory / JOURNAL),
            got=str(reason),
            hint="make the folder writable and try again, or compile to another folder",
        ) from error


def _remove_staged(state: Path) -> None:
    """What runs that are no more staged in ``state``, unless another one is at work there."""
    with suppress(EdgeconvError, OSError):
        if any(entry.name.startswith(staging.PREFIX) for entry in os.scandir(state)):
            with locked(state, 0), deferred():
                staging.sweep(state)


def _carry_out(directory: Path, staged: Path, change: Change) -> None:
    for name in change.removed:
        aside = staged / staging.OLD / name
        aside.parent.mkdir(parents=True, exist_ok=True)
        (directory / name).rename(aside)
    for name in change.placed:
        target, aside = directory / name, staged / staging.OLD / name
        if name not in change.new:
            aside.parent.mkdir(parents=True, exist_ok=True)
            _keep(target, aside)
        target.parent.mkdir(parents=True, exist_ok=True)
        (staged / staging.FILES / name).rename(target)
    folders = {(directory / name).parent for name in (*change.placed, *change.removed)}
    for folder in sorted(folders):
        _sync(folder)


def _there(path: Path) -> bool:
    return mode_of(path) != NOTHING


def _keep(target: Path, aside: Path) -> None:
    try:
        os.link(target, aside, follow_symlinks=False)
    except OSError:  # a file system without links
        target.rename(aside)


def _undo(directory: Path, change: Change) -> None:
    """Everything as it was, from any moment of `_carry_out`; then the journal goes.

    What is neither the old file nor ours was written since by the user, who keeps it.
    """
    old = directory / STATE / change.folder / staging.OLD
    for name in reversed((*change.removed, *change.placed)):
        target, aside = directory / name, old / name
        ours = plain(directory, name) is not None and digest(target) == change.placed.get(name)
        if _there(aside):
            if ours or not _there(target):
                aside.rename(target)
        elif name in change.new and ours:
            target.unlink()
    _tidy(directory, change.new)
    _sync(directory)
    (directory / JOURNAL).unlink(missing_ok=True)


def _tidy(directory: Path, names: Iterable[str]) -> None:
    """Remove the folders of files that went, where nothing else is in them."""
    for name in names:
        folder = (directory / name).parent
        while folder not in (directory, directory / STATE) and folder != folder.parent:
            try:
                folder.rmdir()
            except OSError:
                break
            folder = folder.parent


def _sync(path: Path) -> None:
    """What was written to a file or folder is on the disk.  Raises OSError."""
    opened = os.open(path, os.O_RDONLY)
    try:
        with suppress(PermissionError):  # some network file systems, for folders
            os.fsync(opened)
    finally:
        os.close(opened)
