"""Build a project, run it, and compare what it computes with the original model."""

from __future__ import annotations

from pathlib import Path

from edgeconv.base.arguments import DEFAULT_TOLERANCE
from edgeconv.base.errors import UsageError
from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.decisions import Decisions
from edgeconv.model.frontend import reference_outputs
from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import from_npz, seeded, tensor_bytes
from edgeconv.run.verify.judging import VerifyOptions, judged, put_expected, running
from edgeconv.run.verify.sizes import explained
from edgeconv.run.verify.steps import verify_steps
from edgeconv.run.verify.stored import RoundedReference
from edgeconv.run.verify.uninitialised_memory import run_from_garbage
from edgeconv.run.verify.verification import Verification


def verify(
    project: Project,
    model: Path,
    *,
    inputs: Path | None = None,
    steps: int | None = None,
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
    from the network's inputs. ``steps``: how many runs of a program with states follow each other
    (`verify_steps`), None for some. Writes the inputs and the outputs that are expected into the
    project, where main.c looks for them. ``progress`` is told what is going on.  Raises
    EdgeconvError: unusable inputs or no states to keep for ``steps`` (exit status 2), a missing
    compiler, emulator or reference runtime (3), a program that fails to build or run (1).
    """
    asked = VerifyOptions(
        layers, tolerance, rounded_reference, held_by_layer, decided, inputs is None
    )
    if project.states:
        return verify_steps(project, model, asked, inputs=inputs, steps=steps, progress=progress)
    if steps is not None:
        raise UsageError(
            f"--steps {steps}",
            where=str(project.directory),
            rule="the network keeps no state: its runs do not depend on each other",
            hint="edgeconv compile ... --state OUT=IN keeps an output for the next run",
        )
    project.place()  # before anything long
    feeds = from_npz(inputs, project.inputs) if inputs else seeded(project.inputs)
    progress("building")
    binary = project.build(trace=asked.traced, run_here=True)
    progress("running the reference")
    with explained(project, model, feeds, seeded=asked.seeded):
        names = asked.tensors(project)
        reference = reference_outputs(model, feeds, names, cut_at=project.cut)
    project.put({project.input_file.name: tensor_bytes(feeds, project.inputs)})
    progress(running(project, binary))
    with explained(project, model, feeds, seeded=asked.seeded):
        started = run_from_garbage(project, binary, feeds, layers=asked.traced)
    found = judged(project, model, feeds, started, reference, asked, binary, progress)
    put_expected(project, [found.right])
    return found.verification
