"""Which file a project was compiled from.

The project itself must not depend on where it was compiled, so it records the model's file name
and SHA-256 only.  The path is remembered outside of it, per SHA-256, in the user's cache.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.model.frontend.fingerprint import sha256
from edgeconv.run.build.project import Project


def remember(digest: str, path: Path) -> None:
    """Note where the model with this hash is; without effect where nothing can be kept."""
    # Without a home directory, or with a read-only one, verify asks for --model.
    with suppress(OSError, RuntimeError, UnicodeEncodeError):
        _folder().mkdir(parents=True, exist_ok=True)
        (_folder() / digest).write_text(f"{path.resolve()}\n", encoding="utf-8")


def find(project: Project, given: Path | None = None) -> Path:
    """The model file of ``project``: ``given``, else where it was last compiled from, else a file
    of its name in or beside the project or in the working directory.

    Raises EdgeconvError: ``given`` is missing or another model (exit status 2), none was found (1).
    """
    digest, name = project.report["model"]["sha256"], project.report["model"]["file"]
    if given is not None:
        if not given.is_file():
            raise UsageError("no such model", where=str(given))
        if (got := sha256(given)) != digest:
            raise UsageError(
                "not the model that the project was compiled from",
                where=str(given),
                got=f"SHA-256 {got}",
                rule=f"{project.directory} has {digest}",
                hint="compile the model again",
            )
        return given
    tried = list(dict.fromkeys(_likely(project, digest, name)))
    present = [path for path in tried if path.is_file()]
    for path in present:
        if _is(path, digest):
            return path
    raise EdgeconvError(
        "the model that the project was compiled from has changed"
        if present
        else "the model that the project was compiled from is gone",
        where=str((present or tried)[0]),
        rule=f"looking for {name} with SHA-256 {digest}",
        hint="give it with --model, or compile the model again",
    )


def of_program(project: Project, given: Path | None = None) -> Path:
    """The model that has the program's inputs, and its own numbers: with the pre-processing of
    ``--preprocess`` or of new rows the project's own, else as `find`.

    Raises EdgeconvError: as `find`, or the project's own is gone or another one.
    """
    model = project.report["model"]
    made = model.get("stream") or model.get("preprocess")
    if made is None:
        return find(project, given)
    if given is not None:
        find(project, given)
    return _own(project, made, "of new rows" if "stream" in model else "with pre-processing")


def of_window(project: Project, given: Path | None = None) -> Path:
    """The model of the whole window that a network of new rows was made of: where that was
    quantised to int8 by samples the project's own, else as `find`.

    Raises EdgeconvError: as `find`, or the project's own is gone or another one.
    """
    made = project.report["model"].get("int8")
    if made is None:
        return find(project, given)
    if given is not None:
        find(project, given)
    return _own(project, made, "quantised to int8")


def held_to(project: Project, given: Path | None = None, *, to_original: bool = False) -> Path:
    """The model that layers are compared with: of a network that was quantised to int8 the
    project's own, unless ``to_original``; else as `of_program`.

    Raises EdgeconvError: as `find`, or the project's own is gone or another one.
    """
    model = project.report["model"]
    made = None if to_original or "stream" in model else model.get("int8")
    if made is None:
        return of_program(project, given)
    if given is not None:
        find(project, given)
    return _own(project, made, "quantised to int8")


def _own(project: Project, made: Mapping[str, Any], what: str) -> Path:
    """The project's file of the network that was made, ``what``, as the report has it."""
    path = project.directory / str(made["file"])
    if not path.is_file() or not _is(path, made["sha256"]):
        raise EdgeconvError(
            f"the network that was made {what} is gone, or another one",
            where=str(path),
            rule=f"the program computes that with SHA-256 {made['sha256']}",
            hint="compile the model again; --tolerance compares with the original model",
        )
    return path


def _is(path: Path, digest: str) -> bool:
    """Whether ``path`` is the model; another file of its name need not even be one."""
    try:
        return sha256(path) == digest
    except EdgeconvError:
        return False


def _likely(project: Project, digest: str, name: str) -> Iterator[Path]:
    with suppress(OSError, RuntimeError, UnicodeDecodeError):  # never compiled here
        yield Path((_folder() / digest).read_text(encoding="utf-8").strip())
    directory = project.directory.resolve()
    for folder in (directory, directory.parent, Path.cwd()):
        yield folder / name


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "edgeconv" / "models"
