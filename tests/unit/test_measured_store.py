"""The file of measured times: kept whole, shared, and held to what it may be."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgeconv.base import limits
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.search.measured import Key, Row, Store

DAMAGED = "damaged file of measured times"
ROW = Row(Key("k0", "b", "board", "cc 1", "v"), 2.0, 5, 1.5, "Conv", "direct")


def named(kernel: str, seconds: float | None = 2.0, runs: int = 5, error: str = "") -> Row:
    key = replace(ROW.key, kernel=kernel)
    return replace(ROW, key=key, seconds=seconds, runs=runs, error=error)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "a.tuned"
    with Store(found, create=True) as store:
        store.add([named("k0"), named("k1", None, 0, "does not compile")])
    return found


def rows(path: Path) -> dict[str, Row]:
    with Store(path) as store:
        return {row.key.kernel: row for row in store.rows()}


def test_rows_come_back(path: Path) -> None:
    assert rows(path) == {"k0": named("k0"), "k1": named("k1", None, 0, "does not compile")}


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        (named("k0", 3.0), 2.0),  # as many runs: noise only adds
        (named("k0", 1.0), 1.0),
        (named("k0", 3.0, 9), 3.0),  # more runs know better
        (named("k0", 1.0, 3), 2.0),
        (named("k0", None, 0, "failed"), 2.0),
        (named("k1", 4.0), 4.0),
    ],
)
def test_what_stays_of_two(path: Path, row: Row, kept: float) -> None:
    with Store(path, create=True) as store:
        store.add([row])
    assert rows(path)[row.key.kernel].seconds == kept


def test_files_merge(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "b.tuned"
    with Store(other, create=True) as store:
        store.add([named("k0", 1.0), named("k2")])
    with Store(path, create=True) as store:
        assert store.merge(other) == 2
    assert {k: r.seconds for k, r in rows(path).items()} == {"k0": 1.0, "k1": None, "k2": 2.0}
    assert len(rows(other)) == 2


def _writes(path: Path, number: int) -> None:
    for i in range(20):
        with Store(path, create=True) as store:
            store.add([named(f"p{number} {i}"), named("shared", 1.0 + i)])


def test_two_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new.tuned"  # made by whoever comes first
    spawned = multiprocessing.get_context("fork")
    workers = [spawned.Process(target=_writes, args=(path, n)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    found = rows(path)
    assert len(found) == 61
    assert found["shared"].seconds == 1.0


def test_all_rows_or_none(path: Path) -> None:
    with Store(path, create=True) as store, pytest.raises(EdgeconvError):
        store.add([named("new"), replace(named("bad"), runs=None)])  # type: ignore[arg-type]
    assert "new" not in rows(path)


def refused(path: Path) -> EdgeconvError:
    with pytest.raises(EdgeconvError) as caught, Store(path) as store:
        list(store.rows())
    assert str(path) in str(caught.value)
    return caught.value


def test_what_is_no_such_file(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("not a database")
    folder = tmp_path / "folder"
    folder.mkdir()
    other = tmp_path / "other"
    with sqlite3.connect(other) as base:
        base.execute("CREATE TABLE t (a)")
    for path, rule in (
        (tmp_path / "absent", "No such file"),
        (text, "no SQLite database"),
        (folder, "directory"),
        (other, "another program"),
    ):
        error = refused(path)
        assert error.code is Exit.USAGE
        assert rule in str(error)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(EdgeconvError, match="a pipe, and no file"):
        Store(tmp_path / "pipe", create=True)
    with pytest.raises(EdgeconvError, match="no SQLite database"):
        Store(text, create=True)
    assert text.read_text() == "not a database"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("PRAGMA user_version = 2", "version 2 of the format, this edgeconv knows 1"),
        ("CREATE VIEW extra AS SELECT 1", "other tables"),
        (
            "CREATE TRIGGER t AFTER INSERT ON measured BEGIN DELETE FROM measured; END",
            "other tables",
        ),
        ("CREATE INDEX i ON measured (abs(runs))", "other tables"),
        ("ALTER TABLE measured ADD COLUMN more AS (abs(runs))", "other tables"),
        ("UPDATE measured SET seconds = 9e999 WHERE kernel = 'k0'", "a time is one of"),
        ("UPDATE measured SET seconds = -1 WHERE kernel = 'k0'", "a time is one of"),
        ("UPDATE measured SET seconds = 1e308 WHERE kernel = 'k0'", "a time is one of"),
        ("UPDATE measured SET predicted = 9e999", "a time is one of"),
        ("UPDATE measured SET seconds = 'soon' WHERE kernel = 'k0'", "a time is one of"),
        ("UPDATE measured SET candidate = x'00ff'", "a time is one of"),
        ("UPDATE measured SET runs = -1", "a time is one of"),
    ],
)
def test_hostile_files(path: Path, statement: str, expected: str) -> None:
    with sqlite3.connect(path) as base:
        base.execute(statement)
    assert expected in str(refused(path))


def test_a_view_in_the_place_of_the_table(path: Path) -> None:
    with sqlite3.connect(path) as base:
        base.execute("ALTER TABLE measured RENAME TO m")
        base.execute("CREATE VIEW measured AS SELECT * FROM m")
    assert "other tables" in str(refused(path))


def test_damaged_file(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    path.write_bytes(data)
    assert "damaged" in str(refused(path))


@pytest.mark.parametrize("wrong", [0x00, 0xFF])
def test_damage_anywhere(path: Path, wrong: int) -> None:
    """Whatever byte is another: all that is there is read, or an error says that it is damaged."""
    whole, meant = path.read_bytes(), set(rows(path))
    said, kept = set(), 0
    text = whole.index(b"CREATE TABLE")  # of the schema, of which SQLite speaks in its errors
    places = {*range(0, len(whole), 23), *range(text, whole.index(b"WITHOUT ROWID"), 5)}
    for at in sorted(places):
        path.write_bytes(whole[:at] + bytes([wrong]) + whole[at + 1 :])
        try:
            kept += set(rows(path)) == meant
        except EdgeconvError as error:
            said.add(error.what)
    for size in range(1, len(whole), 97):
        path.write_bytes(whole[:size])
        refused(path)
    assert kept
    assert said <= {"cannot use the file of measured times", "no file of measured times", DAMAGED}


def test_a_full_disk(path: Path) -> None:
    """What was there stays, and a transaction that SQLite has ended itself is no other error."""
    many = [named(f"more{i}") for i in range(500)]
    with Store(path, create=True) as store:
        (pages,) = store._base.execute("PRAGMA page_count").fetchone()
        store._base.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(EdgeconvError, match="full; make room on its disk"):
            store.add(many)
        assert not store._base.in_transaction
    assert set(rows(path)) == {"k0", "k1"}


def test_a_held_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeconv.search.measured.store._WAIT_S", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert "locked; another program has held it" in str(refused(path))
    holder.close()


def test_limits(path: Path) -> None:
    with limits.given({"tuning-rows": 1}), pytest.raises(EdgeconvError, match="tuning-rows"):
        rows(path)
    with limits.given({"tuning-bytes": 1000}), pytest.raises(EdgeconvError, match="tuning-bytes"):
        rows(path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="can its folder be written"):
        Store(tmp_path / "absent" / "a.tuned", create=True)


def _claims(path: Path, kernels: list[str]) -> set[str]:
    with Store(path, create=True) as store:
        return {key.kernel for key in store.claim([named(kernel).key for kernel in kernels])}


def _claims_and_waits(path: Path, said: Any, ends: Any) -> None:
    said.put(_claims(path, ["c0", "c1"]))
    ends.wait(60)


def test_what_one_process_measures_others_leave_to_it(path: Path) -> None:
    spawned = multiprocessing.get_context("fork")
    said, ends = spawned.Queue(), spawned.Event()
    other = spawned.Process(target=_claims_and_waits, args=(path, said, ends))
    other.start()
    assert said.get(timeout=60) == {"c0", "c1"}
    assert _claims(path, ["c1", "c2"]) == {"c2"}
    keys = [named(kernel).key for kernel in ("c0", "c1", "c2")]
    with Store(path, create=True) as store:
        assert store.claimed(keys) == {*keys[:2]}
        store.release(keys)  # only its own
        assert store.claimed(keys) == {*keys[:2]}
    assert set(rows(path)) == {"k0", "k1"}
    other.kill()
    other.join()
    with Store(path, create=True) as store:
        assert store.claimed(keys) == set(), "claims end with their process"
        assert store.claim(keys) == {*keys}
        store.release(keys)
    with sqlite3.connect(path) as base:
        assert base.execute("SELECT name FROM sqlite_master").fetchall() == [("measured",)]


def test_claims_do_not_last_for_ever(path: Path) -> None:
    """Of a process of another machine nobody knows whether it is there."""
    assert _claims(path, ["c0"]) == {"c0"}
    with sqlite3.connect(path) as base:
        base.execute("UPDATE claimed SET machine = 'another'")
    assert _claims(path, ["c0"]) == set()
    with sqlite3.connect(path) as base:
        base.execute("UPDATE claimed SET until = until - 2000")
    assert _claims(path, ["c0"]) == {"c0"}
    with sqlite3.connect(path) as base:
        base.execute("UPDATE claimed SET machine = 'another', until = 9e999")
    assert _claims(path, ["c0"]) == {"c0"}, "nor do those of a damaged file"


def test_nothing_is_left_beside_a_file(path: Path) -> None:
    """Another program may have given it a log ahead, which readers would leave two files of."""
    base = sqlite3.connect(path)
    base.execute("PRAGMA journal_mode = WAL")
    base.close()
    before = path.read_bytes()
    assert set(rows(path)) == {"k0", "k1"}
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before
    with Store(path, create=True) as store:
        store.add([named("k2")])
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert set(rows(path)) == {"k0", "k1", "k2"}


def test_a_log_that_a_killed_program_left_counts(path: Path, tmp_path: Path) -> None:
    base = sqlite3.connect(path)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("UPDATE measured SET seconds = 7.0 WHERE kernel = 'k0'")
    base.commit()
    folder = tmp_path / "copied"
    folder.mkdir()
    for each in (path, path.with_name(f"{path.name}-wal")):
        (folder / each.name).write_bytes(each.read_bytes())
    base.close()
    link = tmp_path / "link.tuned"
    link.symlink_to(folder / path.name)  # the log lies beside what it leads to
    assert rows(link)["k0"].seconds == 7.0
    assert rows(folder / path.name)["k0"].seconds == 7.0


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    link = tmp_path / "link.tuned"
    link.symlink_to(link)
    for create, expected in ((False, "Too many levels"), (True, "unable to open")):
        with pytest.raises(EdgeconvError, match=expected):
            Store(link, create=create)
