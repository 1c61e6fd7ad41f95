"""What a project computes for inputs of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base import array_file
from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.base.progress import Progress, no_progress
from edgeconv.base.visible import visible
from edgeconv.ir.array_types import array_type
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.project import Port, Project
from edgeconv.run.input_arrays import inputs_of
from edgeconv.run.verify import texts
from edgeconv.run.verify.inputs import tensor_bytes
from edgeconv.run.verify.program import run_sets

Array = npt.NDArray[np.generic]
Arrays = dict[str, Array]
LABEL = "label"  # right classes, in files of samples


def infer(
    project: Project, samples: Sequence[Arrays], progress: Progress = no_progress
) -> tuple[list[Arrays], Binary]:
    """Build the project and run it once for each of ``samples``, in order: the outputs of each by
    name, and the program.

    ``samples``: per input of the model an array of its shape and element type (`converted`).
    A program with states starts from their initial values, and keeps them from each to the next;
    its outputs are the model's, the states' among them.  Raises EdgeconvError as `Project.build`
    and `run_sets`.
    """
    project.place()  # before anything long
    progress("building")
    binary = project.build(run_here=True)
    if not samples:
        return [], binary
    progress(f"running {len(samples)} set{'s' if len(samples) > 1 else ''} of inputs")
    count = len(samples)
    # Firmware with states runs what it reads as two sequences, with a reset between.
    times = 2 if project.states and project.is_firmware and count > 1 else 1
    data = b"".join(tensor_bytes(sample, project.inputs) for sample in samples)
    project.run_file.write_bytes(data * times)
    steps = count if project.states else 0
    found, _ = run_sets(project, binary, count * times, steps=steps, inputs=project.run_file)
    return [texts.readable(each, project.outputs) for each in found[:count]], binary


def converted(inputs: Mapping[str, npt.ArrayLike], ports: Sequence[Port]) -> Arrays:
    """One set of inputs as arrays of the types that the program reads.

    A shape has to be the input's.  Numbers are converted where the input's type holds them:
    floating-point numbers are rounded to fewer bits unless one is beyond its largest, integers
    where each stays what it is.  Raises
    EdgeconvError (exit status 2) for an input that is missing, unknown or of another shape, and for
    numbers that the type does not hold.
    """
    known = [port.name for port in ports]
    for name in inputs:
        if name not in known:
            raise UsageError("no such input", got=repr(name), rule=did_you_mean(name, known))
    for port in ports:
        if port.name not in inputs:
            found = ", ".join(sorted(inputs)) or "nothing"
            raise UsageError(f"no array for input {visible(port.name)!r}", got=found)
    return {port.name: _as(inputs[port.name], port) for port in ports}


def _as(given: npt.ArrayLike, port: Port) -> Array:
    where = f"input {visible(port.name)!r}"
    try:
        array = texts.given(np.asarray(given), port)
    except ValueError as error:  # rows of different length
        raise UsageError("no array", where=where, got=str(error)) from error
    if array.shape != port.shape:
        raise UsageError(
            "another shape than the program takes",
            where=where,
            got=_words(array.shape),
            rule=f"it takes {_words(port.shape)}",
        )
    wanted = array_type(port.dtype)
    if array.dtype == wanted:
        return array
    exact = array.dtype.kind in "iub"
    if array.dtype.kind not in "iubf" or not (exact or wanted.kind not in "iub"):
        raise UsageError(
            "another element type than the program reads",
            where=where,
            got=str(array.dtype),
            rule=f"it reads {port.dtype}",
            hint="quantise it as the model says (step and zero point are in report.json)"
            if wanted.kind in "iu"
            else "",
        )
    with np.errstate(over="ignore", invalid="ignore"):  # which the comparisons see
        cast = array.astype(wanted)
        same = (
            np.array_equal(cast.astype(array.dtype), array)
            if exact
            else np.array_equal(np.isfinite(cast), np.isfinite(array))
        )
    if not same:
        raise UsageError(
            "numbers that the program's element type does not hold",
            where=where,
            got=f"{array.min()} to {array.max()}",
            rule=f"it reads {port.dtype}",
        )
    return cast


def from_file(path: Path, ports: Sequence[Port]) -> tuple[list[Arrays], bool]:
    """The sets of inputs in the .npz file ``path``, and whether its arrays are those of several.

    For S sets an input of shape (N, C, H, W) is an array (S, N, C, H, W) or (S * N, C, H, W); for
    one it may be (N, C, H, W).  Names are as in `verify.inputs.from_npz`; an array `label`, which
    files of samples have, is read only where it is an input.  Raises EdgeconvError (exit status 2)
    as `converted`, and for files that cannot be used.
    """
    known = {port.name: port for port in ports}
    with array_file.opened(path) as archive:
        stated = inputs_of(archive)
        names = [name for name in stated if name != LABEL or name in known]
        arrays = {name: archive.read(stated[name].name) for name in names}
    arrays |= {name: texts.given(a, known[name]) for name, a in arrays.items() if name in known}
    apart = {name: _sets(array, known[name]) for name, array in arrays.items() if name in known}
    if all(sets is None for sets in apart.values()):
        return [converted(arrays, ports)], False
    counts = {None if sets is None else len(sets) for sets in apart.values()}
    count = counts.pop()
    if counts or not count:
        got = ", ".join(f"{_words(array.shape)} of {name!r}" for name, array in arrays.items())
        rule = "each input has as many sets, and at least one"
        raise array_file.invalid(path, "numbers of sets that differ", got, rule)
    if unknown := arrays.keys() - apart.keys():
        converted(dict.fromkeys(unknown, 0), ports)  # which says so
    sets = ({n: a[at] for n, a in apart.items() if a is not None} for at in range(count))
    return [converted(each, ports) for each in sets], True


def _sets(array: Array, port: Port) -> Array | None:
    """The array with an axis of sets in front, None where it is of one set alone, or of a shape
    that `converted` refuses."""
    if array.ndim == len(port.shape) + 1:
        return array
    alike = array.ndim == len(port.shape) > 0 and array.shape[1:] == port.shape[1:]
    if not alike or array.shape == port.shape or not port.shape[0] or len(array) % port.shape[0]:
        return None
    return array.reshape(-1, *port.shape)


def stacked(outputs: Sequence[Arrays]) -> Arrays:
    """The outputs of several sets, along an axis in front."""
    return {name: np.stack([each[name] for each in outputs]) for name in outputs[0]}


def _words(shape: Sequence[Any]) -> str:
    return "x".join(map(str, shape)) or "scalar"
