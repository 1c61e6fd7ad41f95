"""One program at a time in a folder: flock() on the folder itself.

The lock is the kernel's: it ends with the process, however that ends, and leaves no file.  Where
the file system knows no such locks (NFS refuses them on folders) there are none.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from edgeconv.base.errors import EdgeconvError

WAIT = 120.0  # seconds for another program to leave the folder
_PAUSE = 0.02
_held: set[tuple[int, int]] = set()  # device and inode of what this process has locked


@contextmanager
def locked(directory: Path, wait: float | None = None) -> Iterator[None]:
    """Holds ``directory``, which must exist; no harm where this process holds it already.

    Raises EdgeconvError, naming the other process, where it does not leave within ``wait`` seconds
    (WAIT unless given); OSError where the folder cannot be opened.
    """
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        status = os.fstat(opened)
        key = status.st_dev, status.st_ino
        if key in _held:
            yield
            return
        _wait(opened, directory, WAIT if wait is None else wait)
        _held.add(key)
        try:
            yield
        finally:
            _held.discard(key)
    finally:
        with suppress(OSError):
            os.close(opened)


def take(opened: int) -> bool | None:
    """Take the lock of an open folder at once: whether that worked, None where there are none."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _wait(opened: int, directory: Path, wait: float) -> None:
    until = time.monotonic() + wait
    while take(opened) is False:
        if time.monotonic() > until:
            raise EdgeconvError(
                "the project is in use",
                where=str(directory),
                got=f"process {holder(opened) or 'of another machine'}",
                rule=f"it did not finish within {wait:g} seconds",
                hint="wait for it, or give another directory with -o",
            )
        time.sleep(_PAUSE)


def holder(opened: int) -> int | None:
    """The process that holds the lock of an open folder, as far as Linux tells."""
    status = os.fstat(opened)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError, ValueError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if "FLOCK" in fields and device in fields:
                return int(fields[fields.index(device) - 1])
    return None
