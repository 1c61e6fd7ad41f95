"""What the cores of this machine do at once, one thread and several: multiply-adds on registers,
and what they read of memory."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path

from convtime.program import MULTIPLY_ADDS

from edgeconv.base.errors import EdgeconvError
from edgeconv.kernels.headers import include_flags
from edgeconv.run.build import compile_project, run_binary
from edgeconv.target.board import Board

SAMPLES = 3
PASSES = 4  # of the last cache, that a core reads
MEGABYTE = 1 << 20
_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Rates:
    """GFLOP/s of one core alone, and of each of several at once, or GB/s that they read: medians of
    some samples."""

    alone: float
    together: tuple[float, ...]

    def share(self, best: float) -> float:
        """Of the cores that there should be, how much the machine gives: the less of what one alone
        has and of what all have, in parts of ``best``, what a core can do."""
        return min(self.alone, statistics.fmean(self.together)) / best


class Cores:
    """The measuring program for ``board``, which is this machine, built in ``folder``.

    Raises EdgeconvError: no compiler (exit status 3), a program that does not compile (1).
    """

    def __init__(self, board: Board, threads: int, folder: Path) -> None:
        self.board, self.threads = board, threads
        self._binary = compile_project(
            Path(__file__).parent,
            board,
            sources=("cores.c",),
            out=folder / "cores",
            extra_flags=(
                *include_flags(),
                f"-I{MULTIPLY_ADDS.parent}",
                f'-DEC_ISA_HEADER="{board.target.header}"',
                "-pthread",
            ),
        )

    def measure(self) -> Rates:
        """Multiply-adds; raises EdgeconvError where this process may not use so many cores."""
        return self._run()

    def reading(self, last_cache: int) -> Rates:
        """Memory behind a cache of so many bytes; raises as `measure`."""
        return self._run(str(-(-PASSES * last_cache // MEGABYTE)))

    def _run(self, *more: str) -> Rates:
        arguments = (str(self.threads), str(SAMPLES), *more)
        done = run_binary(self._binary.path, self.board, arguments, timeout=_TIMEOUT_S)
        if done.status != 0:
            raise EdgeconvError("measuring cores failed", got=done.stderr.strip() or "no message")
        return rates(done.stdout)


def rates(printed: str) -> Rates:
    """What the program printed."""
    samples: dict[str, list[list[float]]] = {"alone": [], "together": []}
    for line in printed.splitlines():
        name, *numbers = line.split()
        samples[name].append([float(text) for text in numbers])
    alone, together = (
        tuple(statistics.median(each) for each in zip(*samples[name], strict=True))
        for name in ("alone", "together")
    )
    return Rates(alone[0], together)
