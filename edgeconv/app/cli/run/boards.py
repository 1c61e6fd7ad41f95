"""``edgeconv boards`` and ``edgeconv doctor``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from edgeconv.app.terminal import ProgressDisplay, say, show, show_lines
from edgeconv.base.errors import Exit, UsageError
from edgeconv.report import board_index
from edgeconv.report import boards as tables
from edgeconv.run import doctor
from edgeconv.run.build.board_check import try_flags
from edgeconv.run.machine import board_of_device, new_board
from edgeconv.target import board as board_files
from edgeconv.target.board.catalogue import Catalogue, load_all
from edgeconv.target.host import running

_NO_ARCH = ""  # of a machine on which every board is another one


def list_all(*, as_json: bool, markdown: bool = False) -> Exit:
    """All boards, and which files describe none; with ``markdown`` those that are no running
    machine."""
    if markdown:
        found = load_all(replace(running(), arch=_NO_ARCH))
        foreign = [board for board in found.boards if board.arch != _NO_ARCH]
        show_lines(
            board_index.markdown(foreign),
            [tables.board_json(board) for board in foreign],
            as_json=as_json,
        )
        return _complained(found)
    found = load_all()
    documents = [tables.board_json(board) for board in found.boards]
    show(tables.board_table(found.boards), documents, as_json=as_json)
    return _complained(found)


def diagnose(*, as_json: bool) -> Exit:
    """What there is of tools, and which boards they are enough for."""
    with ProgressDisplay() as progress:
        progress("looking for tools")
        known = load_all()
        checks, boards = doctor.diagnose(known.boards), doctor.diagnose_boards(known.boards)
    show(tables.diagnosis(checks, boards), tables.diagnosis_json(checks, boards), as_json=as_json)
    return _complained(known)


def _complained(found: Catalogue) -> Exit:
    """Says what is wrong with files that describe no board."""
    for error in found.invalid:
        say(f"error: {error.one_line()}", *error.details)
    return found.status


def show_one(*, name: str, as_json: bool) -> Exit:
    """One board."""
    board = board_files.load(name)
    show(tables.board_details(board), tables.board_json(board), as_json=as_json)
    return Exit.OK


def check(*, file: Path, as_json: bool) -> Exit:
    """A board file against the schema."""
    board = board_files.check_new(file)
    try_flags(board)
    show(tables.checked(board), tables.checked_json(board), as_json=as_json)
    return Exit.OK


def new(
    *, name: str, output: Path | None, mcu: str | None, pack: Path | None, as_json: bool
) -> Exit:
    """Measure the machine, or read what a pack says of a device, and write its file."""
    if (mcu is None) != (pack is None):
        raise UsageError("--mcu and --pack go together", hint="a pack says what a device has")
    if mcu is not None and pack is not None:
        board = board_of_device(name, mcu, pack, output)
        document = {"file": str(board.path), **tables.checked_json(board)}
        show(tables.checked(board), document, as_json=as_json)
        return Exit.OK
    with ProgressDisplay() as progress:
        found = new_board(name, output, progress=progress)
    show(tables.new_board(found), tables.new_board_json(found), as_json=as_json)
    return Exit.OK
