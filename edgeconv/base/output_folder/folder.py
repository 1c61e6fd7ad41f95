"""A project put where it belongs, and single files of ours written anew.

What is in the way and is not ours, or is no longer as we wrote it, stays.  A file that the user has
changed is left in place, and its new version, if it has one, is put beside it as ``<file>.new``.
Files that the network is made of cannot be mixed, so that a change in one of them is an error.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.output_folder import journal
from edgeconv.base.output_folder.interrupts import deferred
from edgeconv.base.output_folder.lock import locked
from edgeconv.base.output_folder.manifest import (
    MANIFEST,
    NOTHING,
    PROJECT,
    STATE,
    Manifest,
    digest,
    mode_of,
    occupied,
    plain,
)
from edgeconv.base.output_folder.staging import FILES, staging, sweep

NEW = ".new"  # of a file that the user has changed
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a project consists of, told apart by what may happen to it.

    ``fill`` and then ``finish`` make it of an empty folder; what ``fill`` returns is the SHA-256 of
    files whose bytes it has looked at, by name.  ``vital``: files that fit each other
    only, so that none of them may be the user's.  ``once``: files for the user's own code, which
    are written where there are none, and anew as long as he has not written into them.  ``kind``:
    what the folder is, in words: one of another kind is not replaced.
    """

    program: str
    fill: Callable[[Path], Mapping[str, str]]
    vital: frozenset[str]
    once: frozenset[str] = frozenset()
    finish: Callable[[Path], None] = lambda _: None
    kind: str = PROJECT


def put_project(directory: Path, contents: Contents) -> tuple[str, ...]:
    """Make ``directory`` the project that consists of ``contents``.

    All of it or nothing, at whatever moment the program ends; returns what the user should know.
    Raises EdgeconvError: something in ``directory`` is not edgeconv's or was changed, it is in use,
    or it cannot be written.  Then it is as it was.
    """
    check_target(directory, contents.kind)
    with _refusals(directory):
        made = _missing(directory.parent)
        directory.parent.mkdir(parents=True, exist_ok=True)
        try:
            if mode_of(directory) != NOTHING:
                return _put_inside(directory, contents)
            return _put_beside(directory, contents)
        finally:
            for folder in made:  # where nothing came of it
                with suppress(OSError):
                    folder.rmdir()


def check_target(directory: Path, kind: str = PROJECT) -> None:
    """Raises EdgeconvError where no folder of this ``kind`` can be put without touching what is not
    ours, or taking the place of one of another kind."""
    with _refusals(directory):
        if mode_of(directory) == NOTHING:
            return
        if directory.is_dir():
            journal.recover(directory)
            if (manifest := Manifest.load(directory)) is not None:
                _require_kind(directory, manifest, kind)
                return
            if {entry.name for entry in os.scandir(directory)} <= {STATE}:
                return
    earlier = (directory / "report.json").is_file()
    raise EdgeconvError(
        "will not replace",
        where=str(directory),
        rule=f"it exists and is not an edgeconv project: it has no {MANIFEST}",
        hint="give another directory with -o"
        + (", or delete what an earlier edgeconv wrote there" if earlier else ""),
    )


def _require_kind(directory: Path, manifest: Manifest, kind: str) -> None:
    if manifest.kind != kind:
        raise EdgeconvError(
            "will not replace",
            where=str(directory),
            rule=f"a {manifest.kind} of {manifest.program!r} is there, where a {kind} is to be",
            hint="give another directory with -o, or delete that one",
        )


