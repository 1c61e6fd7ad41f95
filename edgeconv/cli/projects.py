"""The commands that work on a compiled project: ``verify``, ``bench``, ``report``."""

from __future__ import annotations

import click

from edgeconv.arguments import DEFAULT_RUNS, DEFAULT_TOLERANCE, count, tolerance
from edgeconv.cli.commands import Command
from edgeconv.cli.later import later
from edgeconv.cli.words import FILE, FOLDER, Word, one_thread_option


def _directory() -> click.Parameter:
    return click.Argument(["directory"], type=FOLDER, metavar="DIR")


_VERIFY = Command(
    "verify",
    "build and run a project, and compare it with its model",
    callback=later("edgeconv.cli.run.projects:verify"),
    params=[
        _directory(),
        click.Option(["--inputs"], type=FILE, metavar="X.npz", help="instead of seeded ones"),
        click.Option(
            ["--samples"],
            type=FILE,
            metavar="X.npz",
            help="measure SQNR and, by an array `label`, top-1 on these inputs",
        ),
        click.Option(["--layers"], is_flag=True, help="compare every layer"),
        click.Option(["--model"], type=FILE, metavar="MODEL.onnx", help="if it has moved"),
        click.Option(
            ["--tolerance"],
            type=Word(tolerance),
            metavar="R",
            help=f"largest error over largest output ({DEFAULT_TOLERANCE}; where weights are "
            "rounded, by default against the same network with such weights)",
        ),
    ],
)
_BENCH = Command(
    "bench",
    "time a project on this machine",
    callback=later("edgeconv.cli.run.projects:bench"),
    params=[
        _directory(),
        click.Option(
            ["--runs"],
            type=Word(count),
            default=DEFAULT_RUNS,
            metavar="N",
            help=f"({DEFAULT_RUNS})",
        ),
        one_thread_option(),
        click.Option(["--layers"], is_flag=True, help="time every layer"),
    ],
)
_REPORT = Command(
    "report",
    "memory and time of a project, per layer, or of two side by side",
    callback=later("edgeconv.cli.run.projects:report"),
    params=[
        _directory(),
        click.Argument(["other"], type=FOLDER, required=False, metavar="[DIR]"),
        click.Option(
            ["--html"],
            type=FILE,
            metavar="FILE",
            help="write one page that works offline instead of printing",
        ),
    ],
)
commands = (_VERIFY, _BENCH, _REPORT)
