"""Boards whose compiler and emulator are here; others are skipped by name."""

from __future__ import annotations

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import find_compiler, find_emulator
from edgeconv.target import board as boards
from edgeconv.target.board import Board


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
