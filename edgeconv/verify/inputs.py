"""The inputs of a program: seeded ones, or the user's from an .npz file."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgeconv.build.project import Port, Project
from edgeconv.errors import EdgeconvError, Exit
from edgeconv.names import did_you_mean

Floats = npt.NDArray[np.float32]
SEED = 0


def seeded(ports: Sequence[Port]) -> dict[str, Floats]:
    """N(0, 1) for every input, the same on every machine."""
    rng = np.random.default_rng(SEED)
    return {port.name: rng.standard_normal(port.shape, dtype=np.float32) for port in ports}


def from_npz(path: Path, ports: Sequence[Port]) -> dict[str, Floats]:
    """One array per input from ``path``, by the input's name or ``in:`` and its name.

    Arrays called ``out:...`` are ignored.  Raises EdgeconvError (exit status 2): no .npz file, an
    array missing or unknown, a shape or element type that is not the input's.
    """
    arrays = {
        name.removeprefix("in:"): array
        for name, array in _load(path).items()
        if not name.startswith("out:")
    }
    known = [port.name for port in ports]
    for name in arrays:
        if name not in known:
            raise _invalid(path, "no such input", repr(name), hint=did_you_mean(name, known))
    return {port.name: _checked(path, port, arrays) for port in ports}


def ensure(project: Project) -> None:
    """Write the seeded inputs where main.c looks for them, unless inputs are there already."""
    wanted = 4 * sum(math.prod(port.shape) for port in project.inputs)
    path = project.input_file
    if not path.is_file() or path.stat().st_size != wanted:
        write_tensors(path, seeded(project.inputs), [port.name for port in project.inputs])


def write_tensors(
    path: Path, arrays: Mapping[str, npt.NDArray[np.generic]], order: Sequence[str]
) -> None:
    """Write ``arrays`` in the given order as dense little-endian float32, as main.c reads them."""
    try:
        with path.open("wb") as stream:
            for name in order:
                stream.write(np.ascontiguousarray(arrays[name], dtype="<f4").tobytes())
    except OSError as error:
        raise EdgeconvError("cannot write", where=str(path), got=str(error.strerror)) from error


def _load(path: Path) -> dict[str, npt.NDArray[np.generic]]:
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise _invalid(path, "inputs are not an .npz archive", "a single array")
        with archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise _invalid(path, "cannot read the inputs", str(error.strerror or error)) from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        what = "inputs are not an .npz archive of numbers"
        raise _invalid(path, what, "other data", hint="write it with numpy.savez") from error


def _checked(path: Path, port: Port, arrays: Mapping[str, npt.NDArray[np.generic]]) -> Floats:
    if port.name not in arrays:
        found = ", ".join(sorted(arrays)) or "nothing"
        raise _invalid(path, f"no array for input {port.name!r}", found)
    array = arrays[port.name]
    if array.dtype != np.float32:
        raise _invalid(
            path,
            f"element type of {port.name!r}",
            str(array.dtype),
            "the model reads float32",
            "convert it with .astype(numpy.float32)",
        )
    if array.shape != port.shape:
        shape = "x".join(map(str, array.shape)) or "scalar"
        wanted = "x".join(map(str, port.shape)) or "scalar"
        raise _invalid(path, f"shape of {port.name!r}", shape, f"the program takes {wanted}")
    return np.ascontiguousarray(array, dtype=np.float32)


def _invalid(path: Path, what: str, got: str, rule: str = "", hint: str = "") -> EdgeconvError:
    return EdgeconvError(what, where=str(path), got=got, rule=rule, hint=hint, code=Exit.USAGE)
