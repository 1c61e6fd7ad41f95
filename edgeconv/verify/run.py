"""Build a project, run it, and compare what it computes with the original model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.arguments import DEFAULT_TOLERANCE
from edgeconv.board import RunKind
from edgeconv.build import find_emulator
from edgeconv.build.compile import Binary
from edgeconv.build.firmware import RESET, worst_stack
from edgeconv.build.loading import graph_of
from edgeconv.build.project import Project
from edgeconv.errors import EdgeconvError
from edgeconv.frontend import Cut, reference_beside, reference_outputs
from edgeconv.ir.candidate import EXACTLY
from edgeconv.ir.decisions import Decisions
from edgeconv.progress import Tell, nobody
from edgeconv.verify import bounds
from edgeconv.verify import layers as by_layer
from edgeconv.verify.compare import Difference, assumed_spacing, compare
from edgeconv.verify.counted import alike, as_found, filled, uncounted
from edgeconv.verify.decided import in_front_of
from edgeconv.verify.exact import expected
from edgeconv.verify.exact.value import Value
from edgeconv.verify.inputs import from_npz, seeded, tensor_bytes
from edgeconv.verify.layers import LayerResult
from edgeconv.verify.leftovers import Unwritten, run_from_garbage
from edgeconv.verify.pieces import Pieces, compare_pieces
from edgeconv.verify.program import Outputs
from edgeconv.verify.sizes import explained
from edgeconv.verify.stored import Twin, compare_beside

_STACK = re.compile(r"^stack ([0-9]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Verification:
    """Outcome.  ``runtime`` computed the reference; ``ran`` is "natively" or names the emulator.

    ``layers`` is empty unless they were asked for.  ``rounded``: where weights are rounded, the
    outputs against those of the same network with such weights in float32, which tell a rounded
    weight from a defect; empty where the outputs themselves are judged.  ``pieces``: of a quantised
    network, every layer against the model from the numbers that the layer read; then these are
    judged.  ``stack_bytes``: the most that the stack held, where the program measures it, as
    firmware does; ``stack_bound``: what it may hold at most.  ``promised``: the error at the
    outputs that compile promised, of a program with layers by minimal filtering.  ``unwritten``:
    the outputs that depend on what memory held before the run, of ``runs`` from other bytes each.
    ``larger``: outputs of larger inputs, which reach bounds (`bounds`), where these were run.
    """

    outputs: tuple[Difference, ...]
    layers: tuple[LayerResult, ...]
    tolerance: float
    runtime: str
    ran: str
    rounded: tuple[Difference, ...] = ()
    stack_bytes: int | None = None
    stack_bound: int | None = None
    pieces: Pieces | None = None
    promised: float | None = None
    read: tuple[Difference, ...] = ()
    unwritten: tuple[Unwritten, ...] = ()
    runs: int = 1
    larger: tuple[Difference, ...] = ()

    @property
    def passed(self) -> bool:
        """Everything that is judged is within the tolerance, and depends on the inputs alone."""
        if self.unwritten or self.beyond_bounds:
            return False
        if self.pieces:
            near = all(difference.within(self.tolerance) for difference in self.read)
            return near and not self.pieces.defects(self.tolerance)
        return all(difference.within(self.tolerance) for difference in self.judged)

    @property
    def beyond_bounds(self) -> tuple[Difference, ...]:
        """The outputs of larger inputs that are too far off."""
        return tuple(each for each in self.larger if not each.within(bounds.TOLERANCE))

    @property
    def judged(self) -> tuple[Difference, ...]:
        """The differences that the tolerance applies to."""
        if self.pieces:
            return (*self.read, *self.pieces.differences.values())
        return self.rounded or self.outputs

    def one_line(self) -> str:
        """What is furthest from what it is judged by."""
        if self.unwritten:
            return self.unwritten[0].words()
        if self.beyond_bounds:
            off = self.beyond_bounds[0]
            return f"output {off.name!r} of larger inputs: relative error {off.relative:.3g}"
        worst = max(self.judged, key=lambda difference: difference.relative)
        steps = f", {worst.spacings:.3g} of a quantisation step" if worst.spacing else ""
        what = "tensor" if self.pieces or self.rounded else "output"
        return f"{what} {worst.name!r}: relative error {worst.relative:.3g}{steps}"

    @property
    def first_difference(self) -> LayerResult | None:
        """The first layer beyond the tolerance, if layers were compared and are judged."""
        if self.rounded or self.pieces:
            return None
        return by_layer.first_difference(self.layers, self.tolerance)

    @property
    def first_defect(self) -> str:
        """The first layer that does not compute what the model's piece does; "" where all do."""
        defects = self.pieces.defects(self.tolerance) if self.pieces else []
        return defects[0] if defects else ""


