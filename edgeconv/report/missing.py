"""What a report does not know, why, and the command that finds out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Missing:
    """``state`` says what has not happened; ``command`` makes it happen and ``does`` says how."""

    state: str
    command: str
    does: str

    def __str__(self) -> str:
        return f"{self.state}: {self.command} {self.does}"


# DIR stands for the project: a report does not know where it lies.
_MEASURED = Missing("not measured yet", "edgeconv bench DIR", "measures it")
_MEASURED_LAYERS = Missing(
    "not measured yet", "edgeconv bench DIR --layers", "measures every layer"
)
# An emulator's times say nothing about the board.
_FLASHED = Missing("not measured", "firmware_result.cycles", "of the flashed image counts a run")
_MEASURED_STACK = Missing(
    "not measured yet", "edgeconv verify DIR", "measures it where an emulator boots the image"
)
_VERIFIED = Missing("not verified yet", "edgeconv verify DIR", "compares with the model")
_RATES = Missing("not predicted", "edgeconv boards show {board}", "shows what the board states")


def compile_command(report: Report, *more: str) -> str:
    """The command that compiles the same model for the same board, with ``more`` options."""
    words = ["edgeconv", "compile", report["model"]["file"], "--board", report["board"]]
    if report["program"]["io"] != "caller" and "--io" not in more:
        words += ["--io", report["program"]["io"]]
    return shlex.join([*words, *more])


def explain_command(report: Report, layer: str) -> str:
    """The command that shows every choice about one layer."""
    words = ["edgeconv", "explain", report["model"]["file"], "--board", report["board"]]
    return shlex.join([*words, "--layer", layer])


def unbuilt(report: Report) -> Missing:
    """Of what is read from the objects: code, constants, data, stack."""
    return Missing("not built yet", compile_command(report, "--build"), "reads it from the objects")


def unmeasured(report: Report, *, layers: bool = False) -> Missing:
    """Of a time of the whole network, or of each of its ``layers``."""
    if report["program"].get("firmware"):
        return _FLASHED
    return _MEASURED_LAYERS if layers else _MEASURED


def unmeasured_stack() -> Missing:
    """Of the bytes of stack that a run takes."""
    return _MEASURED_STACK


def unverified() -> Missing:
    """Of the errors of the outputs."""
    return _VERIFIED


def unpredicted(report: Report, why: str | None = None) -> Missing:
    """Of what the board's numbers do not suffice for; ``why`` as the report has it."""
    command = _RATES.command.format(board=shlex.quote(report["board"]))
    return Missing(why or _RATES.state, command, _RATES.does)


def unmapped(report: Report) -> Missing:
    """Of what reports of earlier versions do not have."""
    return Missing("not in this report", compile_command(report), "writes a new one")
