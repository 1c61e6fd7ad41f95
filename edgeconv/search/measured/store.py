"""The file of measured times: SQLite, whole whenever a process dies, and shared by several.

A file comes from anywhere, as models do.  Nothing of it is run: only one table of ours is read, as
numbers and texts that are held to their bounds, and no view or trigger is allowed beside it.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from edgeconv.base import limits, regular_file
from edgeconv.base.closing import Closing
from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.real_path import real_path
from edgeconv.search.measured import claims

APPLICATION = 0x65646763  # "edgc", in the header of the file
SCHEMA = 1
_SHORTEST_S, _LONGEST_S = 1e-12, 1e6  # of a kernel call that anybody has timed
_WAIT_S = 30.0  # for another tune that is writing
_HEADER = b"SQLite format 3\0"
_WAL_VERSION = 19  # the byte that is 2 in files with a log ahead
_TABLE = """
CREATE TABLE IF NOT EXISTS measured (
    kernel TEXT NOT NULL, board TEXT NOT NULL, place TEXT NOT NULL,
    compiler TEXT NOT NULL, version TEXT NOT NULL,
    seconds REAL, runs INTEGER NOT NULL, predicted REAL NOT NULL,
    workload TEXT NOT NULL, candidate TEXT NOT NULL, error TEXT NOT NULL,
    PRIMARY KEY (kernel, board, place, compiler, version)
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What identifies a measured time.  ``kernel``: `kernel_key`; ``board``: `board_key`;
    ``place``: "board", or the emulator's name; ``compiler``: its name and version; ``version``:
    `kernel_version`."""

    kernel: str
    board: str
    place: str
    compiler: str
    version: str


@dataclass(frozen=True, slots=True)
class Row:
    """A measured time.  ``seconds``: of one call, the median of ``runs``; None where it could not
    be built or run for the reason ``error``.  ``predicted``: what the model of the board said.
    ``workload`` and ``candidate`` are for people."""

    key: Key
    seconds: float | None
    runs: int
    predicted: float
    workload: str
    candidate: str
    error: str = ""


_COLUMNS = [each.name for each in (*fields(Key), *fields(Row)) if each.name != "key"]
_READ = f"SELECT {', '.join(_COLUMNS)} FROM measured"
# More runs know better; of as many the shorter time, since noise only adds.
_WRITE = f"""
INSERT INTO measured ({", ".join(_COLUMNS)}) VALUES ({", ".join("?" for _ in _COLUMNS)})
ON CONFLICT DO UPDATE SET seconds = excluded.seconds, runs = excluded.runs, error = excluded.error,
    predicted = excluded.predicted
WHERE excluded.seconds IS NOT NULL AND (seconds IS NULL OR excluded.runs > runs
    OR (excluded.runs = runs AND excluded.seconds < seconds))
"""


class Store(Closing):
    """The file ``path``, made where there is none if ``create``.

    Raises EdgeconvError: no such file, another kind of file, a later version (exit status 2); a
    damaged one, a disk that is full, a lock that is held for long (1).
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        path = real_path(path)  # beside which the log of another program lies
        new = create and (not path.exists() or (path.is_file() and path.stat().st_size == 0))
        if not new:
            self._require_ours()
        with self._failing():
            how = "mode=rwc" if create else read_only(path)
            self._base = sqlite3.connect(
                f"{path.as_uri()}?{how}",
                uri=True,
                timeout=_WAIT_S,
                isolation_level=None,
            )
            self._base.execute("PRAGMA trusted_schema = OFF")
            self._base.execute("PRAGMA cell_size_check = ON")
            self._base.execute("PRAGMA synchronous = FULL")
            if new:
                self._make()
            self._check()
            if create:
                # Of a log that another program has asked for; kept where others have the file open.
                with suppress(sqlite3.OperationalError):
                    self._base.execute("PRAGMA journal_mode = DELETE")

    def close(self) -> None:
        self._base.close()

    def rows(self) -> Iterator[Row]:
        """All that is there.  Raises EdgeconvError for what no measurement is."""
        with self._failing():
            for count, found in enumerate(self._base.execute(_READ), 1):
                limits.held("tuning-rows", count, str(self.path))
                yield self._row(found)

    def add(self, rows: Iterable[Row]) -> None:
        """Note all of these at once or none."""
        with self._failing():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                self._base.executemany(_WRITE, [(*astuple(row.key), *_values(row)) for row in rows])
            except BaseException:
                if self._base.in_transaction:  # a full disk has ended it already
                    self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    def claim(self, keys: Sequence[Key]) -> set[Key]:
        """The keys of ``keys`` that no other process measures now: this one does from here on,
        until it lets go of them or is gone."""
        return set(
            self._changing(lambda base: claims.claim(base, [astuple(k) for k in keys]), keys)
        )

    def release(self, keys: Sequence[Key]) -> None:
        """Let go of those of ``keys`` that this process has claimed."""
        names = [astuple(key) for key in keys]
        self._changing(lambda base: claims.release(base, names), keys)

    def claimed(self, keys: Sequence[Key]) -> set[Key]:
        """The keys of ``keys`` that another process measures now."""
        with self._failing():
            found = claims.others(self._base)
        return {key for key in keys if astuple(key) in found}

    def _changing(
        self, change: Callable[[sqlite3.Connection], set[claims.Columns]], keys: Sequence[Key]
    ) -> Iterator[Key]:
        """The keys of ``keys`` that a transaction returns."""
        with self._failing():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                found = change(self._base)
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")
        return (key for key in keys if astuple(key) in found)

    def merge(self, other: Path) -> int:
        """Take what is in another file: how many rows that has."""
        with Store(other) as theirs:
            rows = list(theirs.rows())
        self.add(rows)
        return len(rows)

    def _require_ours(self) -> None:
        try:
            with regular_file.opened(self.path) as stream:
                limits.held("tuning-bytes", self.path.stat().st_size, str(self.path))
                head = stream.read(len(_HEADER))
        except OSError as error:
            raise self._wrong(str(error.strerror), "`edgeconv tune` makes one") from error
        if head != _HEADER:
            raise self._wrong("it is no SQLite database", "name a file that `edgeconv tune` wrote")

    def _make(self) -> None:
        self._base.execute("BEGIN IMMEDIATE")  # another tune may be doing the same
        self._base.execute(_TABLE)
        self._base.execute(f"PRAGMA application_id = {APPLICATION}")
        self._base.execute(f"PRAGMA user_version = {SCHEMA}")
        self._base.execute("COMMIT")

    def _check(self) -> None:
        (application,) = self._base.execute("PRAGMA application_id").fetchone()
        (schema,) = self._base.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise self._wrong("it is a database of another program", "name another file")
        if schema != SCHEMA:
            rule = f"it is of version {schema} of the format, this edgeconv knows {SCHEMA}"
            raise self._wrong(rule, "update edgeconv, or measure again into another file")
        others = self._base.execute(
            "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index')"
            f" OR (type = 'table' AND name NOT IN ('measured', '{claims.TABLE}'))"
            " OR (type = 'index' AND sql IS NOT NULL) OR sql LIKE 'CREATE VIRTUAL%'"
        ).fetchall()
        known = self._is("measured", _COLUMNS) and (
            self._is(claims.TABLE, claims.COLUMNS) or self._is(claims.TABLE, ())
        )
        if others or not known:
            raise self._wrong("it has other tables than edgeconv's", "name another file")

    def _is(self, table: str, columns: Sequence[str]) -> bool:
        """Whether it has these columns, none of which an expression of the file's computes."""
        found = self._base.execute(f"PRAGMA table_xinfo({table})").fetchall()
        return {entry[1] for entry in found} == {*columns} and not any(e[-1] for e in found)

    def _row(self, found: tuple[object, ...]) -> Row:
        values = dict(zip(_COLUMNS, found, strict=True))
        seconds, runs, predicted = values["seconds"], values["runs"], values["predicted"]
        texts = [v for k, v in values.items() if k not in ("seconds", "runs", "predicted")]
        timed = isinstance(seconds, float) and _SHORTEST_S <= seconds <= _LONGEST_S
        if not (
            all(isinstance(text, str) for text in texts)
            and (timed or seconds is None)
            and isinstance(runs, int)
            and runs >= 0
            and isinstance(predicted, float)
            and 0 <= predicted < math.inf
        ):
            raise EdgeconvError(
                "damaged file of measured times",
                where=str(self.path),
                got=f"seconds {seconds!r}, runs {runs!r}",
                rule=f"a time is one of {_SHORTEST_S:g} to {_LONGEST_S:g} s",
            )
        key = Key(*(str(values[each.name]) for each in fields(Key)))
        return Row(
            key,
            seconds if isinstance(seconds, float) else None,
            runs,
            predicted,
            *(str(values[name]) for name in ("workload", "candidate", "error")),
        )

    def _wrong(self, rule: str, hint: str) -> UsageError:
        return UsageError("no file of measured times", where=str(self.path), rule=rule, hint=hint)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            # SQLite quotes what it does not understand of a schema, which Python takes for text.
            text = str(error) if isinstance(error, sqlite3.Error) else "malformed database schema"
            hints = {
                "locked": "another program has held it for 30 s: let that end",
                "full": "make room on its disk: what was measured so far is in it",
                "readonly": "it, or its folder, cannot be written",
                "unable to open": "can its folder be written?",
                "malformed": "it is damaged: `sqlite3 FILE .recover` may save some of it",
                "not a database": "it is damaged",
                "decode": "it is damaged",
            }
            hint = next((hint for word, hint in hints.items() if word in text), "")
            raise EdgeconvError(
                "cannot use the file of measured times", where=str(self.path), got=text, hint=hint
            ) from error


def _values(row: Row) -> tuple[object, ...]:
    return row.seconds, row.runs, row.predicted, row.workload, row.candidate, row.error


def read_only(path: Path) -> str:
    """How to open a file to read it: so that nothing is left beside it.

    A file that another program has given a log ahead (WAL) cannot be read without the two files of
    that, which a reader makes and leaves; where there is none, the file alone is all there is.
    """
    with path.open("rb") as stream:
        ahead = stream.read(_WAL_VERSION + 1)[_WAL_VERSION:] == b"\x02"
    log = path.with_name(f"{path.name}-wal")
    return "immutable=1" if ahead and not log.exists() else "mode=ro"
