"""``edgeconv run``."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from edgeconv.app import pipeline
from edgeconv.app.terminal import ProgressDisplay, show_lines
from edgeconv.base import whole_file
from edgeconv.base.errors import Exit, UsageError, refused
from edgeconv.run.build.project import Project
from edgeconv.run.inference import Arrays, from_file, stacked

_SIGN = b"outputs written by edgeconv"


def run(*, directory: Path, inputs: Path, output: Path | None, ssh: str, as_json: bool) -> Exit:
    """The outputs of the program for the user's inputs."""
    project = Project.open(directory)
    if output:
        whole_file.require_replaceable(output, _is_ours)
    samples, along = from_file(inputs, project.inputs)
    with ProgressDisplay() as progress:
        found, how = pipeline.run_project(directory, samples, ssh=ssh, progress=progress)
    outputs = stacked(found) if along else found[0]
    if output:
        _write(output, outputs)
    document = {
        "ran": how,
        "sets": len(found),
        "outputs": {name: values.tolist() for name, values in outputs.items()}
        if not output
        else str(output),
    }
    show_lines(_lines(outputs, how, len(found), output), document, as_json=as_json)
    return Exit.OK


def _lines(outputs: Arrays, how: str, sets: int, output: Path | None) -> Iterator[str]:
    yield f"ran {how}: {sets} set{'s' if sets > 1 else ''} of inputs"
    for name, values in outputs.items():
        shape = "x".join(map(str, values.shape)) or "scalar"
        yield f"{name}: {values.dtype} {shape}"
        if not output:
            yield from np.array2string(values, threshold=64, precision=6).splitlines()
    if output:
        yield f"outputs: {output}"


def _is_ours(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.comment == _SIGN
    except (OSError, zipfile.BadZipFile):
        return False


def _write(path: Path, outputs: Arrays) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, values in outputs.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
        archive.comment = _SIGN
    with refused("cannot write the outputs", path, kind=UsageError):
        whole_file.replace(path, data.getvalue())
