"""The inputs of a program: seeded ones, or the user's from an .npz file."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgeconv.build.project import Port, Project
from edgeconv.errors import EdgeconvError, Exit
from edgeconv.ir.quantisation import INTEGERS, bounds_of
from edgeconv.names import did_you_mean

Array = npt.NDArray[np.generic]
SEED = 0


def seeded(ports: Sequence[Port], seed: int = SEED) -> dict[str, Array]:
    """N(0, 1) for every input, any integer for one of integers; the same on every machine."""
    rng = np.random.default_rng(seed)
    return {port.name: _random(port, rng) for port in ports}


def _random(port: Port, rng: np.random.Generator) -> Array:
    if port.dtype in INTEGERS:
        low, high = bounds_of(port.dtype)
        return rng.integers(low, high, port.shape, port.dtype, endpoint=True)
    return rng.standard_normal(port.shape, dtype=np.float32)


def from_npz(path: Path, ports: Sequence[Port]) -> dict[str, Array]:
    """One array per input from ``path``, by the input's name or ``in:`` and its name.

    Arrays called ``out:...`` are ignored.  Raises EdgeconvError (exit status 2): no .npz file, an
    array missing or unknown, a shape or element type that is not the input's.
    """
    arrays = {
        name.removeprefix("in:"): array
        for name, array in read_npz(path).items()
        if not name.startswith("out:")
    }
    known = [port.name for port in ports]
    for name in arrays:
        if name not in known:
            raise _invalid(path, "no such input", repr(name), hint=did_you_mean(name, known))
    return {port.name: _checked(path, port, arrays) for port in ports}


def ensure(project: Project) -> None:
    """Write the seeded inputs where main.c looks for them, unless inputs are there already."""
    wanted = sum(port.bytes for port in project.inputs)
    path = project.input_file
    if not path.is_file() or path.stat().st_size != wanted:
        names = [port.name for port in project.inputs]
        project.put({path.name: tensor_bytes(seeded(project.inputs), names)})


def write_tensors(
    path: Path, arrays: Mapping[str, npt.NDArray[np.generic]], order: Sequence[str]
) -> None:
    """Write ``tensor_bytes`` to a file.  Raises EdgeconvError when that cannot be done."""
    try:
        path.write_bytes(tensor_bytes(arrays, order))
    except OSError as error:
        raise EdgeconvError("cannot write", where=str(path), got=str(error.strerror)) from error


def tensor_bytes(arrays: Mapping[str, npt.NDArray[np.generic]], order: Sequence[str]) -> bytes:
    """``arrays`` in the given order as main.c reads them: dense little-endian float32, or integers
    of their own type."""
    found = []
    for name in order:
        array = arrays[name]
        kind = array.dtype.newbyteorder("<") if array.dtype.name in INTEGERS else "<f4"
        found.append(np.ascontiguousarray(array, dtype=kind).tobytes())
    return b"".join(found)


def read_npz(path: Path) -> dict[str, npt.NDArray[np.generic]]:
    """All arrays of an .npz file; raises EdgeconvError (exit status 2) when it is none."""
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


def _checked(path: Path, port: Port, arrays: Mapping[str, npt.NDArray[np.generic]]) -> Array:
    if port.name not in arrays:
        found = ", ".join(sorted(arrays)) or "nothing"
        raise _invalid(path, f"no array for input {port.name!r}", found)
    array = arrays[port.name]
    if array.dtype != np.dtype(port.dtype):
        raise _invalid(
            path,
            f"element type of {port.name!r}",
            str(array.dtype),
            f"the model reads {port.dtype}",
            f"convert it with .astype(numpy.{port.dtype})",
        )
    if array.shape != port.shape:
        shape = "x".join(map(str, array.shape)) or "scalar"
        wanted = "x".join(map(str, port.shape)) or "scalar"
        raise _invalid(path, f"shape of {port.name!r}", shape, f"the program takes {wanted}")
    return np.ascontiguousarray(array)


def _invalid(path: Path, what: str, got: str, rule: str = "", hint: str = "") -> EdgeconvError:
    return EdgeconvError(what, where=str(path), got=got, rule=rule, hint=hint, code=Exit.USAGE)
