"""A network of new rows held to the model of the whole window, from the first full window on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.arguments import OF_STREAM
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.progress import Progress, no_progress
from edgeconv.model import passes
from edgeconv.model.frontend import IN_FLOAT64, load, references
from edgeconv.model.frontend.cut import WHOLE, Cut
from edgeconv.model.frontend.saving import save
from edgeconv.model.sliding import Slide, extended
from edgeconv.run.build.project import Port, Project
from edgeconv.run.verify.compare import Difference, assumed_spacing, compare
from edgeconv.run.verify.inputs import seeded
from edgeconv.run.verify.judging import is_quantised

Values = Mapping[str, npt.NDArray[Any]]
RUNS = 12  # that are compared


def compare_windows(
    project: Project,
    model: Path,
    made: Path,
    tolerance: float,
    progress: Progress = no_progress,
) -> tuple[Difference, ...]:
    """How far the outputs of ``made``, the network of new rows of ``project``, are from those that
    ``model`` makes of whole windows: over `RUNS` runs, from the first full window on.

    Where layers read the stream at the ends of a window, ``model`` is taken without its padding, on
    windows that are larger by it.  Where an engine's own rounding may have moved an output beyond
    ``tolerance``, both are run in float64, which is what counts.  Nothing is compared where layers
    carry their state from run to run: no window has all that results depend on.  Raises
    EdgeconvError as `references`.
    """
    if project.report["model"]["stream"].get("carried"):
        return ()
    progress(f"comparing {RUNS} windows with the model")
    found = _compared(project, model, made)
    if all(each.within(tolerance) for each in found):
        return found
    progress(f"comparing {RUNS} windows with the model, in float64")
    with suppress(EdgeconvError):  # which runs fewer models
        return _compared(project, model, made, IN_FLOAT64)
    return found


def _compared(
    project: Project, model: Path, made: Path, engine: str | None = None
) -> tuple[Difference, ...]:
    """As `compare_windows`, by one engine."""
    slides = {each["name"]: each for each in project.report["model"]["stream"]["inputs"]}
    full = max(-(-each["window"] // each["rows"]) for each in slides.values())
    full = max(full, *(-(-each["whole"] // each["rows"]) for each in slides.values()))
    count = full + RUNS - 1
    longer = {name: count * each["rows"] for name, each in slides.items()}
    stream = seeded([_with_rows(port, slides, longer) for port in project.inputs])

    def taken(run: int, rows: str) -> dict[str, npt.NDArray[Any]]:
        """The last rows that have come in with a run, and the inputs that do not slide."""
        found = dict(stream)
        for name, each in slides.items():
            end = run * each["rows"]
            found[name] = np.take(stream[name], range(end - each[rows], end), axis=each["axis"])
        return found

    names = tuple(port.name for port in project.outputs)
    rows = [taken(run, "rows") for run in range(1, count + 1)]
    got = list(_carried(project, made, rows, engine))
    with (
        _whole(project, model, slides) as (path, cut_at, size),
        references(path, names, cut_at=cut_at, engine=engine) as reference,
    ):
        want = [reference(taken(run, size)).values for run in range(full, count + 1)]
    return tuple(_apart(project, name, got[full - 1 :], want) for name in names)


def _with_rows(port: Port, slides: Mapping[str, Any], rows: Mapping[str, int]) -> Port:
    if port.name not in slides:
        return port
    axis = slides[port.name]["axis"]
    return replace(port, shape=(*port.shape[:axis], rows[port.name], *port.shape[axis + 1 :]))


def _carried(
    project: Project, made: Path, rows: Sequence[Values], engine: str | None
) -> Iterator[Values]:
    """The outputs of every run of ``made``, which hands its states on."""
    states = {state.given.name: state.initial for state in project.states}
    names = tuple(port.name for port in project.with_states_as_ports().outputs)
    with references(made, names, engine=engine) as reference:
        for each in rows:
            values = reference({**each, **states}).values
            states = {state.given.name: values[state.made.name] for state in project.states}
            yield values


@contextmanager
def _whole(
    project: Project, model: Path, slides: Mapping[str, Any]
) -> Iterator[tuple[Path, Cut, str]]:
    """The file of the model of the whole window, its part, and which entry of the report has the
    rows of that window."""
    if project.report["model"]["stream"]["borders"] != OF_STREAM:
        yield model, project.window_cut, "whole"
        return
    rows = {name: each["whole"] for name, each in slides.items()}
    shapes = {port.name: _with_rows(port, slides, rows).shape for port in project.inputs}
    graph = load(model, input_shapes=shapes, cut_at=project.window_cut, loops=False)
    moved = {name: Slide(each["axis"], each["rows"]) for name, each in slides.items()}
    with TemporaryDirectory(prefix="edgeconv-window-") as folder:
        path = Path(folder) / "window.onnx"
        save(extended(passes.optimise(graph), moved), path)
        yield path, WHOLE, "window"


def _apart(
    project: Project, name: str, got: Sequence[Values], want: Sequence[Values]
) -> Difference:
    """How far an output of all runs is from that of the windows, whose newest rows it has."""
    mine = np.stack([each[name] for each in got])
    theirs = np.stack([each[name] for each in want])
    last = tuple(slice(theirs.shape[d] - mine.shape[d], None) for d in range(mine.ndim))
    theirs = theirs[last]
    spacing = next(port.spacing for port in project.outputs if port.name == name)
    if is_quantised(project):
        spacing = spacing or assumed_spacing(theirs)
    return compare(name, mine, theirs, spacing)
