"""What becomes of a file that a quantiser wrote: compiled for a board, and beside its runtime."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import edgeconv
from edgeconv.app.pipeline import compile_model, verify_project
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.requantisation import EXACT, TFLITE
from edgeconv.search.options import CompileOptions
from quantising.answers import difference, load
from quantising.tools import answers_path

NOT_WRITTEN = "not written"


@dataclass(frozen=True)
class Outcome:
    """What becomes of one file.  ``layers``: computed in integers, of all with
    multiply-accumulates; ``share``: of these, in per cent.  ``milliseconds``: None where nothing is
    predicted.  ``refused``: why there is no program, "" where there is one.  ``verified``: what
    verify finds of the program, "" where it was not asked."""

    layers: tuple[int, int] = (0, 0)
    share: int = 0
    milliseconds: float | None = None
    ram: int = 0
    refused: str = ""
    verified: str = ""

    def cell(self) -> str:
        """As a cell of the table."""
        if self.refused:
            return self.refused
        time = "" if self.milliseconds is None else f", {self.milliseconds:.1f} ms"
        verified = f"; {self.verified}" if self.verified else ""
        done, of = self.layers
        return f"{done} of {of}, {self.share} %{time}, {self.ram:,}{verified}"


def outcome_of(report: Mapping[str, Any]) -> Outcome:
    """What the report of a compiled network says."""
    found = report.get("integers") or {"layers": 0, "of_layers": 0, "macs": 0, "of_macs": 0}
    times = [layer["predicted_ms"] for layer in report["layers"]]
    known = all(time is not None for time in times)
    return Outcome(
        layers=(found["layers"], found["of_layers"]),
        share=100 * found["macs"] // max(1, found["of_macs"]),
        milliseconds=sum(times) if known else None,
        ram=report["ram"]["total"],
    )


def compiled(model: Path, board: str, *, verify: bool) -> Outcome:
    """What becomes of a file, or why there is no program; ``verify``: the program runs, too,
    emulated where the board is not here."""
    if model.suffix == ".failed":
        return Outcome(refused=NOT_WRITTEN)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "net"
        try:
            options = CompileOptions(model, board, requantise=_way_of(model))
            project, _ = compile_model(options, target, build=verify)
        except EdgeconvError as error:
            return Outcome(refused=f"refused: {error.what}")
        found = outcome_of(project.report)
        if not verify:
            return found
        try:
            verified = "equal" if verify_project(target).passed else "differs"
        except EdgeconvError as error:
            verified = f"not verified: {error.what}"
    return Outcome(**{**vars(found), "verified": verified})


def _way_of(model: Path) -> str:
    """Dynamic range files of TensorFlow Lite leave it to the engine how layers are computed."""
    dynamic = model.suffix == ".tflite" and model.name.split(".")[1] == "dynamic"
    return TFLITE if dynamic else EXACT


@dataclass(frozen=True)
class Apart:
    """How far a program of this machine is from a runtime, over all runs: ``most`` in steps of the
    output's grid, or absolute where it has none; ``share`` of the numbers that differ.
    ``refused``: why they were not compared, "" where they were."""

    most: float = 0.0
    share: float = 0.0
    in_steps: bool = False
    refused: str = ""

    def cell(self) -> str:
        """As a cell of the table."""
        if self.refused:
            return self.refused
        if not self.share:
            return "equal"
        unit = f" step{'s' * (round(self.most) > 1)}" if self.in_steps else ""
        return f"{self.most:.2g}{unit}, {100 * self.share:.2g} %"


def beside_runtime(model: Path, runtime: str, requantise: str) -> Apart:
    """How far the program of a file, with ``requantise``, is from what lies beside it of the
    runtime."""
    if model.suffix == ".failed":
        return Apart(refused=NOT_WRITTEN)
    answers = answers_path(model, runtime)
    if not answers.exists():
        said = answers.with_suffix(".refused")
        return Apart(refused="runtime refuses" if said.exists() else "not run")
    runs = load(answers)
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = edgeconv.compile(model, "host", Path(folder) / "net", requantise=requantise)
            made = program.run_all([_named(program.inputs, given) for given, _ in runs])
        except EdgeconvError as error:
            return Apart(refused=f"refused: {error.what}")
    spacing = {port.name: port.spacing for port in program.outputs}
    wanted = [_named(program.outputs, out) for _, out in runs]
    return Apart(*difference(made, wanted, spacing))


def _named(ports: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors under the names that the program has for them: runtimes may have others."""
    return dict(zip((port.name for port in ports), given.values(), strict=True))
