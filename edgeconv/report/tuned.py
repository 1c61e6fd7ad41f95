"""What ``edgeconv tune`` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from rich.console import Group, RenderableType
from rich.markup import escape


class Outcome(Protocol):
    """See ``tuning.TuningResult``."""

    @property
    def candidates(self) -> int: ...
    @property
    def measured(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def now(self) -> int: ...
    @property
    def analytic(self) -> float: ...
    @property
    def tuned(self) -> float: ...
    @property
    def unmeasured(self) -> int: ...
    @property
    def board(self) -> str: ...
    @property
    def compiler(self) -> str: ...
    @property
    def place(self) -> str: ...


def text(found: Outcome, file: Path) -> RenderableType:
    """Some lines."""
    left = found.candidates - found.measured - found.failed
    where = "on the board" if found.place == "board" else f"under {found.place}"
    counts = f"{found.failed} failed, {left} left; {found.now} times now"
    lines = [
        f"measured: {found.measured} of {found.candidates} candidates, {counts}",
        f"board {found.board}, {found.compiler}, {where}",
    ]
    if found.tuned:
        lines.append(
            f"layers as predicted best: {1e3 * found.analytic:.3f} ms; as measured best: "
            f"{1e3 * found.tuned:.3f} ms ({found.analytic / found.tuned - 1:+.1%})"
        )
    if found.unmeasured:
        lines.append(f"of those, {found.unmeasured} have no measured time yet, but a predicted one")
    if found.place != "board":
        counted = "instructions, each taken for a cycle, know of no stalls"
        times = "times under an emulator say nothing about the board"
        lines.append(counted if found.place.endswith("counted") else times)
    lines.append(f"times: {file}; edgeconv compile ... --tuned {file} chooses by them")
    return Group(*map(escape, lines))