def verify(
    project: Project,
    model: Path,
    *,
    inputs: Path | None = None,
    layers: bool = False,
    tolerance: float = DEFAULT_TOLERANCE,
    twin: Twin | None = None,
    by_piece: bool = False,
    decided: Decisions | None = None,
    tell: Tell = nobody,
) -> Verification:
    """Compare the program of ``project`` with ``model`` on seeded inputs or those of an .npz file.

    ``twin`` is the same network with its weights rounded as the project stores them, in float32:
    then the outputs are judged by those of the twin; where results are rounded too, every layer is
    judged by what the twin makes of the inputs that the layer had.  ``by_piece``: every layer is
    judged by what the model makes of them, as quantised networks have to be.  ``decided``: so it
    is, and what these decisions read by the model from the network's inputs.  Writes the inputs and
    the outputs that are expected into the project, where main.c looks for them.
    ``tell`` is told what is going on.  Raises EdgeconvError: unusable inputs (exit status 2), a
    missing compiler, emulator or reference runtime (3), a program that fails to build or run (1).
    """
    find_emulator(project.board())  # before anything long
    feeds = from_npz(inputs, project.inputs) if inputs else seeded(project.inputs)
    tell("building")
    by_piece = by_piece or decided is not None
    traced = layers or by_piece or bool(twin and twin.results_stored)
    binary = project.build(trace=traced, run_here=True)
    tell("running the reference")
    wanted = tuple(port.name for port in project.outputs)
    inner = by_layer.tensors_of(project.report["layers"]) if layers or by_piece else ()
    with explained(project, model, feeds, seeded=inputs is None):
        reference = reference_outputs(model, feeds, (*wanted, *inner), cut_at=project.cut)
    results_of_model = filled(reference.values, project.outputs)
    reference = replace(reference, values=uncounted(reference.values, project.outputs))
    _require_outputs(wanted, results_of_model)
    given = tensor_bytes(feeds, project.inputs)
    if twin:
        tell("running the same network with rounded weights in float32")
    expected = twin.outputs(feeds) if twin else results_of_model
    files = {
        project.input_file: given,
        project.expected_file: tensor_bytes(expected, project.outputs),
    }
    project.put({path.name: data for path, data in files.items()})
    way = how(binary)
    tell(f"running {way if binary.board.run.on_board else f'under {way}'}")
    with explained(project, model, feeds, seeded=inputs is None):
        started = run_from_garbage(project, binary, feeds, layers=traced)
    got = started.outputs
    spacings = _spacings(project, results_of_model)
    assumed = {port.name for port in project.outputs if spacings[port.name] and not port.spacing}
    larger: tuple[Difference, ...] = ()
    in_floats = not (twin or by_piece or is_quantised(project))
    if inputs is None and in_floats and started.between and bounds.has_bounds(project, model):
        tell("running the reference on larger inputs")
        larger = bounds.compare_larger(project, model, *started.between)
    trace = project.build_directory / "layers.bin"
    rounded = _rounded(project, trace, twin, feeds, got, expected, spacings) if twin else []
    pieces = None
    if by_piece:
        tell("comparing layer by layer")
        beside = partial(_beside, model, project.cut, feeds)
        report = project.report
        taken = report.get("steps", ())
        exactly = partial(_exactly, project, model, feeds)
        pieces = compare_pieces(
            report["layers"],
            trace,
            as_found(got, project.outputs),
            reference.values,
            beside,
            exactly,
            taken,
            project.requantise,
        )
    results: list[LayerResult] = []
    if layers:
        results = by_layer.compare_layers(
            project.report["layers"],
            trace,
            reference.values,
            steps=project.report.get("steps", ()),
            quantised=is_quantised(project),
        )
    read: tuple[Difference, ...] = ()
    if decided:
        steps = project.report.get("steps", ())
        read = in_front_of(decided, project.report["layers"], trace, reference.values, steps)
    trace.unlink(missing_ok=True)
    stack = _STACK.search(started.printed)
    bound = worst_stack(binary.path, (RESET,), binary.objects.values())[0] if stack else None
    return Verification(
        tuple(
            replace(
                compare(name, got[name], results_of_model[name], spacings[name]),
                assumed=name in assumed,
            )
            for name in got
        ),
        tuple(results),
        tolerance,
        reference.engine,
        way,
        tuple(rounded),
        int(stack[1]) if stack else None,
        bound,
        pieces,
        promised_error(project),
        read,
        started.unwritten,
        started.runs,
        larger,
    )


