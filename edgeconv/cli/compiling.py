"""``edgeconv compile``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from edgeconv import pipeline
from edgeconv.arguments import one_thread
from edgeconv.build.project import Project
from edgeconv.cli import model_options
from edgeconv.cli.commands import Command
from edgeconv.cli.words import FOLDER, Word
from edgeconv.errors import Exit
from edgeconv.report import files, text
from edgeconv.terminal import Progress, say, show


def run(
    *,
    directory: Path | None,
    build: bool,
    verify: bool,
    report: Path | None,
    selftest: bool,
    as_json: bool,
    **asked: Any,
) -> Exit:
    """Compile, and build and verify where that is asked for."""
    wanted = replace(model_options.wanted(**asked), selftest=selftest)
    directory = directory or Path(wanted.prefix)
    if report and report.resolve() != directory.resolve():
        files.check(report)  # before anything long
    with Progress() as step:
        project, notes = pipeline.compile_model(wanted, directory, build=build or verify, step=step)
    for note in notes:
        say(f"note: {note}")
    written, passed = project.report, True
    if verify:
        with Progress() as step:
            result = pipeline.verify_project(directory, model=wanted.model, step=step)
        written, passed = Project.open(directory).report, result.passed
        if not passed:
            say("error: the program differs from the model", result.one_line())
    if report:
        files.write(written, report)
    show(text.compiled(written, directory), written, as_json=as_json)
    return Exit.OK if passed else Exit.UNSATISFIED


command = Command(
    "compile",
    "compile a model to a C project",
    callback=run,
    params=[
        *model_options.parameters(),
        click.Option(
            ["--threads"],
            type=Word(one_thread),
            default=1,
            expose_value=False,
            metavar="N",
            help="1 in this version",
        ),
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
