"""Build a project, run it, and compare what it computes with the original model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.arguments import DEFAULT_TOLERANCE
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.array_types import array_type
from edgeconv.ir.candidate import IN_WHOLE_NUMBERS
from edgeconv.ir.decisions import Decisions
from edgeconv.model.frontend import (
    AS_WRITTEN,
    IN_FLOAT64,
    Cut,
    ReferenceRun,
    reference_beside,
    reference_outputs,
)
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.firmware import RESET, worst_stack
from edgeconv.run.build.loading import graph_of
from edgeconv.run.build.project import Project
from edgeconv.run.verify import bounds
from edgeconv.run.verify import layers as by_layer
from edgeconv.run.verify.compare import Difference, assumed_spacing, compare
from edgeconv.run.verify.data_dependent import alike, as_found, filled, of_fixed_shape
from edgeconv.run.verify.decision_outputs import in_front_of
from edgeconv.run.verify.detections import in_order_of
from edgeconv.run.verify.exact import expected
from edgeconv.run.verify.exact.value import Value
from edgeconv.run.verify.inputs import from_npz, seeded, tensor_bytes
from edgeconv.run.verify.layers import LayerResult
from edgeconv.run.verify.per_layer import Second, compare_layers
from edgeconv.run.verify.program import Outputs
from edgeconv.run.verify.second_opinion import second_opinion, stated
from edgeconv.run.verify.sizes import explained
from edgeconv.run.verify.stored import RoundedReference, compare_beside
from edgeconv.run.verify.uninitialised_memory import run_from_garbage
from edgeconv.run.verify.verification import Verification
from edgeconv.target.board import RunKind

_STACK = re.compile(r"^stack ([0-9]+)$", re.MULTILINE)


def verify(
    project: Project,
    model: Path,
    *,
    inputs: Path | None = None,
    layers: bool = False,
    tolerance: float = DEFAULT_TOLERANCE,
    rounded_reference: RoundedReference | None = None,
    held_by_layer: bool = False,
    decided: Decisions | None = None,
    progress: Progress = no_progress,
) -> Verification:
    """Compare the program of ``project`` with ``model`` on seeded inputs or those of an .npz file.

    ``rounded_reference`` is the same network with its weights rounded as the project stores them,
    in float32: then the outputs are judged by those of the rounded_reference; where results are
    rounded too, every layer is judged by what the rounded_reference makes of the inputs that the
    layer had. ``held_by_layer``: every layer is judged by what the model makes of them, as
    quantised networks have to be. ``decided``: so it is, and what these decisions read by the model
    from the network's inputs. Writes the inputs and the outputs that are expected into the project,
    where main.c looks for them. ``progress`` is told what is going on.  Raises EdgeconvError:
    unusable inputs (exit status 2), a missing compiler, emulator or reference runtime (3), a
    program that fails to build or run (1).
    """
    project.place()  # before anything long
    feeds = from_npz(inputs, project.inputs) if inputs else seeded(project.inputs)
    progress("building")
    held_by_layer = held_by_layer or decided is not None
    traced = layers or held_by_layer or bool(rounded_reference and rounded_reference.results_stored)
    binary = project.build(trace=traced, run_here=True)
    progress("running the reference")
    wanted = tuple(port.name for port in project.outputs)
    inner = by_layer.tensors_of(project.report["layers"]) if layers or held_by_layer else ()
    with explained(project, model, feeds, seeded=inputs is None):
        reference = reference_outputs(model, feeds, (*wanted, *inner), cut_at=project.cut)
    results_of_model = filled(reference.values, project.outputs)
    reference = replace(reference, values=of_fixed_shape(reference.values, project.outputs))
    _require_outputs(wanted, results_of_model)
    given = tensor_bytes(feeds, project.inputs)
    if rounded_reference:
        progress("running the same network with rounded weights in float32")
    expected = rounded_reference.outputs(feeds) if rounded_reference else results_of_model
    project.put({project.input_file.name: given})
    _put_expected(project, expected)
    way = how(binary, project.report["board"])
    progress(f"running {way if binary.board.run.on_board else f'under {way}'}")
    with explained(project, model, feeds, seeded=inputs is None):
        started = run_from_garbage(project, binary, feeds, layers=traced)
    got = started.outputs
    spacings = _spacings(project, results_of_model)
    assumed = {port.name for port in project.outputs if spacings[port.name] and not port.spacing}
    ordered, reordered = in_order_of(results_of_model, got, project.outputs, tolerance)
    outputs = tuple(
        replace(
            compare(name, ordered[name], results_of_model[name], spacings[name]),
            assumed=name in assumed,
        )
        for name in got
    )
    in_float64: Outputs = {}
    opinion = None
    if not (rounded_reference or held_by_layer or all(each.within(tolerance) for each in outputs)):
        progress("asking for a second opinion, in float64")
        everything = (*wanted, *by_layer.tensors_of(project.report["layers"]))
        ask = partial(_requested, model, feeds, everything, project.cut)
        opinion, in_float64 = second_opinion(
            ask, feeds, got, results_of_model, project.outputs, tolerance
        )
        right = stated(filled(in_float64, project.outputs), project.outputs)
        agreed = {name for name in got if opinion.agrees(name, tolerance)}
        _put_expected(
            project, {n: right[n] if n in agreed else v for n, v in results_of_model.items()}
        )
    larger: tuple[Difference, ...] = ()
    in_floats = not (rounded_reference or held_by_layer or is_quantised(project))
    if inputs is None and in_floats and started.between and bounds.has_bounds(project, model):
        progress("running the reference on larger inputs")
        larger = bounds.compare_larger(project, model, *started.between)
    trace = project.build_directory / "layers.bin"
    rounded = (
        _rounded(project, trace, rounded_reference, feeds, got, expected, spacings)
        if rounded_reference
        else []
    )
    per_layer = None
    if held_by_layer:
        progress("comparing layer by layer")
        beside = partial(_beside, model, project.cut, feeds)
        report = project.report
        taken = report.get("steps", ())
        exactly = partial(_exactly, project, model, feeds)
        per_layer = compare_layers(
            report["layers"],
            trace,
            as_found(got, project.outputs),
            reference.values,
            beside,
            exactly,
            taken,
            project.requantise,
            Second(
                partial(_requested_beside, model, project.cut, feeds, IN_FLOAT64),
                partial(_requested_beside, model, project.cut, feeds, AS_WRITTEN),
                tolerance,
            ),
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
        if in_float64:
            again = by_layer.compare_layers(
                project.report["layers"], trace, in_float64, steps=project.report.get("steps", ())
            )
            results = by_layer.nearer(results, again, tolerance)
    read: tuple[Difference, ...] = ()
    if decided:
        steps = project.report.get("steps", ())
        read = in_front_of(decided, project.report["layers"], trace, reference.values, steps)
    trace.unlink(missing_ok=True)
    stack = _STACK.search(started.printed)
    bound = worst_stack(binary.path, (RESET,), binary.objects.values())[0] if stack else None
    return Verification(
        outputs,
        tuple(results),
        tolerance,
        reference.engine,
        way,
        tuple(rounded),
        int(stack[1]) if stack else None,
        bound,
        per_layer,
        promised_error(project),
        read,
        unwritten=started.unwritten,
        runs=started.runs,
        larger=larger,
        opinion=opinion,
        reordered=reordered,
        refused=reference.refused,
    )


def _put_expected(project: Project, values: Mapping[str, npt.NDArray[Any]]) -> None:
    """What main.c compares with; nothing where the reference has other shapes than the program."""
    if all(values[port.name].shape == port.shape for port in project.outputs):
        typed = {p.name: values[p.name].astype(array_type(p.dtype)) for p in project.outputs}
        project.put({project.expected_file.name: tensor_bytes(typed, project.outputs)})


def _requested(
    model: Path, feeds: Outputs, wanted: Sequence[str], cut_at: Cut, engine: str
) -> ReferenceRun:
    return reference_outputs(model, feeds, wanted, cut_at=cut_at, engine=engine)


def _requested_beside(
    model: Path, cut_at: Cut, feeds: Outputs, engine: str, results: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The pieces of the model by ``engine``; nothing where that does not run them."""
    with suppress(EdgeconvError):
        return reference_beside(model, feeds, results, cut_at=cut_at, engine=engine)
    return {}


