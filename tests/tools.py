"""Boards whose compiler and emulator are here; others are skipped by name."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import find_compiler, find_emulator
from edgeconv.target import board as boards
from edgeconv.target.board import Board

_BOOTED_IN_SHORT = "EM_ARM"  # machines whose boards every run of the tests boots in every way


def is_slow(name: str) -> bool:
    """Whether all but a few tests leave the board ``name`` to `make test-all`."""
    return boards.load(name).architecture.machine != _BOOTED_IN_SHORT


def booting(names: Iterable[str]) -> list[ParameterSet]:
    """Boards that a test boots, as its parameters: some in `make test-all` only."""
    return [pytest.param(name, marks=[pytest.mark.slow] if is_slow(name) else []) for name in names]


def available(name: str, *, to_run: bool = True) -> Board:
    """The board, or skip the test when its compiler, or the emulator that it runs in, is not
    here."""
    board = boards.load(name)
    try:
        find_compiler(board)
        if to_run:
            find_emulator(board)
    except EdgeconvError as error:
        pytest.skip(f"{name}: {error}")
    return board
