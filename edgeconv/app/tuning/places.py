"""Where candidates are timed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from edgeconv.app.tuning.candidates import Job
from edgeconv.app.tuning.firmware import place_of
from edgeconv.app.tuning.program import Timed, time_candidates
from edgeconv.run.build import find_compiler, find_emulator
from edgeconv.run.machine import own_rates
from edgeconv.search.measured import Key, board_key, kernel_version
from edgeconv.search.measured.times import ON_BOARD
from edgeconv.target import board as boards


class Place(Protocol):
    """A place where candidates are timed.  ``key``: what times from there are noted by, without a
    kernel.  ``width``: programs that run at once."""

    @property
    def key(self) -> Key: ...
    @property
    def width(self) -> int: ...

    def measure(self, programs: Iterable[Sequence[Job]], runs: int) -> Iterator[list[Timed]]:
        """The times of each program as they become known, in any order."""
        ...

    def close(self) -> None: ...


class Here:
    """This machine, or what its programs of the board run on: an emulator, a board behind ssh.

    Raises EdgeconvError: no compiler or emulator (exit status 3).
    """

    width = 1

    def __init__(self, board: str, ssh: str) -> None:
        self.board = boards.load(board, ssh=ssh) if ssh else own_rates.load(board)
        find_emulator(self.board)
        self.compiler = find_compiler(self.board)
        run = self.board.run
        counted = place_of(self.board) if self.board.bare_metal else ""
        place = counted or (ON_BOARD if run.on_board else Path(run.command[0]).name)
        self.key = Key("", board_key(self.board), place, str(self.compiler), kernel_version())

    def measure(self, programs: Iterable[Sequence[Job]], runs: int) -> Iterator[list[Timed]]:
        """One after the other."""
        for jobs in programs:
            yield time_candidates(jobs, self.board, self.compiler, runs)

    def close(self) -> None:
        """Nothing to let go of."""
