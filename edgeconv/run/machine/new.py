"""``edgeconv boards new``: a board file for the running machine."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.base.progress import Progress, no_progress
from edgeconv.run.build import find_compiler
from edgeconv.run.machine.board_file import render
from edgeconv.run.machine.measure import Measured, measure
from edgeconv.run.machine.paths import path_of, write_new
from edgeconv.run.machine.probe import Machine, probe
from edgeconv.run.machine.programs import accepts
from edgeconv.target import board as boards
from edgeconv.target.board import Board
from edgeconv.target.board_folders import FOLDERS_VARIABLE
from edgeconv.target.host import Host, widest

# Those with an instruction of known latency in rate.c.
_ARCHITECTURES = ("x86_64", "aarch64", "armv7l", "ppc64le")
# Flags beyond the ISA's that are tried: word of /proc/cpuinfo that is needed ("" none), flag.
# Without the first, ARMv7 has no integer division and calls the compiler's library for it.
_FLAGS = (("idiva", "-march=armv7ve"), ("", "-mtune=native"))


@dataclass(frozen=True, slots=True)
class NewBoard:
    """A board file for this machine.  ``path``: the file that was written.  ``board``: what it
    describes."""

    path: Path
    board: Board
    measured: Measured

    @property
    def use(self) -> str:
        """The command line that compiles for it."""
        folder = shlex.quote(str(self.path.parent))
        command = f"edgeconv compile MODEL.onnx --board {self.board.name}"
        return f"{FOLDERS_VARIABLE}={folder} {command}"


def new_board(
    name: str,
    output: Path | None = None,
    *,
    quick: bool = False,
    progress: Progress = no_progress,
) -> NewBoard:
    """Measure the running machine and write it as the board ``name`` to ``output`` (NAME.toml, also
    where it is a folder).  Takes well under a minute; ``quick`` takes seconds and is less exact.

    Raises EdgeconvError: the name is no board's name or taken, the file is there already, or the
    machine is none that can be measured (exit status 2); no compiler (3); measuring failed (1).
    """
    path = path_of(name, output)
    machine = _machine()
    target = widest(machine.host)
    with TemporaryDirectory(prefix="edgeconv-") as folder:
        progress("looking at the machine")
        draft = Path(folder) / f"{name}.toml"
        board = _board(draft, render(name, machine, target, (), None), machine.host)
        find_compiler(board)
        flags = _flags(board, Path(folder), machine.host)
        board = replace(board, toolchain=replace(board.toolchain, flags=flags))
        measured = measure(machine, board, Path(folder), quick=quick, progress=progress)
        text = render(name, machine, target, flags, measured)
        board = _board(draft, text, machine.host)
    write_new(path, text)
    return NewBoard(path, replace(board, path=path), measured)


def _machine() -> Machine:
    if sys.platform != "linux":
        rule = "it reads Linux's /proc and /sys"
        raise _wrong("boards new needs Linux", sys.platform, rule, "run it on the board itself")
    machine = probe()
    if machine.host.arch not in _ARCHITECTURES:
        rule = f"it can measure {', '.join(_ARCHITECTURES)}"
        hint = "copy a file of boards/ and edit it"
        raise _wrong("boards new cannot measure this CPU", machine.host.arch, rule, hint)
    return machine


def _flags(board: Board, folder: Path, host: Host) -> tuple[str, ...]:
    """The flags of _FLAGS that the CPU and the compiler have."""
    found: Sequence[str] = ()
    for word, flag in _FLAGS:
        if (not word or host.has((word,))) and accepts(board, folder, (*found, flag)):
            found = (*found, flag)
    return tuple(found)


def _board(path: Path, text: str, host: Host) -> Board:
    path.write_text(text, encoding="utf-8")
    return boards.check(path, host)


def _wrong(what: str, got: str, rule: str, hint: str) -> EdgeconvError:
    return UsageError(what, got=got, rule=rule, hint=hint)
