"""``edgeconv compile``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from edgeconv.app import pipeline
from edgeconv.app.cli.run.compile_options import compile_options
from edgeconv.app.terminal import ProgressDisplay, say, show
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.base.real_path import real_path
from edgeconv.report import files, text
from edgeconv.run.build.project import Project
from edgeconv.run.build.sibling import runs_somewhere
from edgeconv.target import board as boards


def run(
    *,
    directory: Path | None,
    build: bool,
    verify: bool,
    report: Path | None,
    require_int8: bool,
    bound_cycles: bool,
    max_cycles: int | None,
    pareto: bool,
    selftest: bool,
    model_version: str | None,
    as_json: bool,
    **given: Any,
) -> Exit:
    """Compile, and build and verify where that is asked for."""
    options = replace(
        compile_options(**given),
        require_int8=require_int8,
        selftest=selftest,
        model_version=model_version or "",
        bound_cycles=bound_cycles,
        max_cycles=max_cycles,
    )
    build = build or verify or bound_cycles or max_cycles is not None
    directory = directory or Path(options.prefix)
    if report and real_path(report) != real_path(directory):
        files.check(report)  # before anything long
    unable = _unable(options.board) if verify else None
    if unable:
        say(f"note: {unable.one_line()}: it will be built, and not verified")
    with ProgressDisplay() as progress:
        _, notes = pipeline.compile_model(
            options, directory, build=build, pareto=pareto, progress=progress
        )
    for note in notes:
        say(f"note: {note}")
    if verify and not unable:
        unable = _verified(directory, options.model)
    written = Project.open(directory).report
    if report:
        files.write(written, report)
    failed = {"error": unable.to_json()} if unable else {}
    show(text.compiled(written, directory), {**written, **failed}, as_json=as_json)
    if unable:
        say(f"error: {unable.one_line()}", *unable.details)
    return unable.code if unable else Exit.OK


def _unable(board: str) -> EdgeconvError | None:
    """Why a program of the board cannot be verified here, before anything is compiled."""
    try:
        runs_somewhere(boards.load(board))
    except EdgeconvError as error:
        if error.code is not Exit.MISSING_TOOL:
            raise
        return error
    return None


def _verified(directory: Path, model: Path) -> EdgeconvError | None:
    """Why the project does not pass; what is known of it is worth printing all the same."""
    try:
        with ProgressDisplay() as progress:
            result = pipeline.verify_project(directory, model=model, progress=progress)
    except EdgeconvError as error:
        return error
    if result.passed:
        return None
    what = "the program differs from the model"
    if result.beyond_stack:
        what = "the stack goes beyond its bound"
    return EdgeconvError(what, rule=result.one_line())
