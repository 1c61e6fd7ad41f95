"""``edgeconv compile``."""

from __future__ import annotations

import click

from edgeconv.cli import model_options
from edgeconv.cli.commands import Command
from edgeconv.cli.later import later
from edgeconv.cli.words import FOLDER, one_thread_option

command = Command(
    "compile",
    "compile a model to a C project",
    callback=later("edgeconv.cli.run.compiling:run"),
    params=[
        *model_options.parameters(),
        one_thread_option(),
        click.Option(
            ["-o", "--directory"],
            type=FOLDER,
            metavar="DIR",
            help="the project (./PREFIX)",
        ),
        click.Option(
            ["--build"], is_flag=True, help="compile the C too; code counts against --flash"
        ),
        click.Option(["--verify"], is_flag=True, help="build, run, and compare with the model"),
        click.Option(
            ["--selftest"],
            is_flag=True,
            help="add PREFIX_selftest to the library: weights, RAM, an inference of known result",
        ),
        click.Option(
            ["--report"],
            type=FOLDER,
            metavar="DIR",
            help="also write report.json, .txt and .html there",
        ),
    ],
)
