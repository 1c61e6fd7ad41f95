"""A program with states, run over a sequence in time and compared with the model step by step.

Each step is judged as one run of a network whose states are inputs and outputs beside the others:
from the states that the program had before it, which it writes out.  So what two engines round
otherwise is not carried from step to step.  How far apart both are where each carries its own
states is reported besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.progress import Progress, no_progress
from edgeconv.model.frontend import ReferenceRun, references
from edgeconv.run.build.project import Project
from edgeconv.run.verify.compare import Difference, compare
from edgeconv.run.verify.data_dependent import filled
from edgeconv.run.verify.inputs import seeded, sequence_from_npz, tensor_bytes
from edgeconv.run.verify.judging import VerifyOptions, judged, put_expected, running
from edgeconv.run.verify.program import Outputs, run_sets
from edgeconv.run.verify.uninitialised_memory import Started, is_quick, unwritten
from edgeconv.run.verify.verification import Verification

Values = Mapping[str, npt.NDArray[Any]]
Reference = Callable[[Values], ReferenceRun]
STEPS, FEW_STEPS = 8, 3  # where nobody says how many; of a large network under an emulator
_BY_LAYER = 8  # steps of which layers are compared one by one


def verify_steps(
    project: Project,
    model: Path,
    asked: VerifyOptions,
    *,
    inputs: Path | None = None,
    steps: int | None = None,
    progress: Progress = no_progress,
) -> Verification:
    """Compare ``steps`` runs of ``project``, each from the states that the one before has left,
    with ``model``: on seeded inputs, or on those of an .npz file (`sequence_from_npz`).

    The program runs the sequence twice, from other garbage in all but its states, with a reset in
    between.  Where layers are judged one by one, those of some steps are.  Writes inputs and
    expected outputs into the project, where main.c looks for them.  Raises EdgeconvError as
    `verify`.
    """
    project.place()  # before anything long
    open_ended = project.with_states_as_ports()
    progress("building")
    binary = project.build(trace=asked.traced, run_here=True)
    if inputs:
        sequence = sequence_from_npz(inputs, project.inputs, steps)
    else:
        count = steps or (STEPS if is_quick(project, binary) else FEW_STEPS)
        sequence = [seeded(project.inputs, step) for step in range(count)]
    count = len(sequence)
    given = b"".join(tensor_bytes(each, project.inputs) for each in sequence)
    project.put({project.input_file.name: given})
    progress(f"{running(project, binary)}, {count} steps")
    path, traced = project.run_file, asked.traced
    path.write_bytes(given * 2)
    try:
        found, printed = run_sets(
            project, binary, 2 * count, steps=count, layers=traced, inputs=path
        )
    finally:
        if not project.is_firmware:  # whose program reads it again, in a debugger
            path.unlink()
    trace = project.build_directory / "layers.bin"
    layers = trace.read_bytes() if traced else b""
    ran, again = found[:count], found[count:]
    every: Sequence[int] = range(count)
    if traced:
        every = sorted({round(i * (count - 1) / (_BY_LAYER - 1)) for i in range(_BY_LAYER)})
    verdicts = []
    with references(model, asked.tensors(open_ended), cut_at=project.cut) as reference:
        progress(f"running the reference, {count} steps")
        own = list(_carried(project, reference, sequence))
        for step in every:
            feeds = {**sequence[step], **_states(project, ran[step - 1] if step else None)}
            if layers:
                size = len(layers) // count
                trace.write_bytes(layers[step * size : (step + 1) * size])
            started = Started(ran[step], printed, 2, unwritten(ran[step], [again[step]]))
            values = reference(feeds)
            made = judged(open_ended, model, feeds, started, values, asked, binary, progress)
            verdicts.append(replace(made.verification, steps=count, step=step))
    put_expected(project, own)
    carried = (_apart(port.name, ran, own) for port in project.outputs)
    return replace(_worst(verdicts), carried=tuple(carried))


def _states(project: Project, before: Outputs | None) -> Outputs:
    """The states that a run reads: what the run before has made, or the initial ones."""
    return {
        state.given.name: state.initial if before is None else before[state.made.name]
        for state in project.states
    }


def _carried(
    project: Project, reference: Reference, sequence: Sequence[Outputs]
) -> Iterator[Outputs]:
    """The outputs of every step by the model, whose states are its own."""
    states = _states(project, None)
    for inputs in sequence:
        ports = project.with_states_as_ports().outputs
        values = filled(reference({**inputs, **states}).values, ports)
        states = {state.given.name: values[state.made.name] for state in project.states}
        yield {port.name: values[port.name] for port in ports}


def _apart(name: str, got: Sequence[Outputs], own: Sequence[Outputs]) -> Difference:
    """How far an output of all steps is from that of the model."""
    mine, theirs = (np.stack([each[name] for each in runs]) for runs in (got, own))
    return compare(name, mine, theirs)


def _worst(verdicts: Sequence[Verification]) -> Verification:
    """The first that has not passed, else that of the largest error."""
    failed = next((each for each in verdicts if not each.passed), None)
    return failed or max(verdicts, key=lambda v: max(each.relative for each in v.judged))