def _beside(
    model: Path, cut_at: Cut, feeds: Outputs, results: Outputs, shift: float
) -> Mapping[str, Any]:
    own = reference_beside(model, feeds, results, cut_at=cut_at, shift=shift)
    return {name: alike(value, results[name]) for name, value in own.items()}


def _exactly(
    project: Project, model: Path, feeds: Outputs, results: Mapping[str, Any]
) -> Mapping[str, Value]:
    """In exact arithmetic, where some layer computes so."""
    if not any(layer.get("compute") in IN_WHOLE_NUMBERS for layer in project.report["layers"]):
        return {}
    graph = graph_of(project, model)
    return expected(replace(graph, requantise=project.requantise), {**feeds, **results})


def _rounded(
    project: Project,
    trace: Path,
    rounded_reference: RoundedReference,
    feeds: Outputs,
    got: Outputs,
    expected: Mapping[str, npt.NDArray[Any]],
    spacings: Mapping[str, float],
) -> list[Difference]:
    """Against the rounded_reference: layer by layer where results are rounded, else the outputs."""
    if not rounded_reference.results_stored:
        return [compare(name, got[name], expected[name], spacings[name]) for name in got]
    truncate = project.report["program"].get("rounding") == "truncate"
    layers, taken = project.report["layers"], project.report.get("steps", ())
    return list(
        compare_beside(layers, trace, rounded_reference, feeds, steps=taken, truncate=truncate)
    )


def promised_error(project: Project) -> float | None:
    """The error at the outputs that compile promised; None where no layer is computed by Winograd's
    algorithm."""
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


def how(binary: Binary, board: str) -> str:
    """How the program of ``board`` runs: "natively", the emulator's name, or what reaches the
    board; with the name of a sibling that stands for it."""
    run = binary.board.run
    if run.kind is RunKind.NATIVE:
        return "natively"
    program = Path(run.command[0]).name
    if binary.board.name != board:
        return f"{program} as {binary.board.name}, which runs the same machine code"
    return f"on the board, through {program}" if run.on_board else program
