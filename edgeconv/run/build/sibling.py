"""Where firmware runs that no emulator boots as it is: on a sibling of its board.

The network, its constants and main.c are compiled with the flags of the board itself, to the same
machine code; start-up code and addresses are the sibling's.
"""

from __future__ import annotations

from pathlib import Path

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.link import SIBLING
from edgeconv.run.build.run import find_emulator
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind


def runs_somewhere(board: Board) -> Board:
    """The board if its programs run from here, else the first of its siblings that an emulator
    boots here.  Raises EdgeconvError (exit status 3) where there is none, as `find_emulator`."""
    missing = None
    for name in board.run.siblings if board.run.kind is RunKind.NONE else ():
        sibling = boards.load(name)
        try:
            find_emulator(sibling)
        except EdgeconvError as error:
            missing = missing or error
        else:
            return sibling
    if missing:
        raise missing
    find_emulator(board)
    return board


def sibling_in(directory: Path, board: Board) -> Board | None:
    """The sibling whose linker script is in a project; None where it needs none."""
    names = board.run.siblings if board.run.kind is RunKind.NONE else ()
    found = (name for name in names if (directory / SIBLING / f"{name}.ld").is_file())
    name = next(found, None)
    return boards.load(name) if name else None


def place_of(directory: Path, board: Board) -> Board:
    """Where the program of a project runs: on the board itself, or on the sibling that the project
    has start-up code for.  Raises EdgeconvError (exit status 3): nowhere here, or the emulator is
    not installed."""
    place = sibling_in(directory, board) or board
    if place is board and board.run.siblings and board.run.kind is RunKind.NONE:
        raise EdgeconvError(
            "programs of this board cannot run here",
            where=f"board {board.name}",
            rule=f"it needs more memory than {' or '.join(board.run.siblings)} has",
            hint="flash it and look at firmware_result with a debugger",
            code=Exit.MISSING_TOOL,
        )
    find_emulator(place)
    return place
