"""``edgeconv update-weights``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from edgeconv.app.cli.model_options import model_options
from edgeconv.app.cli.program import COMPILE
from edgeconv.app.cli.run.compile_options import compile_options
from edgeconv.app.deciding.preprocess_model import SETTINGS_ENDING
from edgeconv.app.terminal import ProgressDisplay, say, show
from edgeconv.app.updating import update_weights
from edgeconv.base.errors import EdgeconvError, Exit, UsageError
from edgeconv.kernels.storage import formats
from edgeconv.model.frontend.initial_states import OPTION as INITIAL_STATES
from edgeconv.run.build.project import Project
from edgeconv.search.choose.storage import INSERTED, OUTPUT
from edgeconv.search.options import CompileOptions


def run(*, directory: Path, model: Path, output: Path | None, as_json: bool) -> Exit:
    """The new image, where the program is the same."""
    options = _options(Project.open(directory), model)
    with ProgressDisplay() as progress:
        done = update_weights(directory, options, output=output, progress=progress)
    for note in done.notes:
        say(f"note: {note}")
    text = f"weights of {model.name}: {done.header.size:,} bytes, layout "
    text += f"{done.header.layout_hash:016x} as before, in {done.path}"
    show(text, done.to_json(), as_json=as_json)
    return Exit.OK


def _options(project: Project, model: Path) -> CompileOptions:
    """What the project was compiled with, for another model.

    Storage formats stay where samples or budgets chose them.
    """
    try:
        _, _, *words = shlex.split(project.report["program"]["command"])
    except (KeyError, ValueError) as error:
        raise _unknown(project) from error
    words = _beside([str(model), *words[1:]], model)
    try:
        given: dict[str, Any] = COMPILE.make_context("compile", words).params
    except (ValueError, EdgeconvError, click.ClickException) as error:
        raise _unknown(project) from error
    # Of compile.
    alone = ("selftest", "threads", "resumable", "states_apart", "bound_cycles", "max_cycles")
    beside = {name: given[name] for name in alone}
    beside["model_version"] = given["model_version"] or ""
    given = {option.name: given[option.name] for option in model_options()}
    chosen = "choice" in project.report or bool(given["calibration"] or given["int8"])
    if chosen:
        given |= {
            "calibration": None,
            "int8": None,
            "metric": None,
            "min_sqnr": None,
            "max_drop": None,
        }
        given["objective"] = project.report.get("choice", given).get("objective")
        given["storage"] = dict(_formats(project.report["layers"]))
    if given["preprocess"]:  # as it was then
        given["preprocess"] = project.directory / f"{project.name}{SETTINGS_ENDING}"
    options = compile_options(**given)
    return replace(options, name=project.name, **beside)


def _unknown(project: Project) -> EdgeconvError:
    return EdgeconvError(
        "cannot tell how the project was compiled",
        where=str(project.directory),
        rule="report.json has no command that this edgeconv understands",
        hint="compile the model again",
    )


def _beside(words: list[str], model: Path) -> list[str]:
    """``words`` of a command with the file of initial states where it lies: beside the new model,
    or in this folder.  Raises EdgeconvError (exit status 2) where it does not."""
    if INITIAL_STATES not in words:
        return words
    at = words.index(INITIAL_STATES) + 1
    paths = (model.parent / words[at], Path(words[at]))
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise UsageError(
            f"{INITIAL_STATES} {words[at]}",
            where=str(model.parent),
            rule="the project was compiled with this file, which is not there",
            hint="put it beside the new model",
        )
    return [*words[:at], str(path), *words[at + 1 :]]


def _formats(layers: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """As --storage takes them, of the layers whose numbers are rounded."""
    for layer in layers:
        stored = layer["storage"]
        if stored["weights"] in formats() and not stored.get("exact"):
            yield layer["name"], stored["weights"]
        if stored["output"] in formats() and layer["op"] not in INSERTED:
            yield f"{layer['name']}{OUTPUT}", stored["output"]
