"""Boards whose compiler and emulator are here; others are skipped by name."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import find_compiler
from edgeconv.run.build.sibling import runs_somewhere
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind

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
            runs_somewhere(board)
    except EdgeconvError as error:
        pytest.skip(f"{name}: {error}")
    return board


def _least_use(board: Board) -> tuple[bool, int, str]:
    return board.run.kind is RunKind.NONE, -(board.ram_bytes or 0), board.name


def representatives(names: Iterable[str]) -> list[str]:
    """Of boards for which one compiler makes programs of the same kernels, one: of those that run
    here, or else only build, that with the most memory.  Tests compile for these, and hold the
    others to what is their own."""
    found: dict[tuple[object, ...], str] = {}
    for board in sorted(map(boards.load, names), key=_least_use):
        kind = None if board.bare_metal else board.run.kind
        core = (board.isa, board.flags, board.target.features, board.in_order, kind)
        found.setdefault((*core, board.toolchain.cc[0]), board.name)
    return sorted(found.values())
