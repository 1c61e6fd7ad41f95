"""``edgeconv boards`` and its sub-commands."""

from __future__ import annotations

import click

from edgeconv.cli.commands import Command, Group
from edgeconv.cli.later import later
from edgeconv.cli.words import BOARD, FILE, TEXT
from edgeconv.errors import Exit

_list_all = later("edgeconv.cli.run.boards:list_all")


@click.pass_context
def _group(context: click.Context, *, as_json: bool) -> Exit:
    return Exit.OK if context.invoked_subcommand else Exit(_list_all(as_json=as_json))


command = Group(
    "boards",
    "the boards that can be compiled for",
    callback=_group,
    subcommand_metavar="[ACTION ...]",
)
for action in (
    Command("list", "all of them", callback=_list_all),
    Command(
        "show",
        "everything about one board",
        callback=later("edgeconv.cli.run.boards:show_one"),
        params=[click.Argument(["name"], type=BOARD, metavar="NAME")],
    ),
    Command(
        "check",
        "check a board file against the schema",
        callback=later("edgeconv.cli.run.boards:check"),
        params=[click.Argument(["file"], type=FILE, metavar="FILE")],
    ),
    Command(
        "new",
        "measure this machine and write it as a board file",
        callback=later("edgeconv.cli.run.boards:new"),
        params=[
            click.Argument(["name"], type=TEXT, metavar="NAME"),
            click.Option(["-o", "--output"], type=FILE, metavar="FILE", help="(./NAME.toml)"),
        ],
    ),
):
    command.add_command(action)
