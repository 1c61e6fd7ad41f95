"""A project stays whole, and the user's files stay theirs, whatever fails at whatever moment.

Every file operation fails in turn: once, from then on for good, and by the process being killed.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.output_folder.folder import Contents, claim, put, put_project
from edgeconv.base.output_folder.journal import recover
from tests.faults import Faults, error, injected, killed

MOST_OPERATIONS = 3000
Files = dict[str, bytes]
OLD = {
    "net.c": b"old net",
    "net_weights.bin": b"old weights" * 9,
    "main.c": b"old main",
    "report.json": b"old report",
    "README.md": b"the same",
    "zephyr/module.yml": b"old module",
    "gone/deep/file.txt": b"no part of the new one",
}
NEW = {
    "net.c": b"new net",
    "net_weights.bin": b"new weights" * 9,
    "main.c": b"new main",
    "report.json": b"new report",
    "README.md": b"the same",
    "zephyr/module.yml": b"new module",
    "more/file.txt": b"no part of the old one",
}
VITAL = frozenset({"net.c", "net_weights.bin", "report.json"})
ONCE = frozenset({"app.c"})
USERS = {
    ".git/HEAD": b"ref: refs/heads/main",
    "app.c": b"my code",
    "thesis.txt": b"years",
    "build/CMakeCache.txt": b"of CMake",
    "zephyr/mine.yml": b"beside theirs",
}
EDITED = {"main.c": b"old main, and my sensor"}


def write(folder: Path, files: Files) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def read(folder: Path) -> Files:
    paths = sorted(path for path in folder.rglob("*") if not path.is_dir())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def emit(folder: Path, files: Files, finish: Callable[[Path], None] = lambda _: None) -> None:
    def fill(into: Path) -> dict[str, str]:
        write(into, {**files, "app.c": b"template"})
        return {}

    put_project(folder, Contents("net", fill, VITAL, ONCE, finish))


def build(folder: Path) -> None:
    claim(folder, ["build/net", "build/net.log"])
    write(folder, {"build/net": b"program"})


class Case:
    """A state to begin with and what is done to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "out"

    def begin(self) -> None:
        raise NotImplementedError

    def act(self) -> None:
        raise NotImplementedError


class Fresh(Case):
    def begin(self) -> None:
        pass

    def act(self) -> None:
        emit(self.out, NEW, build)


class Again(Case):
    def begin(self) -> None:
        emit(self.out, OLD, build)
        write(self.out, {**USERS, **EDITED})

    def act(self) -> None:
        emit(self.out, NEW, build)


class Report(Case):
    def begin(self) -> None:
        emit(self.out, OLD)
        write(self.out, USERS)

    def act(self) -> None:
        put(self.out, {"report.json": b"measured", "net_input.bin": b"numbers"})


CASES = (Fresh, Again, Report)


class Repeated:
    """A case from its beginning, again and again, with what is in the folder before and after."""

    def __init__(self, kind: type[Case], folder: Path) -> None:
        self._kind, self._folder, self._number = kind, folder, 0
        case = self.next()
        case.begin()
        self.before = read(case.folder)
        self._first = shutil.copytree(case.folder, folder / "first")
        case.act()
        self.after = read(case.folder)

    def next(self) -> Case:
        self._number += 1
        case = self._kind(self._folder / str(self._number))
        if self._number == 1:
            case.folder.mkdir()
        else:
            shutil.copytree(self._first, case.folder)
        return case


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where there is such a file system: waiting for a disk each time takes long."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize(
    "number",
    [errno.EIO, *(pytest.param(n, marks=pytest.mark.slow) for n in (errno.ENOSPC, errno.EACCES))],
)
def test_any_operation_may_fail_once(kind: type[Case], number: int, tmp_path: Path) -> None:
    cases = Repeated(kind, tmp_path)
    for n in range(1, MOST_OPERATIONS):
        case = cases.next()
        with injected(Faults(n, error(number))) as faults, suppress(EdgeconvError):
            case.act()
        found = read(case.folder)
        assert whole(found, cases.before, cases.after), f"operation {n}: {sorted(found)}"
        if found_leftovers := leftovers(found):  # what could not be removed goes next time
            case.act()
            assert read(case.folder) == cases.after, f"operation {n}: {found_leftovers}"
        if not faults.struck:
            return
    raise AssertionError("never got through")


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_disk_may_fail_for_good_at_any_operation(kind: type[Case], tmp_path: Path) -> None:
    cases = Repeated(kind, tmp_path)
    for n in range(1, MOST_OPERATIONS):
        case = cases.next()
        faults = Faults(n, error(errno.EIO), lasting=True)
        with injected(faults), suppress(EdgeconvError):
            case.act()
        recovered(case, cases.before, cases.after, n)
        if not faults.struck:
            return
    raise AssertionError("never got through")


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", CASES)
def test_process_may_be_killed_at_any_operation(
    kind: type[Case], every: int, tmp_path: Path
) -> None:
    cases = Repeated(kind, tmp_path)
    for n in range(1, MOST_OPERATIONS, every):
        case = cases.next()
        came_so_far = killed(case.act, n)
        recovered(case, cases.before, cases.after, n)
        if not came_so_far:
            return
    raise AssertionError("never got through")


def recovered(case: Case, before: Files, after: Files, n: int) -> None:
    """The user's files are there at once; the next command finds the project whole, and the next
    compilation leaves nothing else."""
    found = read(case.folder)
    for name, data in USERS.items():
        if f"out/{name}" in before:
            assert found[f"out/{name}"] == data, f"operation {n}: {name}"
    if case.out.exists():
        recover(case.out)
    found = read(case.folder)
    assert whole(found, before, after), f"operation {n}: {sorted(found)}"
    case.act()
    assert read(case.folder) == after, f"operation {n}"


def leftovers(found: Files) -> list[str]:
    return [name for name in found if "edgeconv-staging" in name or name.endswith("journal.json")]


def whole(found: Files, *allowed: Files) -> bool:
    """It is one of these, staging folders and manifest aside."""

    def without(files: Files) -> Files:
        return {n: d for n, d in files.items() if "/.edgeconv/" not in n and "-staging-" not in n}

    return without(found) in [without(files) for files in allowed]
