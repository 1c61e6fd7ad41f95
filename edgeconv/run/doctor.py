"""What this machine has of what edgeconv can use, and how to get the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.run.build import find_compiler, find_emulator
from edgeconv.run.build.output import output_of
from edgeconv.run.build.sibling import runs_somewhere
from edgeconv.target.board import Board

# Python package -> what it does for verify, best first, and how to get it.
_REFERENCES = (
    ("onnxruntime", "reference results: ONNX Runtime", "pip install 'edgeconv[verify]'"),
    ("onnx", "reference results: ONNX reference evaluator", "pip install onnx"),
)


@dataclass(frozen=True, slots=True)
class Check:
    """One tool.  ``kind``: "compiler", "emulator" or "reference".  ``found`` names the tool with
    its version, "" when it is missing or does not work; ``problem`` is then what is wrong with the
    one that is here; ``install`` says how to get it."""

    kind: str
    what: str
    found: str
    install: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class BoardCheck:
    """Whether programs for a board can be built, and run, on this machine.

    ``problem``: why not, "" when they can.
    """

    name: str
    description: str
    isa: str
    can_build: bool
    can_run: bool
    runs: str  # "native", "none" or the emulator's name, with that of a sibling
    problem: str = ""


def diagnose(loaded: Iterable[Board]) -> tuple[Check, ...]:
    """Every compiler and emulator that one of the boards wants, each once, and the reference
    runtimes."""
    loaded = list(loaded)
    found = [_compiler(board) for board in loaded]
    found += [_emulator(board) for board in loaded if board.run.command]
    found += [
        Check("reference", what, _package(name), install) for name, what, install in _REFERENCES
    ]
    return tuple({(check.kind, check.what): check for check in found}.values())


def diagnose_boards(loaded: Iterable[Board]) -> tuple[BoardCheck, ...]:
    """Every one of the boards, in their order.

    Each compiler builds a small program for each board that it is for.
    """
    return tuple(_board(board) for board in loaded)


def _board(board: Board) -> BoardCheck:
    build, run = _problem(find_compiler, board), _problem(runs_somewhere, board)
    runs = board.run.command[0] if board.run.command else board.run.kind.value
    if not run:
        place = runs_somewhere(board)
        runs = runs if place is board else f"{place.run.command[0]} as {place.name}"
    return BoardCheck(
        name=board.name,
        description=board.description,
        isa=board.isa,
        can_build=build is None,
        can_run=run is None,
        runs=runs,
        problem="; ".join(error.one_line() for error in (build, run) if error),
    )


def _problem(find: Callable[[Board], object], board: Board) -> EdgeconvError | None:
    """What keeps ``find`` from finding a tool; wrong usage is none of these and is raised."""
    try:
        find(board)
    except EdgeconvError as error:
        if error.code is Exit.USAGE:
            raise
        return error
    return None


def _compiler(board: Board) -> Check:
    what = f"C compiler for {board.arch}"
    problem = _problem(find_compiler, board)
    if problem:
        return Check("compiler", what, "", board.toolchain.install, problem.got)
    return Check("compiler", what, str(find_compiler(board)), board.toolchain.install)


def _emulator(board: Board) -> Check:
    try:
        program = find_emulator(board)[0]
    except EdgeconvError:
        return Check("emulator", board.run.command[0], "", board.run.install)
    found = f"{board.run.command[0]} {_version(program)}"
    return Check("emulator", board.run.command[0], found, board.run.install)


def _version(program: str) -> str:
    """The first version number that ``program --version`` prints, "" when it prints none."""
    match = re.search(r"\d+\.\d+(?:\.\d+)?", output_of((program, "--version")).stdout)
    return match[0] if match else ""


def _package(name: str) -> str:
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return ""
