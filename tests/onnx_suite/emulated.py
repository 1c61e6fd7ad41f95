"""Cases on boards that this machine is not: each compiled to a project, which is built and run in
the board's emulator as `verify` does it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from edgeconv.app.pipeline import compile_model
from edgeconv.base.errors import EdgeconvError
from edgeconv.run.verify.data_dependent import as_found
from edgeconv.run.verify.inputs import write_tensors
from edgeconv.run.verify.program import run_program
from edgeconv.run.verify.texts import as_stored, readable
from tests.onnx_suite.cases import Array, Case
from tests.onnx_suite.outcomes import CRASH, PASS, WRONG, Outcome, difference, not_compiled


def outcomes(cases: Iterable[Case], folder: Path, board: str) -> Iterator[Outcome]:
    """Of each; ``folder`` is empty."""
    for number, case in enumerate(cases):
        yield _outcome(case, folder / f"c{number}", board)


def _outcome(case: Case, folder: Path, board: str) -> Outcome:
    folder.mkdir()
    options = case.options(folder, "net", board)
    try:
        project, _ = compile_model(options, folder / "project")
    except Exception as error:
        return not_compiled(case, error)
    try:
        binary = project.build(run_here=True)
        for given, made in case.data:
            feeds = case.feeds(given)
            given_ = {port.name: np.asarray(feeds[port.name]) for port in project.inputs}
            stored: dict[str, Array] = as_stored(given_, project.inputs)
            write_tensors(project.run_file, stored, project.inputs)
            found, _ = run_program(project, binary, inputs=project.run_file)
            there = readable(as_found(found, project.outputs), project.outputs)
            wanted = case.wanted(made)
            for (name, got), want in zip(there.items(), wanted.values(), strict=True):
                if wrong := difference(got, want, case):
                    return Outcome(case.name, WRONG, (f"{name}: {wrong}",))
    except EdgeconvError as error:
        return Outcome(case.name, CRASH, (str(error)[:300],))
    return Outcome(case.name, PASS)
