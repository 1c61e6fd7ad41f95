"""``edgeconv explain``."""

from __future__ import annotations

import click

from edgeconv.arguments import count
from edgeconv.cli import model_options
from edgeconv.cli.commands import Command
from edgeconv.cli.later import later
from edgeconv.cli.words import FILE, TEXT, Word

command = Command(
    "explain",
    "every choice and the numbers behind it",
    callback=later("edgeconv.cli.run.explaining:run"),
    params=[
        *model_options.parameters(),
        click.Option(
            ["--layer"],
            type=TEXT,
            default="",
            metavar="L",
            help="this one only, by name or number",
        ),
        click.Option(
            ["--pareto"],
            is_flag=True,
            help="what storage formats trade: RAM, flash, predicted time and SQNR",
        ),
        click.Option(["--html"], type=FILE, metavar="FILE", help="draw what --pareto prints"),
        click.Option(
            ["--threads"],
            type=Word(count),
            metavar="P",
            help="bounds on what one of P processors moves, too",
        ),
    ],
)
