"""The commands that work on a compiled project: ``verify``, ``bench``, ``report``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from edgeconv.app import pipeline
from edgeconv.app.terminal import ProgressDisplay, say, show
from edgeconv.base.errors import Exit
from edgeconv.report import accuracy, compare, files, outcome, outcome_json, text, timing
from edgeconv.report.against import text as side_by_side
from edgeconv.report.against.figures import of_report
from edgeconv.report.against.reading import figures_at
from edgeconv.run.build.project import Project


def verify(
    *,
    directory: Path,
    inputs: Path | None,
    samples: Path | None,
    steps: int | None,
    layers: bool,
    model: Path | None,
    tolerance: float | None,
    ssh: str,
    as_json: bool,
) -> Exit:
    """Compare with the model, or measure accuracy on samples."""
    if samples:
        return _try(directory, samples, model, ssh, as_json=as_json)
    with ProgressDisplay() as progress:
        result = pipeline.verify_project(
            directory,
            model=model,
            inputs=inputs,
            steps=steps,
            layers=layers,
            tolerance=tolerance,
            ssh=ssh,
            progress=progress,
        )
    show(outcome.verification(result), outcome_json.verification_json(result), as_json=as_json)
    return Exit.OK if result.passed else Exit.UNSATISFIED


def _try(directory: Path, samples: Path, model: Path | None, ssh: str, *, as_json: bool) -> Exit:
    with ProgressDisplay() as progress:
        found, ran, limits = pipeline.try_project(
            directory, samples, model=model, ssh=ssh, progress=progress
        )
    missed = accuracy.misses(found, limits)
    document = accuracy.accuracy_json(found, ran, passed=not missed)
    show(accuracy.tried(found, ran), document, as_json=as_json)
    for note in accuracy.unchecked(found, limits):
        say(f"note: {note}")
    if missed:
        say("error: the program is less accurate than it was compiled to be", *missed)
    return Exit.UNSATISFIED if missed else Exit.OK


def bench(
    *, directory: Path, runs: int, threads: int | None, ssh: str, layers: bool, as_json: bool
) -> Exit:
    """Time the program."""
    with ProgressDisplay() as progress:
        result = pipeline.bench_project(
            directory, runs=runs, threads=threads, layers=layers, ssh=ssh, progress=progress
        )
    show(timing.timing(result), timing.timing_json(result), as_json=as_json)
    return Exit.OK


def report(
    *,
    directory: Path,
    other: Path | None,
    against: Sequence[Path],
    html: Path | None,
    as_json: bool,
) -> Exit:
    """Show what report.json holds, or what two of them do, or what other tools need."""
    if against:
        folders = [each for each in (directory, other) if each]
        return _against(folders, against, html, as_json)
    found = Project.open(directory).report
    if other:
        return _compared(found, Project.open(other).report, (directory, other), html, as_json)
    shown: RenderableType = text.render(found)
    if html:
        files.write_html(found, html)
        shown = f"report: {escape(str(html))}"
    show(shown, found, as_json=as_json)
    return Exit.OK


def _against(
    folders: Sequence[Path], files_given: Sequence[Path], html: Path | None, as_json: bool
) -> Exit:
    programs = [of_report(Project.open(each).report, str(each)) for each in folders]
    programs += [figures_at(path) for path in files_given]
    shown = side_by_side.render(programs)
    if html:
        files.write_against(programs, html)
        shown = f"report: {escape(str(html))}"
    show(shown, side_by_side.to_json(programs), as_json=as_json)
    return Exit.OK


def _compared(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    folders: tuple[Path, Path],
    html: Path | None,
    as_json: bool,
) -> Exit:
    names = str(folders[0]), str(folders[1])
    shown = compare.render(first, second, names)
    if html:
        files.write_compared(first, second, html, names=names)
        shown = f"report: {escape(str(html))}"
    show(shown, compare.to_json(first, second), as_json=as_json)
    return Exit.OK
