"""Candidates as firmware: an image that prints what a counter of the core says of every layer.

On a board, through its probe, these are cycles.  QEMU keeps no time of a core: there it is told
that every instruction takes a nanosecond (``-icount``), SysTick counts those, and what comes of it
is a number of instructions, each taken for a cycle.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from edgeconv.base.arguments import SPEED
from edgeconv.base.errors import EdgeconvError
from edgeconv.codegen.emit import EmitOptions, emit, weight_image
from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap
from edgeconv.run.build import Compiler, compile_project, run_binary
from edgeconv.run.build.program_files import PlaceError
from edgeconv.search.memory.link import link_plan
from edgeconv.target.board import Board, RunKind

NAME = "tune"
_NO_FILE = 101  # firmware.h: the image could not read its input
_FLAGS = (f"-D{NAME.upper()}_TRACE", "-DFIRMWARE_SEMIHOSTING", "-DFIRMWARE_TICKS")
LAYER = re.compile(r"^layer ([0-9]{1,10})\s+ticks ([0-9]{1,10})$", re.MULTILINE)
_PER_INSTRUCTION = 1e-9  # seconds of the emulated clock, with:
_COUNTING = ("-icount", "shift=0,align=off,sleep=off")
INSTRUCTIONS = "instructions counted"


def place_of(board: Board) -> str:
    """The emulator, and that it counts; "" on the board."""
    command = board.run.command
    return f"{Path(command[0]).name}, {INSTRUCTIONS}" if _is_emulated(board) else ""


def seconds_of_layers(
    choice: Choice,
    memory: MemoryMap,
    board: Board,
    compiler: Compiler,
    folder: Path,
    inputs: bytes,
    timeout: float,
) -> Iterator[tuple[int, float]]:
    """The position of every layer of one run in the order of execution, and its cycles at the clock
    of ``board``.

    Raises EdgeconvError: an image that cannot be built, does not fit or fails; a board whose file
    states no clock.  PlaceError where the image was not run, or was given no files.
    """
    clock = board.clock_hz
    if clock is None:
        raise EdgeconvError("cannot count", where=f"board {board.name}", rule="it states no clock")
    image = ticking_image(choice, memory, board, compiler, folder)
    printed = printed_ticks(image, _counting(board), folder, inputs, timeout)
    for number, ticks in LAYER.findall(printed):
        seconds = int(ticks) / clock
        cycles = seconds / _PER_INSTRUCTION if _is_emulated(board) else int(ticks)
        yield int(number), cycles / clock


def ticking_image(
    choice: Choice,
    memory: MemoryMap,
    board: Board,
    compiler: Compiler,
    folder: Path,
    code: str = SPEED,
) -> Path:
    """Firmware that prints the ticks of every layer, built in ``folder``; ``NAME_run`` and
    ``NAME_trace``, called behind every layer, are among its symbols.  ``code``: what the compiler
    optimises for."""
    link = link_plan(board, memory, weight_image(choice, memory).parts)
    project = folder / NAME
    emit(choice, memory, EmitOptions(NAME, board.name, "", board.flags, link=link), "{}").write(
        project
    )
    return compile_project(
        project,
        board,
        sources=(f"{NAME}.c", f"{NAME}_weights.S", "main.c", "startup.c"),
        out=folder / f"{NAME}.elf",
        extra_flags=_FLAGS,
        compiler=compiler,
        linker_script=f"{board.name}.ld",
        code=code,
    ).path


def printed_ticks(image: Path, board: Board, folder: Path, inputs: bytes, timeout: float) -> str:
    """What an image of `ticking_image` prints on ``board``; raises as `seconds_of_layers`."""
    (folder / f"{NAME}_input.bin").write_bytes(inputs)
    done = run_binary(image, board, cwd=folder, timeout=timeout)
    if done.status == _NO_FILE:
        raise PlaceError(
            "the image was not given its input",
            where=f"board {board.name}",
            rule="what runs it serves files by semihosting",
            hint="some debuggers have to be told to, or to allow it",
        )
    if done.status:
        raise EdgeconvError("the image failed", got=done.stderr.strip() or f"status {done.status}")
    return done.stdout + done.stderr


def _is_emulated(board: Board) -> bool:
    return board.run.kind is RunKind.QEMU_SYSTEM


def _counting(board: Board) -> Board:
    """The board, whose emulator counts instructions."""
    if not _is_emulated(board):
        return board
    return replace(board, run=replace(board.run, command=(*board.run.command, *_COUNTING)))
