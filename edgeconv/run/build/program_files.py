"""Files that a program reads and writes, whatever machine it runs on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgeconv.base.errors import EdgeconvError


class PlaceError(EdgeconvError):
    """What a program was to run on cannot be used: it says nothing about the program."""


def still_running(where: str, seconds: float) -> PlaceError:
    """The error of a program that does not end: ours do, wherever they run."""
    return PlaceError("the program failed", where=where, got=f"still running after {seconds:g} s")


@dataclass(frozen=True, slots=True)
class InputFile:
    """An argument: the path of a file of this machine that the program reads."""

    path: Path


@dataclass(frozen=True, slots=True)
class OutputFile:
    """An argument: the path of a file that the program writes, and that is to be on this machine
    afterwards."""

    path: Path


Argument = str | InputFile | OutputFile


def as_here(arguments: Sequence[Argument]) -> list[str]:
    """The words for a program of this machine."""
    return [word if isinstance(word, str) else str(word.path.resolve()) for word in arguments]
