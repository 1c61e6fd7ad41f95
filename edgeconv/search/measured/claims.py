"""Which kernel calls a process measures now, in the file of times: so that others leave them to it.

The table is there as long as anything is claimed.  A claim ends with its process, as far as that
runs on this machine, and in any case after half an hour: a process may hang, and those of other
machines nobody here can ask.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

TABLE = "claimed"
COLUMNS = (*("kernel", "board", "place", "compiler", "version"), "machine", "process", "until")
Columns = tuple[str, ...]  # of a key
_LONGEST_S = 1800.0
_MADE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
    kernel TEXT NOT NULL, board TEXT NOT NULL, place TEXT NOT NULL,
    compiler TEXT NOT NULL, version TEXT NOT NULL,
    machine TEXT NOT NULL, process TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (kernel, board, place, compiler, version)
) WITHOUT ROWID
"""
_OF_KEY = " AND ".join(f"{name} = ?" for name in COLUMNS[:5])


def claim(base: sqlite3.Connection, keys: Iterable[Columns]) -> set[Columns]:
    """The kernel calls that are free, which are claimed; in a transaction."""
    taken = others(base)
    free = {key for key in keys if key not in taken}
    base.execute(_MADE)
    mine = (_machine(), _process(os.getpid()), time.time() + _LONGEST_S)
    base.executemany(
        f"INSERT OR REPLACE INTO {TABLE} ({', '.join(COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(*key, *mine) for key in free],
    )
    return free


def release(base: sqlite3.Connection, keys: Iterable[Columns]) -> set[Columns]:
    """Ends this process's claims of ``keys``, and the table with the last claim; in a transaction.
    What is still claimed."""
    if _is_there(base):
        mine = (_machine(), _process(os.getpid()))
        base.executemany(
            f"DELETE FROM {TABLE} WHERE {_OF_KEY} AND machine = ? AND process = ?",
            [(*key, *mine) for key in keys],
        )
        if (
            not others(base)
            and not base.execute(
                f"SELECT 1 FROM {TABLE} WHERE machine = ? AND process = ? LIMIT 1", mine
            ).fetchone()
        ):
            base.execute(f"DROP TABLE {TABLE}")
    return others(base)


def others(base: sqlite3.Connection) -> set[Columns]:
    """What is claimed by other processes that are still there."""
    if not _is_there(base):
        return set()
    now, here, own = time.time(), _machine(), _process(os.getpid())
    alive: dict[object, bool] = {}
    found: set[Columns] = set()
    for *key, machine, process, until in base.execute(f"SELECT {', '.join(COLUMNS)} FROM {TABLE}"):
        if not isinstance(until, float) or not now < until <= now + _LONGEST_S:
            continue
        if machine == here:
            if process not in alive:
                alive[process] = process != own and _runs(process)
            if not alive[process]:
                continue
        found.add(tuple(key))
    return found


def _is_there(base: sqlite3.Connection) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return base.execute(query, (TABLE,)).fetchone() is not None


def _machine() -> str:
    """This one since it was started."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return os.uname().nodename


def _process(number: int) -> str:
    """Its number and when it began: numbers are given again."""
    with suppress(OSError, ValueError, IndexError):
        state = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        fields = state.rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else f"{number} {fields[19]}"
    return str(number)


def _runs(process: object) -> bool:
    """Whether a process of this machine is still there."""
    number = str(process).partition(" ")[0]
    if not number.isascii() or not number.isdigit() or len(number) > 9:
        return False
    if not Path("/proc/self/stat").exists():
        try:
            os.kill(int(number), 0)
        except PermissionError:
            return True
        except OSError:
            return False
        return True
    return Path(f"/proc/{number}").exists() and _process(int(number)) == process
