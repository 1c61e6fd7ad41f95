"""What a report does not know, why, and the command that finds out."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
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


# DIR stands for the project: a report does not know where it lies.  X.npz stands for samples: an
# array per input of the model and, for top-1, `label`.
SAMPLES = "X.npz"
_ON_SAMPLES = f"edgeconv verify DIR --samples {SAMPLES}"
# Of firmware that no emulator boots: `compile` measures accuracy in its own process, and portable C
# of the same model runs on any machine.
_CALIBRATED = f"edgeconv compile ... --calibration {SAMPLES}"
_PORTABLE_BOARD = "generic-c"


def compile_command(report: Report, *more: str) -> str:
    """The command that the project was compiled with, and ``more`` options, in place of those that
    say something else of the same (``--io caller``, ``--storage conv=int8``)."""
    try:
        words = shlex.split(report["program"].get("command", ""))
    except ValueError:
        words = []
    if words[:2] != ["edgeconv", "compile"]:  # of an earlier version, or somebody else's
        words = ["edgeconv", "compile", report["model"]["file"], "--board", report["board"]]
    said = {(option, value.rpartition("=")[0]) for option, value in pairwise(more)}
    again = {
        at
        for at, (option, value) in enumerate(pairwise(words))
        if (option, value.rpartition("=")[0]) in said
    }
    words = [word for at, word in enumerate(words) if not again & {at - 1, at}]
    return shlex.join([*words, *more])


def calibration(report: Report) -> str:
    """The file of samples that accuracy was measured on; what stands for one where it was not."""
    accuracy = report.get("accuracy") or {}
    _, found, name = str(accuracy.get("source", "")).partition(" samples of ")
    return name if found and accuracy.get("promised") else SAMPLES


def explain_command(report: Report, layer: str) -> str:
    """The command that shows every choice about one layer."""
    words = ["edgeconv", "explain", report["model"]["file"], "--board", report["board"]]
    return shlex.join([*words, "--layer", layer])


def unbuilt(report: Report) -> Missing:
    """The absence of what is read from the objects: code, constants, data, stack."""
    return Missing("not built yet", compile_command(report, "--build"), "reads it from the objects")


def unmeasured(report: Report, *, layers: bool = False) -> Missing:
    """The absence of a time of the whole network, or of each of its ``layers``."""
    if report["program"].get("firmware"):  # an emulator's times say nothing about the board
        counts = "of the flashed image counts a run"
        return Missing("not measured", "firmware_result.cycles", counts)
    if layers:
        return Missing("not measured yet", "edgeconv bench DIR --layers", "measures every layer")
    return Missing("not measured yet", "edgeconv bench DIR", "measures it")


def unmeasured_stack(report: Report) -> Missing:
    """The absence of the bytes of stack that a run takes."""
    if is_emulated(report):
        does = "measures it where an emulator boots the image"
        return Missing("not measured yet", "edgeconv verify DIR", does)
    return _not_emulated(report, "firmware_result.stack", "of the flashed image holds it")


def unverified(report: Report) -> Missing:
    """The absence of the errors of the outputs."""
    if is_emulated(report):
        return Missing("not verified yet", "edgeconv verify DIR", "compares with the model")
    words = ["edgeconv", "compile", report["model"]["file"], "--board", _PORTABLE_BOARD, "--verify"]
    return _not_emulated(
        report,
        shlex.join(words),
        "compares the same model in portable C; on the board a debugger reads what an image with "
        "-DFIRMWARE_SEMIHOSTING computes",
    )


def unsampled(report: Report) -> Missing:
    """The absence of what rounding costs where it was not measured on samples."""
    does = "measures it on samples of yours"
    if is_emulated(report):
        return Missing("not measured", _ON_SAMPLES, does)
    return _not_emulated(report, _CALIBRATED, f"{does}, not on the board")


def unlabelled(report: Report) -> Missing:
    """The absence of the share of right answers."""
    state = "not known without right answers"
    does = "counts them where the file has an array called label"
    if is_emulated(report):
        return Missing(state, _ON_SAMPLES, does)
    return Missing(state, _CALIBRATED, f"{does}, not on the board")


def is_emulated(report: Report) -> bool:
    """Whether its program runs beside the board; of firmware reports of earlier versions do not
    say, and are taken to do."""
    return bool(report["program"].get("emulated", True))


def _not_emulated(report: Report, command: str, does: str) -> Missing:
    return Missing(f"no emulator has board {report['board']}", command, does)


def unpredicted(report: Report, why: str | None = None) -> Missing:
    """The absence of what the board's numbers do not suffice for; ``why`` as the report has it."""
    command = shlex.join(["edgeconv", "boards", "show", report["board"]])
    return Missing(why or "not predicted", command, "shows what the board states")


def unmapped(report: Report) -> Missing:
    """The absence of what reports of earlier versions do not have."""
    return Missing("not in this report", compile_command(report), "writes a new one")
