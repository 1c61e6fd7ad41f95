"""What register tiles load on the running machine: measured when `host` is first compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from edgeconv import board as boards
from edgeconv.board import Board, own_rates
from edgeconv.errors import EdgeconvError
from edgeconv.machine.measure import keep_best, loads
from edgeconv.machine.programs import RATE, Programs
from edgeconv.progress import Tell, nobody
from edgeconv.targets import Target

HOST = "host"
ROUNDS, SAMPLES = 3, 3  # of some tenths of a second
_LINE = 64  # nothing that is measured here depends on it


def load(name: str, tell: Tell = nobody) -> Board:
    """`boards.load`; of the running machine, if it is `host`, what is measured of it is known then.

    Raises EdgeconvError as that does, and for nothing else: what cannot be measured or kept is as a
    board that does not state it.
    """
    board = boards.load(name)
    if name != HOST or board.target.lanes == 1:
        return board
    key = own_rates.processor(board.cpu, board.isa)
    if key in own_rates.read() or not own_rates.keeps():
        return board
    tell("measuring what this machine loads beside its multiply-adds, once")
    own_rates.keep(key, _measured(board))
    return boards.load(name)


def _measured(board: Board) -> float | None:
    best: dict[str, float] = {}
    try:
        with TemporaryDirectory(prefix="edgeconv-") as folder:
            programs = Programs(board, Path(folder), _LINE, names=(RATE,))
            for _ in range(ROUNDS):
                keep_best(best, programs.run(RATE, SAMPLES))
        return own_rates.rounded(loads_per_multiply_add(best, board.target))
    except (EdgeconvError, OSError, ValueError, ZeroDivisionError, KeyError):
        return None


def loads_per_multiply_add(rate: Mapping[str, float], target: Target) -> float:
    """What register tiles load while the core multiplies and adds a vector, that of the tiles which
    loads most.  ``rate``: seconds of a multiply-add, by form."""
    fastest = min(seconds for name, seconds in rate.items() if not name.startswith("cycle:"))
    return max(loads(rate, fastest * target.lanes * target.peak, target))
