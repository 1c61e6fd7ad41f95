"""The cores of a board that share a network: how fast each is, and what it takes to use several.

What a file does not state is taken to be so: as many equal cores as ``cores`` says; `FORK_JOIN` to
hand out a layer and to wait for all; and together they read `TOGETHER` times of memory what one
core reads, since one seldom takes all of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.base.errors import UsageError
from edgeconv.target.board import Board

# Seconds.  Two cores of a Zen 4 take 0.1 us to 1 us (edgeconv/run/machine/fork_join.c); the rest is
# for caches that a share finds cold, and for others that use the cores.
FORK_JOIN = 3e-6
TOGETHER = 2.0


@dataclass(frozen=True, slots=True)
class Team:
    """The cores that share a network.  ``speeds``: of each core, in parts of the one that prices
    are of, the fastest first.  ``cpus``: their numbers, where the system has some and it matters
    which is which; else none.  ``fork_join``: seconds.  ``together``: bytes per second that all
    read of memory, in parts of what one reads."""

    speeds: tuple[float, ...]
    fork_join: float = FORK_JOIN
    together: float = TOGETHER
    cpus: tuple[int, ...] = ()


def most_threads(board: Board) -> int | None:
    """How many may share a network: as many as there are cores, one without an operating system;
    None where the file states no number."""
    return 1 if board.bare_metal else len(_cores(board)) or board.cores


def _cores(board: Board) -> list[tuple[float, int]]:
    """Speed and number of each that the file tells apart."""
    return [(kind.speed, cpu) for kind in board.threads.kinds for cpu in kind.cpus]


def team_of(board: Board, threads: int) -> Team | None:
    """``threads`` cores of ``board``; None for one.

    Raises UsageError where it has no threads, or not so many cores.
    """
    if threads == 1:
        return None
    if board.bare_metal:
        raise UsageError(
            f"--threads {threads}",
            where=f"board {board.name}",
            rule="it has no operating system, and its firmware one thread",
            hint="leave --threads out; or compile for a board of the same ISA that has one, whose "
            "PREFIX_threads.h you replace by tasks of your RTOS (docs/threads.md)",
        )
    stated, count = board.threads, most_threads(board)
    cores = sorted(_cores(board), key=lambda core: -core[0])  # those of a kind as they are listed
    if count is not None and threads > count:
        raise UsageError(
            f"--threads {threads}",
            where=f"board {board.name}",
            rule=f"it has {count} core{'s' if count > 1 else ''}",
            hint=f"--threads {count} would do" if count > 1 else "leave --threads out",
        )
    own = board.ram[0].bandwidth if board.ram else None
    together = stated.bandwidth / own if stated.bandwidth and own else TOGETHER
    unequal = len({speed for speed, _ in cores}) > 1
    return Team(
        speeds=tuple(speed for speed, _ in cores[:threads]) or (1.0,) * threads,
        fork_join=FORK_JOIN if stated.fork_join is None else stated.fork_join,
        together=min(max(together, 1.0), float(threads)),
        cpus=tuple(cpu for _, cpu in cores[:threads]) if unequal else (),
    )


def cpus_of(board: Board, threads: int) -> tuple[int, ...]:
    """The cores that so many threads are bound to, that of the caller first; none where all are
    equal."""
    team = team_of(board, threads)
    return team.cpus if team else ()