def _beside(
    model: Path, cut_at: Cut, feeds: Outputs, results: Outputs, shift: float
) -> Mapping[str, Any]:
    own = reference_beside(model, feeds, results, cut_at=cut_at, shift=shift)
    return {name: alike(value, results[name]) for name, value in own.items()}


def _exactly(
    project: Project, model: Path, feeds: Outputs, results: Mapping[str, Any]
) -> Mapping[str, Value]:
    """In exact arithmetic, where some layer computes so."""
    if not any(layer.get("compute") in EXACTLY for layer in project.report["layers"]):
        return {}
    graph = graph_of(project, model)
    return expected(replace(graph, requantise=project.requantise), {**feeds, **results})


def _rounded(
    project: Project,
    trace: Path,
    twin: Twin,
    feeds: Outputs,
    got: Outputs,
    expected: Mapping[str, npt.NDArray[Any]],
    spacings: Mapping[str, float],
) -> list[Difference]:
    """Against the twin: layer by layer where results are rounded, else the outputs."""
    if not twin.results_stored:
        return [compare(name, got[name], expected[name], spacings[name]) for name in got]
    truncate = project.report["program"].get("rounding") == "truncate"
    layers, taken = project.report["layers"], project.report.get("steps", ())
    return list(compare_beside(layers, trace, twin, feeds, steps=taken, truncate=truncate))


def promised_error(project: Project) -> float | None:
    """The error at the outputs that compile promised; None where no layer is computed by minimal
    filtering."""
    found: Mapping[str, float] = project.report.get("winograd") or {}
    return found.get("promised")


def is_quantised(project: Project) -> bool:
    """Whether the model rounds activations."""
    return bool(project.report["model"].get("quantised"))


def _spacings(
    project: Project, reference: Mapping[str, npt.NDArray[np.generic]]
) -> dict[str, float]:
    """By how much each output may differ because an activation was rounded the other way."""
    assumed = is_quantised(project)
    return {
        port.name: port.spacing or (assumed_spacing(reference[port.name]) if assumed else 0.0)
        for port in project.outputs
    }


def _require_outputs(wanted: Iterable[str], values: Mapping[str, object]) -> None:
    for name in wanted:
        if name not in values:
            raise EdgeconvError(
                "the reference has no value for an output",
                got=repr(name),
                rule="no node of the original model writes it",
            )


def how(binary: Binary) -> str:
    """How the program runs: "natively", the emulator's name, or what reaches the board."""
    run = binary.board.run
    if run.kind is RunKind.NATIVE:
        return "natively"
    program = Path(run.command[0]).name
    return f"on the board, through {program}" if run.on_board else program
