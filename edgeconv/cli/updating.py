"""``edgeconv update-weights``."""

from __future__ import annotations

import click

from edgeconv.cli.commands import Command
from edgeconv.cli.later import later
from edgeconv.cli.words import FILE, FOLDER

command = Command(
    "update-weights",
    "put the weights of a model that was trained anew into a project",
    callback=later("edgeconv.cli.run.updating:run"),
    params=[
        click.Argument(["directory"], type=FOLDER, metavar="DIR"),
        click.Argument(["model"], type=FILE, metavar="NEW.onnx"),
        click.Option(
            ["-o", "--output"],
            type=FILE,
            metavar="FILE",
            help="write the image there, to be sent to devices, and leave the project as it is",
        ),
    ],
)
