"""What an emitted program can be told when it is compiled: a row for each macro.

They stand in one block at the top of its header.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from edgeconv.codegen.results import THREADS

SHARED_ROWS = "shared rows"  # of a program: threads share layers that are computed by rows


@dataclass(frozen=True, slots=True)
class Switch:
    """``macro``, ``meaning``: with ``{name}`` and ``{NAME}`` for the program's.  ``only``: what a
    program must have that reads it, "" for all."""

    macro: str
    meaning: str
    only: str = ""


_ROWS = (
    Switch("{NAME}_NO_CRC", "{name}_init does not compute the CRC of the weights"),
    Switch("{NAME}_WATCHDOG", "{name}_watchdog, which is yours, is called after every layer"),
    Switch("{NAME}_TRACE", "{name}_trace, which is yours, is given the result of every layer"),
    Switch("{NAME}_TIMES", "with it: threads share rows as they do without it", SHARED_ROWS),
    Switch('{NAME}_THREADS_H="..."', "your header in place of {name}_threads.h", THREADS),
    Switch("{NAME}_THREADS_SPIN=N", "rounds that a thread waits awake, see there", THREADS),
    Switch("{NAME}_CPUS=A,B...", "cores of the threads, see there", THREADS),
    Switch("EC_DEBUG", "nothing is unrolled or inlined, to step through (with -Og)"),
)


def switches(name: str, has: Collection[str]) -> list[tuple[str, str]]:
    """(macro, meaning) of those that program ``name`` reads, which ``has`` these."""
    names = {"name": name, "NAME": name.upper()}
    rows = (row for row in _ROWS if not row.only or row.only in has)
    return [(row.macro.format(**names), row.meaning.format(**names)) for row in rows]
