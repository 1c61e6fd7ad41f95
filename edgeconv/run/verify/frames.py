"""A network behind pre-processing held to the model without it, on frames that the definition in
numpy has pre-processed."""

from __future__ import annotations

from pathlib import Path

from edgeconv.base.progress import Progress, no_progress
from edgeconv.model.frontend import references
from edgeconv.model.preprocessing import network_inputs
from edgeconv.run.build.project import Project
from edgeconv.run.verify.compare import Difference, assumed_spacing, compare
from edgeconv.run.verify.inputs import seeded
from edgeconv.run.verify.judging import is_quantised


def compare_frames(
    project: Project, model: Path, made: Path, progress: Progress = no_progress
) -> tuple[Difference, ...]:
    """How far the outputs of ``made``, the network of ``project`` that reads frames, are from those
    of ``model``, which the project was compiled from, for what `network_inputs` makes of the same
    frame.  Raises EdgeconvError as `references`."""
    progress("comparing the pre-processing with its definition")
    frames = seeded(project.inputs)
    about = project.report["model"]["preprocess"]
    names = tuple(port.name for port in project.outputs)
    with references(made, names) as reference:
        mine = reference(frames).values
    with references(model, names, cut_at=project.original_cut) as reference:
        theirs = reference(network_inputs(about, frames)).values
    found = []
    for port in project.outputs:
        spacing = port.spacing
        if is_quantised(project):
            spacing = spacing or assumed_spacing(theirs[port.name])
        found.append(compare(port.name, mine[port.name], theirs[port.name], spacing))
    return tuple(found)
