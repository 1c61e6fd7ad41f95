"""The certification kit of a compiled project: a folder of documents."""

from __future__ import annotations

import hashlib
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import edgeconv
from edgeconv.base.errors import EdgeconvError, Exit, refused
from edgeconv.base.output_folder.folder import Contents, check_target, put_project
from edgeconv.base.output_folder.manifest import Manifest, digest
from edgeconv.base.progress import Progress, no_progress
from edgeconv.base.real_path import real_path
from edgeconv.base.visible import json_text
from edgeconv.report.certification import (
    Tool,
    confidence,
    confidence_text,
    misra_text,
    record_of,
    unexplained,
)
from edgeconv.run import misra
from edgeconv.run.build.project import REPORT, Project
from edgeconv.run.build.toolchain import find_compiler
from edgeconv.run.build.weights_file import image_of
from edgeconv.target.board import Board

KIT = "certification kit"  # the kind of folder
# Packages that have a part in what is emitted, or judge it.
_PACKAGES = ("numpy", "onnx", "onnxruntime", "ortools", "scipy", "jinja2", "pyelftools", "capstone")


@dataclass(frozen=True, slots=True)
class Kit:
    """What was made.  ``remarks``: of the checker on MISRA C:2012; ``unexplained``: rules of it
    that no deviation is recorded of."""

    directory: Path
    remarks: int
    unexplained: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "folder": str(self.directory),
            "misra": {"remarks": self.remarks, "unexplained": list(self.unexplained)},
        }


def certification_kit(
    directory: Path, target: Path | None = None, progress: Progress = no_progress
) -> Kit:
    """Make ``target`` (./NAME_kit if None) the certification kit of the project in ``directory``:
    the record of deviations from MISRA C:2012, the tool confidence report, both as Markdown and as
    JSON, the bill of materials and the report.

    Raises EdgeconvError: no project, or one whose weights are damaged; no cppcheck (exit status 3);
    as `put_project` for the folder.
    """
    project = Project.open(directory)
    name = project.name
    target = target or Path(f"{name}_kit")
    place = real_path(target)
    check_target(place, KIT)
    image_of(project.directory, project.report["program"])
    checker = misra.checker()
    progress("checking the rules of MISRA C")
    findings = misra.broken_rules(project.directory)
    record = record_of(findings)
    progress("hashing the tools")
    document = confidence(project.report, [*_tools(project.board(), checker)], _files(project))
    texts = {
        "misra.md": misra_text(name, checker, record),
        "misra.json": json_text({"checker": checker, "rules": record}) + "\n",
        "confidence.md": confidence_text(document),
        "confidence.json": json_text(document) + "\n",
    }
    copied = {}
    for each in (f"{name}.cdx.json", REPORT):
        with refused("cannot read", project.directory / each):
            copied[each] = (project.directory / each).read_bytes()

    def fill(folder: Path) -> Mapping[str, str]:
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8", newline="\n")
        for file, data in copied.items():
            (folder / file).write_bytes(data)
        return {}

    notes = put_project(place, Contents(name, fill, frozenset(), kind=KIT))
    return Kit(target, len(findings), tuple(unexplained(record)), notes)


def _tools(board: Board, checker: str) -> Iterator[Tool]:
    yield Tool("edgeconv", edgeconv.__version__, _own_hash())
    yield Tool("Python", platform.python_version(), _hash_of(sys.executable))
    for package in _PACKAGES:
        try:
            yield Tool(package, metadata.version(package))
        except metadata.PackageNotFoundError:
            yield Tool(package, "not installed")
    try:
        compiler = find_compiler(board)
    except EdgeconvError as error:
        if error.code is Exit.USAGE:
            raise
        yield Tool(f"C compiler of board {board.name}", "not here")
    else:
        yield Tool(Path(compiler.command[0]).name, compiler.version, _hash_of(compiler.command[0]))
    yield Tool(*(checker.rsplit(" ", 1) if " " in checker else ("cppcheck", checker)))


def _hash_of(program: str) -> str:
    found = shutil.which(program)
    return digest(Path(found)) if found else ""


def _own_hash() -> str:
    """The hash of all files of edgeconv."""
    root = Path(edgeconv.__file__).parent
    total = hashlib.sha256()
    folders = [root, *(path for path in root.rglob("*") if path.is_symlink() and path.is_dir())]
    paths = {path for folder in folders for path in (folder.resolve()).rglob("*")}
    for path in sorted(paths):
        if path.is_file() and path.suffix != ".pyc":
            total.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _files(project: Project) -> dict[str, str]:
    """Files of the project that are edgeconv's, with their SHA-256 as they are now."""
    manifest = Manifest.load(project.directory)
    names = manifest.files if manifest else {}
    paths = {name: project.directory / name for name in names}
    return {name: digest(path) for name, path in sorted(paths.items()) if path.is_file()}
