"""All boards as a table in Markdown, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from edgeconv.base.sizes import human
from edgeconv.target.board import Board, RunKind

_HEADINGS = ("board", "core", "clock", "RAM", "flash", "kernels", "built with", "runs in")
_OWN = {
    RunKind.SSH: "itself, over ssh",
    RunKind.PROBE: "itself, through a probe",
    RunKind.NATIVE: "itself",
    RunKind.NONE: "itself",
}


def markdown(boards: Iterable[Board]) -> Iterator[str]:
    """Two lines of headings, and one per board."""
    rows = chain([_HEADINGS, ("---",) * len(_HEADINGS)], map(_row, boards))
    return (f"| {' | '.join(row)} |" for row in rows)


def _row(board: Board) -> tuple[str, ...]:
    return (
        f"`{board.name}`",
        board.cpu,
        _clock(board.clock_hz),
        _size(board.ram_bytes),
        _size(board.flash_bytes),
        ", ".join(_kernels(board)),
        board.toolchain.cc[0].split()[0],
        _place(board),
    )


def _clock(hertz: int | None) -> str:
    return f"{hertz / 1e6:g} MHz" if hertz else ""


def _size(size: int | None) -> str:
    return human(size) if size else ""


def _kernels(board: Board) -> Iterator[str]:
    """The row of the instruction set, and what the core has beyond it."""
    yield board.isa
    yield from sorted(board.target.features)


def _place(board: Board) -> str:
    run = board.run
    if run.kind is RunKind.NONE and run.siblings:
        return f"as `{run.siblings[0]}`"
    if run.kind is RunKind.QEMU_SYSTEM:
        machine = run.command[run.command.index("-M") + 1] if "-M" in run.command else ""
        return f"{run.command[0]}, `{machine}`" if machine else run.command[0]
    return _OWN.get(run.kind) or run.command[0]