def put(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files of ours in a project, all of them or none.

    Raises EdgeconvError (exit status 2) where one is there that is not ours or was changed.
    """
    with working(directory), deferred():
        manifest = _manifest(directory)
        _require_ours(directory, manifest, files)
        with staging(directory / STATE) as staged:
            for name, data in files.items():
                path = staged / FILES / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            digests = {name: digest(staged / FILES / name) for name in files}
            _switch(directory, staged, manifest.with_files(digests), list(files), ())


def claim(directory: Path, names: Iterable[str]) -> None:
    """Note that a build is about to make files of these names, which are then ours.

    Raises EdgeconvError (exit status 2) where a file is there that is not.
    """
    with working(directory), deferred():
        manifest = _manifest(directory)
        wanted = [name for name in names if name not in manifest.made]
        if not wanted:
            return
        _require_ours(directory, manifest, wanted)
        with staging(directory / STATE) as staged:
            _switch(directory, staged, manifest.with_made(wanted), (), ())


@contextmanager
def working(directory: Path) -> Iterator[None]:
    """``directory`` is this program's alone, and what a killed one began there is undone.

    Raises EdgeconvError where another program does not leave it.
    """
    with _refusals(directory), locked(directory):
        journal.recover(directory)
        yield


def _put_beside(directory: Path, contents: Contents) -> tuple[str, ...]:
    """A project where there is nothing: it appears whole, by one rename."""
    with staging(directory.parent) as staged:
        _fill(staged / FILES, contents)
        contents.finish(staged / FILES)
        try:
            with deferred():
                (staged / FILES).rename(directory)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
        else:
            return ()
        # Another program was faster; from here on it is a project that is replaced.
        check_target(directory, contents.kind)
        with working(directory), deferred():
            inside = directory / STATE / staged.name
            staged.rename(inside)
            try:
                return _replace(directory, inside, contents)
            finally:
                inside.rename(staged)


def _put_inside(directory: Path, contents: Contents) -> tuple[str, ...]:
    """A project in a folder that is there, which stays the same folder."""
    with suppress(EdgeconvError, OSError), locked(directory.parent, 0):
        sweep(directory.parent)  # of the run that first made the project
    try:
        (directory / STATE).mkdir(exist_ok=True)
        with staging(directory / STATE) as staged:
            _fill(staged / FILES, contents)
            old = Manifest.load(directory) or Manifest(contents.program)
            for name in contents.once:  # the user's, if there is one, is what is built
                path = directory / name  # or a link to it
                if path.is_file() and not old.owns(directory, name):
                    shutil.copyfile(path, staged / FILES / name)
            with working(directory):  # else it may be between two versions
                _plan(directory, staged / FILES, contents)  # before anything long
            contents.finish(staged / FILES)
            with working(directory), deferred():
                return _replace(directory, staged, contents)
    finally:
        with suppress(OSError):
            (directory / STATE).rmdir()  # where it holds nothing


def _fill(files: Path, contents: Contents) -> None:
    """The files of a project, and the manifest that names them."""
    known = contents.fill(files)
    digests = {name: known.get(name) or digest(files / name) for name in _names(files)}
    once = {name: digests.pop(name) for name in contents.once if name in digests}
    manifest = Manifest(contents.program, digests, kind=contents.kind, once=once)
    (files / STATE).mkdir()
    (files / MANIFEST).write_text(manifest.text(), encoding="utf-8")


def _names(folder: Path) -> Iterator[str]:
    """The names of all files.  Raises OSError for a folder that cannot be read; ``rglob`` leaves it
    out."""
    for path in sorted(folder.iterdir()):
        if stat.S_ISDIR(mode_of(path)):
            yield from (f"{path.name}/{name}" for name in _names(path))
        else:
            yield path.name


@dataclass(frozen=True, slots=True)
class _Plan:
    """What changes in a folder.  ``place``: name in the directory -> name among the new files."""

    place: Mapping[str, str]
    remove: tuple[str, ...]
    notes: tuple[str, ...]


def _replace(directory: Path, staged: Path, contents: Contents) -> tuple[str, ...]:
    plan = _plan(directory, staged / FILES, contents)
    for name, source in plan.place.items():
        if name != source:
            (staged / FILES / source).rename(staged / FILES / name)
    manifest = Manifest.load(staged / FILES)
    assert manifest is not None
    beside = {name: digest(staged / FILES / name) for name in plan.place if name.endswith(NEW)}
    old = Manifest.load(directory) or Manifest(contents.program)
    for name in old.files:
        if name.endswith(NEW) and name not in plan.remove and name not in beside:
            beside[name] = old.files[name]
    _switch(directory, staged, manifest.with_files(beside), plan.place, plan.remove)
    return plan.notes


def _plan(directory: Path, files: Path, contents: Contents) -> _Plan:
    """What becomes of every file.  Raises EdgeconvError for one that stays and must not."""
    old = Manifest.load(directory) or Manifest(contents.program)
    new = Manifest.load(files)
    assert new is not None
    place: dict[str, str] = {}
    notes: list[str] = []
    waiting: set[str] = set()  # new versions that the user has not taken yet
    for name in sorted({*new.files, *new.made, *contents.once}):
        if not (files / name).is_file():
            continue
        if name in contents.once:
            if not occupied(directory, name) or old.owns(directory, name):
                place[name] = name
        elif not occupied(directory, name) or old.owns(directory, name):
            place[name] = name
        elif _alike(directory, files, name):
            continue
        elif name in old.files and name not in contents.vital:
            beside = f"{name}{NEW}"
            if old.files[name] != new.files[name]:
                _require_ours(directory, old, [beside])
                place[beside] = name
            waiting.add(beside)
            there = beside in place or occupied(directory, beside)
            where = f"; its new version is {beside}" if there else ""
            notes.append(f"{directory / name} was changed, so it stays as it is{where}")
        else:
            raise _not_ours(directory, name, changed=name in old.files)
    gone = [n for n in sorted({*old.files, *old.made}) if n not in {*new.files, *contents.once}]
    gone = [n for n in gone if n not in place and n not in waiting and occupied(directory, n)]
    untouched = {name for name in old.once if name not in {*new.files, *contents.once}}
    remove = tuple(name for name in sorted({*gone, *untouched}) if old.owns(directory, name))
    notes += [
        f"{directory / name} is no part of the project any more, but was changed, so it stays"
        for name in gone
        if name not in remove
    ]
    return _Plan(place, remove, tuple(notes))


def _alike(directory: Path, files: Path, name: str) -> bool:
    path = plain(directory, name)
    return path is not None and digest(path) == digest(files / name)


def _switch(
    directory: Path, staged: Path, manifest: Manifest, place: Iterable[str], remove: Iterable[str]
) -> None:
    """`journal.switch` with the manifest; files that are as they should be are not touched."""
    (staged / FILES / STATE).mkdir(exist_ok=True)
    (staged / FILES / MANIFEST).write_text(manifest.text(), encoding="utf-8")
    digests = {name: digest(staged / FILES / name) for name in (*place, MANIFEST)}
    changed = {
        name: sha256
        for name, sha256 in digests.items()
        if plain(directory, name) is None or digest(directory / name) != sha256
    }
    journal.switch(directory, staged, changed, remove)


def _manifest(directory: Path) -> Manifest:
    manifest = Manifest.load(directory)
    if manifest is None:
        raise UsageError(
            "will not write",
            where=str(directory),
            rule=f"it has no {MANIFEST} to tell which files are edgeconv's",
            hint="compile the model again, to another folder",
        )
    return manifest


def _require_ours(directory: Path, manifest: Manifest, names: Iterable[str]) -> None:
    for name in names:
        if occupied(directory, name) and not manifest.owns(directory, name):
            raise _not_ours(directory, name, changed=name in manifest.files)


def _not_ours(directory: Path, name: str, *, changed: bool) -> EdgeconvError:
    return EdgeconvError(
        "will not replace",
        where=str(directory / name),
        rule="it was changed since edgeconv wrote it" if changed else "it is not edgeconv's",
        hint="move it away, or use another directory",
    )


def _missing(folder: Path) -> list[Path]:
    """The folders that have to be made for ``folder``, the innermost first."""
    found = []
    while mode_of(folder) == NOTHING:
        found.append(folder)
        folder = folder.parent
    return found


@contextmanager
def _refusals(directory: Path) -> Iterator[None]:
    """What the file system refuses, as an EdgeconvError."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise EdgeconvError(
            "cannot write the project",
            where=str(directory),
            got=error.strerror or str(error),
            hint="free some space or give another directory with -o"
            if full
            else "give a shorter name with -o"
            if error.errno == errno.ENAMETOOLONG
            else "give a writable directory with -o",
        ) from error
