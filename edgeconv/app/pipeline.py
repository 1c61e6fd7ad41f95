"""What is done with a model and with a project: the stages, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from edgeconv.app.dataset_accuracy import try_on
from edgeconv.app.deciding import Decider, Decision, decide
from edgeconv.app.rounded_reference import RoundedReference, require_weights, stores
from edgeconv.app.writing import measured, within_budgets
from edgeconv.base.arguments import DEFAULT_TOLERANCE
from edgeconv.base.errors import UsageError
from edgeconv.base.output_folder.folder import check_target, working
from edgeconv.base.progress import Progress, no_progress
from edgeconv.base.real_path import real_path
from edgeconv.report import document, frontier
from edgeconv.report.document import Report
from edgeconv.report.explain import explain
from edgeconv.run import bench as timing
from edgeconv.run.build.project import Project
from edgeconv.run.inference import Arrays, infer
from edgeconv.run.verify import (
    Verification,
    bounds,
    compare_frames,
    compare_windows,
    decisions_of,
    explains,
    is_quantised,
    model_file,
    promised_error,
    verify,
)
from edgeconv.run.verify.judging import how
from edgeconv.search.budget.frontier import Point
from edgeconv.search.budget.tables import noise_of
from edgeconv.search.calibration.sqnr import Accuracy
from edgeconv.search.fitting import UnfitError
from edgeconv.search.options import CompileOptions
from edgeconv.target import board as boards
from edgeconv.target.board.team import most_threads

__all__ = [
    "CompileOptions",
    "Decision",
    "bench_project",
    "compile_model",
    "decide",
    "explain_model",
    "frontier_of",
    "run_project",
    "try_project",
    "verify_project",
]


def compile_model(
    options: CompileOptions,
    directory: Path,
    *,
    build: bool = False,
    pareto: bool = False,
    progress: Progress = no_progress,
) -> tuple[Project, tuple[str, ...]]:
    """Compile to ``directory``: the project, and the notes about the model for the user.

    ``build`` compiles the C as well and holds the size of the code against the flash budget: where
    that is exceeded, formats are chosen again for what the code leaves.  ``pareto``:
    the report has what `frontier_of` finds.  Raises EdgeconvError, and then ``directory`` is as it
    was: the model cannot be compiled, a budget is exceeded, the directory cannot be written, the C
    cannot be built.
    """
    check_target(real_path(directory))
    points = frontier_of(options, progress=progress)[0] if pareto else ()
    with Decider(options, progress) as decider:
        decided = within_budgets(decider, directory, progress, build=build)
    model_file.remember(decided.choice.graph.sha256, options.model)
    project = Project.open(directory)
    if pareto:
        report = frontier.with_frontier(project.report, points, _point_of(decided))
        project = project.write_report(report)
    return project, decided.notes


def _point_of(decided: Decision) -> Point | None:
    """Where the decisions are among those of `frontier_of`, None where their noise is not known."""
    accuracy = decided.report["accuracy"] or {}
    if "source" not in accuracy and (decided.options.storage or decided.options.float16):
        return None
    sqnr = accuracy.get("sqnr_db")
    return Point(
        decided.sizes.ram.total,
        decided.sizes.flash.total,
        decided.predicted.ms,
        decided.predicted.mj,
        0.0 if sqnr is None else noise_of(sqnr),
        {},
    )


def verify_project(
    directory: Path,
    *,
    model: Path | None = None,
    inputs: Path | None = None,
    steps: int | None = None,
    layers: bool = False,
    tolerance: float | None = None,
    ssh: str = "",
    progress: Progress = no_progress,
) -> Verification:
    """Build and run the project, compare it with its model, and note the error in its report.

    ``ssh``: where the board is that it runs on, "" for what the board's file says.
    ``steps``: how many runs of a network with states follow each other; None for some.
    ``tolerance``: of the difference from the model; by default what compile promised of Winograd's
    algorithm, else 1e-4.  Without one, a project that stores numbers in
    other formats than float32 is held to its `RoundedReference`, and one of a quantised model to
    the model layer by layer: what is left then is no rounding.  So are others where only outputs
    differ that depend on decisions, or that are no farther from float64 than the reference itself
    is.
    """
    with ExitStack() as stack:
        project = stack.enter_context(_working_on(directory, ssh))
        source = model_file.held_to(project, model, to_original=tolerance is not None)
        promised = promised_error(project) or DEFAULT_TOLERANCE
        limit = promised if tolerance is None else tolerance
        rounded = tolerance is None and stores(project)
        rounded_reference = (
            stack.enter_context(RoundedReference(project, source, progress)) if rounded else None
        )
        held_by_layer = tolerance is None and not rounded and is_quantised(project)
        if held_by_layer:
            progress("comparing the weights")
            require_weights(project, source)
        run = partial(
            verify,
            project,
            source,
            inputs=inputs,
            steps=steps,
            layers=layers,
            tolerance=limit,
            progress=progress,
        )
        result = run(rounded_reference=rounded_reference, held_by_layer=held_by_layer)
        if not (result.passed or held_by_layer or rounded_reference) and tolerance is None:
            found = decisions_of(project, source)
            bounded = explains(found, result.larger, bounds.TOLERANCE)
            if bounded and explains(found, result.apart, limit):
                progress("comparing layer by layer: outputs depend on decisions")
                result = replace(run(decided=found), opinion=result.opinion)
            elif result.enlarges_rounding:
                progress("comparing layer by layer: the network enlarges rounding")
                result = replace(run(held_by_layer=True), opinion=result.opinion)
        if "stream" in project.report["model"]:
            whole = model_file.of_window(project, model)
            windows = compare_windows(project, whole, source, limit, progress)
            result = replace(result, windows=windows)
        if "preprocess" in project.report["model"] and not project.states:
            original, made = model_file.find(project, model), model_file.of_program(project, model)
            frames = compare_frames(project, original, made, progress)
            result = replace(result, frames=frames)
        report = project.report if layers else measured(project)
        project.write_report(document.with_accuracy(report, result))
    return result


def try_project(
    directory: Path,
    samples: Path,
    *,
    model: Path | None = None,
    ssh: str = "",
    progress: Progress = no_progress,
) -> tuple[Accuracy, str, Report]:
    """Run the project on all samples of an .npz file: its accuracy, how it ran, and the limits that
    it was compiled for (``choice`` of its report).  ``ssh``: as in `verify_project`."""
    with _working_on(directory, ssh) as project:
        if project.states:
            raise UsageError(
                "--samples",
                where=str(directory),
                rule="samples are single runs, and the network keeps states from run to run",
                hint="verify --inputs X.npz takes a sequence: arrays with an axis of time in front",
            )
        found, ran = try_on(project, model_file.of_program(project, model), samples, progress)
    return found, ran, project.report.get("choice", {})


def run_project(
    directory: Path,
    samples: Sequence[Arrays],
    *,
    ssh: str = "",
    progress: Progress = no_progress,
) -> tuple[list[Arrays], str]:
    """The outputs of the project for each of ``samples`` (`run.inference.converted`), by name, and
    how it ran.  ``ssh``: as in `verify_project`."""
    with _working_on(directory, ssh) as project:
        found, binary = infer(project, samples, progress)
    return found, how(binary, project.report["board"])


def bench_project(
    directory: Path,
    *,
    runs: int,
    threads: int | None = None,
    layers: bool = False,
    ssh: str = "",
    progress: Progress = no_progress,
) -> timing.Timing:
    """Build and time the project, and note the times in its report.

    ``threads``: those that it must have been compiled for; None for any.  ``ssh``: as in
    `verify_project`.
    """
    with _working_on(directory, ssh) as project:
        timing.require_threads(project, threads)
        result = timing.bench(project, runs=runs, layers=layers, progress=progress)
        report = project.report if layers else measured(project)
        project.write_report(document.with_times(report, result))
    return result


def explain_model(
    options: CompileOptions,
    *,
    layer: str = "",
    threads: int | None = None,
    progress: Progress = no_progress,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The choices for a model, and the notes about it; writes nothing.

    ``layer``: only this one, by name or number.  ``threads``: how so many cores share each layer,
    where the board has as many, and the bounds on what one of so many processors moves.
    """
    most = most_threads(boards.load(options.board))
    if threads and (most is None or threads <= most):
        options = replace(options, threads=threads)
    with Decider(options, progress) as decider:
        try:
            decided = decider.decide()
        except UnfitError:  # what takes the bytes is what the user wants to see
            decided = decider.plain()
    progress("comparing with the lower bounds")
    explained = explain(
        decided.choice, decided.memory, decided.report, decided.board.target, layer, threads
    )
    return explained, decided.notes


def frontier_of(
    options: CompileOptions, *, progress: Progress = no_progress
) -> tuple[tuple[Point, ...], str]:
    """Choices of storage formats of which none is better in every respect, and the model's name.

    Budgets and --min-sqnr hold for all of them.  Raises EdgeconvError as `decide`.
    """
    with Decider(options, progress) as decider:
        return decider.frontier(), decider.graph.name


@contextmanager
def _working_on(directory: Path, ssh: str = "") -> Iterator[Project]:
    """The project in ``directory``, which no other edgeconv changes meanwhile."""
    Project.open(directory)  # it is one: only then is there something to lock
    with working(directory):
        yield Project.open(directory, ssh=ssh)
