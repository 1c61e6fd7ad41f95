"""Folders for programs that time candidates, and how those go that a killed run left behind.

A folder has a mark, by which it is ours, and which is locked as long as the process lives that made
it (flock, which ends with it).
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from edgeconv.base.output_folder.interrupts import deferred
from edgeconv.base.output_folder.lock import take

PREFIX = "edgeconv-tune-"
MARK = ".made-by-edgeconv-tune"  # in every folder: without it, a folder of such a name stays


@contextmanager
def own_folder() -> Iterator[str]:
    """A new folder among the system's temporary ones, gone at the end; what killed runs left goes
    first.  Raises OSError."""
    parent = Path(tempfile.gettempdir())
    sweep(parent)
    folder, opened = parent / f"{PREFIX}{secrets.token_hex(8)}", -1
    try:
        with deferred():
            folder.mkdir(mode=0o700)
            unlocked = folder / "unlocked"
            opened = os.open(unlocked, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600)
            take(opened)
            unlocked.rename(folder / MARK)  # from here on it is swept once nobody holds it
        yield str(folder)
    finally:
        with deferred():
            _remove(folder)
            if opened >= 0:
                with suppress(OSError):
                    os.close(opened)


def sweep(parent: Path) -> None:
    """Remove the marked folders of this user in ``parent`` that no process holds."""
    with suppress(OSError):
        for entry in [each for each in os.scandir(parent) if each.name.startswith(PREFIX)]:
            with suppress(OSError):
                _sweep_one(Path(entry.path))


def _sweep_one(folder: Path) -> None:
    within = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        mark = os.open(MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=within)
        try:
            users = {os.fstat(each).st_uid for each in (within, mark)}
            is_file = stat.S_ISREG(os.fstat(mark).st_mode)
            # None: no locks there, so that nobody knows whether it is in use.
            if is_file and users == {os.getuid()} and take(mark) is True:
                _remove(folder)
        finally:
            os.close(mark)
    finally:
        os.close(within)


def _remove(folder: Path) -> None:
    """The mark goes last, so that what cannot be removed now is known for ours later."""
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != MARK:
                with suppress(OSError):
                    Path(entry.path).unlink()
        if {entry.name for entry in os.scandir(folder)} <= {MARK}:
            (folder / MARK).unlink(missing_ok=True)
            folder.rmdir()
