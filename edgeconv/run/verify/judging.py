"""Judge what a program has computed: its outputs or its layers, by the reference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

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
from edgeconv.run.build.firmware import START, worst_stack
from edgeconv.run.build.loading import graph_of
from edgeconv.run.build.project import Project
from edgeconv.run.verify import bounds
from edgeconv.run.verify import layers as by_layer
from edgeconv.run.verify.compare import Difference, assumed_spacing, compare
from edgeconv.run.verify.data_dependent import alike, as_found, filled, of_fixed_shape
from edgeconv.run.verify.decision_outputs import held_to_float64, in_front_of
from edgeconv.run.verify.detections import in_order_of
from edgeconv.run.verify.exact import expected
from edgeconv.run.verify.exact.value import Value
from edgeconv.run.verify.inputs import tensor_bytes
from edgeconv.run.verify.layers import LayerResult
from edgeconv.run.verify.per_layer import Second, compare_layers
from edgeconv.run.verify.program import Outputs
from edgeconv.run.verify.second_opinion import second_opinion, stated
from edgeconv.run.verify.stored import RoundedReference, compare_beside
from edgeconv.run.verify.uninitialised_memory import Started
from edgeconv.run.verify.verification import Verification
from edgeconv.target.board import RunKind

_STACK = re.compile(r"^stack ([0-9]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What `verify` is asked for, and ``seeded``: nobody gave the inputs."""

    layers: bool
    tolerance: float
    rounded_reference: RoundedReference | None
    held_by_layer: bool
    decided: Decisions | None
    seeded: bool

    @property
    def by_layer(self) -> bool:
        """Every layer is judged by what the model makes of the numbers that it had."""
        return self.held_by_layer or self.decided is not None

    @property
    def traced(self) -> bool:
        """The program leaves the result of every layer."""
        stored = bool(self.rounded_reference and self.rounded_reference.results_stored)
        return self.layers or self.by_layer or stored

    def tensors(self, project: Project) -> tuple[str, ...]:
        """The tensors that the reference is to compute."""
        inner = self.layers or self.by_layer
        wanted = tuple(port.name for port in project.outputs)
        return (*wanted, *(by_layer.tensors_of(project.report["layers"]) if inner else ()))


@dataclass(frozen=True, slots=True)
class Judged:
    """A verification, and the outputs that are ``right``, by the reference or by float64."""

    verification: Verification
    right: Mapping[str, npt.NDArray[Any]]


def running(project: Project, binary: Binary) -> str:
    """What is going on while the program runs."""
    way = how(binary, project.report["board"])
    return f"running {way if binary.board.run.on_board else f'under {way}'}"


def judged(
    project: Project,
    model: Path,
    feeds: Outputs,
    started: Started,
    reference: ReferenceRun,
    asked: VerifyOptions,
    binary: Binary,
    progress: Progress = no_progress,
) -> Judged:
    """Judge what the program has ``started`` to compute of ``feeds``; with a trace, its layers are
    in build/layers.bin, which goes."""
    layers, tolerance, rounded_reference = asked.layers, asked.tolerance, asked.rounded_reference
    held_by_layer, decided = asked.by_layer, asked.decided
    wanted = tuple(port.name for port in project.outputs)
    results_of_model = filled(reference.values, project.outputs)
    reference = replace(reference, values=of_fixed_shape(reference.values, project.outputs))
    _require_outputs(wanted, results_of_model)
    if rounded_reference:
        progress("running the same network with rounded weights in float32")
    expected = rounded_reference.outputs(feeds) if rounded_reference else results_of_model
    right: Mapping[str, npt.NDArray[Any]] = expected
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
        wide = stated(filled(in_float64, project.outputs), project.outputs)
        agreed = {name for name in got if opinion.agrees(name, tolerance)}
        right = {n: wide[n] if n in agreed else v for n, v in results_of_model.items()}
    larger: tuple[Difference, ...] = ()
    in_floats = not (rounded_reference or held_by_layer or is_quantised(project))
    if asked.seeded and in_floats and started.between and bounds.has_bounds(project, model):
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
        layers_of, values = project.report["layers"], reference.values
        read = in_front_of(decided, layers_of, trace, values, steps)
        everything = (*wanted, *by_layer.tensors_of(layers_of))
        ask = partial(_requested, model, feeds, everything, project.cut)
        read = held_to_float64(
            read, decided, layers_of, trace, feeds, values, ask, tolerance, steps
        )
    trace.unlink(missing_ok=True)
    stack = _STACK.search(started.printed)
    bound = worst_stack(binary.path, (START,), binary.objects.values())[0] if stack else None
    verification = Verification(
        outputs,
        tuple(results),
        tolerance,
        reference.engine,
        how(binary, project.report["board"]),
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
    return Judged(verification, right)


def put_expected(project: Project, runs: Sequence[Mapping[str, npt.NDArray[Any]]]) -> None:
    """What main.c compares the outputs of ``runs`` that follow each other with; nothing where the
    reference has other shapes than the program."""
    ports = project.outputs
    if all(values[port.name].shape == port.shape for values in runs for port in ports):
        typed = [{p.name: each[p.name].astype(array_type(p.dtype)) for p in ports} for each in runs]
        data = b"".join(tensor_bytes(each, ports) for each in typed)
        project.put({project.expected_file.name: data})


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
