"""The emitted program on many samples: what an accuracy limit is finally held to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.progress import Progress, Share, no_progress
from edgeconv.run.build.loading import graph_of, simplified
from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import write_tensors
from edgeconv.run.verify.judging import how
from edgeconv.run.verify.program import run_program
from edgeconv.search.calibration import samples as calibration_samples
from edgeconv.search.calibration.engine import Engine
from edgeconv.search.calibration.samples import Samples
from edgeconv.search.calibration.sqnr import Accuracy, Baseline

Values = dict[str, npt.NDArray[np.float32]]


def try_on(
    project: Project, model: Path, path: Path, progress: Progress = no_progress
) -> tuple[Accuracy, str]:
    """The program's accuracy on the samples in ``path``, and how it ran.

    What it is compared with is the model in float32 as this machine computes it.  Raises
    EdgeconvError: unusable samples (exit status 2), no compiler or emulator (3), a program that
    cannot be built or fails (1).
    """
    project.place()  # before anything long
    graph = simplified(project, graph_of(project, model))
    samples = calibration_samples.load(path, graph)
    with Engine(graph, progress) as engine:
        baseline = Baseline(engine, samples, progress)
        progress("building the program")
        binary = project.build(run_here=True)
        accuracy = baseline.judge(_outputs(project, binary, samples, progress))
    return accuracy, how(binary, project.report["board"])


def _outputs(
    project: Project, binary: Any, samples: Samples, progress: Progress
) -> Iterator[Values]:
    for number, sample in enumerate(samples, start=1):
        progress(Share(f"running sample {number} of {len(samples)}", number - 1, len(samples)))
        write_tensors(project.run_file, sample, project.inputs)
        found, _ = run_program(project, binary, inputs=project.run_file)
        yield {name: values.astype(np.float32) for name, values in found.items()}
