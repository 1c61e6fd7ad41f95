"""What this machine has of what edgeconv can use, and how to get the rest."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata

from edgeconv import board as boards
from edgeconv.board import Board
from edgeconv.build import find_compiler, find_emulator
from edgeconv.errors import EdgeconvError

# Python package -> what it does for verify, best first, and how to get it.
_REFERENCES = (
    ("onnxruntime", "reference results: ONNX Runtime", "pip install 'edgeconv[verify]'"),
    ("onnx", "reference results: ONNX reference evaluator", "pip install onnx"),
)


@dataclass(frozen=True, slots=True)
class Check:
    """One tool.  ``kind``: "compiler", "emulator" or "reference".  ``found`` names the tool with
    its version, "" when it is missing; ``install`` says how to get it."""

    kind: str
    what: str
    found: str
    install: str


@dataclass(frozen=True, slots=True)
class BoardCheck:
    """Whether programs for a board can be built, and run, on this machine."""

    name: str
    description: str
    isa: str
    can_build: bool
    can_run: bool
    runs: str  # "native", "none" or the emulator's name


def diagnose() -> tuple[Check, ...]:
    """Every compiler and emulator that some board wants, each once, and the reference runtimes."""
    loaded = _boards()
    found = [_compiler(board) for board in loaded]
    found += [_emulator(board) for board in loaded if board.run.command]
    found += [
        Check("reference", what, _package(name), install) for name, what, install in _REFERENCES
    ]
    return tuple({(check.kind, check.what): check for check in found}.values())


def diagnose_boards() -> tuple[BoardCheck, ...]:
    """Every board, sorted by name."""
    return tuple(
        BoardCheck(
            name=board.name,
            description=board.description,
            isa=board.isa,
            can_build=_available(find_compiler, board),
            can_run=_available(find_emulator, board),
            runs=board.run.command[0] if board.run.command else board.run.kind.value,
        )
        for board in _boards()
    )


def _boards() -> Iterable[Board]:
    return [boards.load(name) for name in boards.names()]


def _available(find: Callable[[Board], object], board: Board) -> bool:
    try:
        find(board)
    except EdgeconvError:
        return False
    return True


def _compiler(board: Board) -> Check:
    try:
        found = str(find_compiler(board))
    except EdgeconvError:
        found = ""
    return Check("compiler", f"C compiler for {board.arch}", found, board.toolchain.install)


def _emulator(board: Board) -> Check:
    try:
        program = find_emulator(board)[0]
    except EdgeconvError:
        return Check("emulator", board.run.command[0], "", board.run.install)
    found = f"{board.run.command[0]} {_version(program)}"
    return Check("emulator", board.run.command[0], found, board.run.install)


def _version(program: str) -> str:
    """The first version number that ``program --version`` prints, "" when it prints none."""
    try:
        done = subprocess.run(
            (program, "--version"), capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(r"\d+\.\d+(?:\.\d+)?", done.stdout)
    return match[0] if match else ""


def _package(name: str) -> str:
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return ""
