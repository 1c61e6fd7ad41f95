"""What ``edgeconv boards new`` prints."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.markup import escape

from edgeconv.machine import NewBoard
from edgeconv.report.boards import board_details, board_json


def render(new: NewBoard) -> Group:
    """The board, its file, and the command that uses it."""
    lines = [f"board: {new.path}", f"use:   {new.use}"]
    return Group(board_details(new.board), *(escape(line) for line in lines))


def to_json(new: NewBoard) -> dict[str, Any]:
    """The same as one JSON document; speeds are in SI units where the file counts cycles."""
    measured, memory = new.measured, new.measured.memory
    return {
        "file": str(new.path),
        "use": new.use,
        "board": board_json(new.board),
        "measured": {
            "clock_hz": measured.clock,
            "macs_per_cycle": measured.macs_per_cycle,
            "caches": [
                {
                    "level": cache.level,
                    "latency_seconds": level.latency,
                    "bytes_per_second": level.bandwidth,
                }
                for cache, level in zip(measured.caches, measured.levels, strict=True)
            ],
            "memory": {"latency_seconds": memory.latency, "bytes_per_second": memory.bandwidth},
            "compiler": measured.compiler,
            "rounds": measured.rounds,
            "samples": measured.samples,
        },
    }
