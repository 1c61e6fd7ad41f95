"""``edgeconv boards`` and its sub-commands."""

from __future__ import annotations

from pathlib import Path

import click

from edgeconv import board as board_files
from edgeconv.board.catalogue import load_all
from edgeconv.build.board_trial import try_flags
from edgeconv.cli.commands import Command, Group
from edgeconv.cli.words import BOARD, FILE, TEXT
from edgeconv.errors import Exit
from edgeconv.machine import new_board
from edgeconv.report import boards as tables
from edgeconv.report import new_board as new_tables
from edgeconv.terminal import Progress, say, show


def list_all(*, as_json: bool) -> Exit:
    """All boards, and which files describe none."""
    found = load_all()
    documents = [tables.board_json(board) for board in found.boards]
    show(tables.board_table(found.boards), documents, as_json=as_json)
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
    show(tables.checked(board), tables.board_json(board), as_json=as_json)
    return Exit.OK


def new(*, name: str, output: Path | None, as_json: bool) -> Exit:
    """Measure the machine, and write its file."""
    with Progress() as step:
        found = new_board(name, output, step=step)
    show(new_tables.render(found), new_tables.to_json(found), as_json=as_json)
    return Exit.OK


@click.pass_context
def _group(context: click.Context, *, as_json: bool) -> Exit:
    return Exit.OK if context.invoked_subcommand else list_all(as_json=as_json)


command = Group(
    "boards",
    "the boards that can be compiled for",
    callback=_group,
    subcommand_metavar="[ACTION ...]",
)
for action in (
    Command("list", "all of them", callback=list_all),
    Command(
        "show",
        "everything about one board",
        callback=show_one,
        params=[click.Argument(["name"], type=BOARD, metavar="NAME")],
    ),
    Command(
        "check",
        "check a board file against the schema",
        callback=check,
        params=[click.Argument(["file"], type=FILE, metavar="FILE")],
    ),
    Command(
        "new",
        "measure this machine and write it as a board file",
        callback=new,
        params=[
            click.Argument(["name"], type=TEXT, metavar="NAME"),
            click.Option(["-o", "--output"], type=FILE, metavar="FILE", help="(./NAME.toml)"),
        ],
    ),
):
    command.add_command(action)
