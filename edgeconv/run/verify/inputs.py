"""The inputs of a program: seeded ones, or the user's from an .npz file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgeconv.base import array_file
from edgeconv.base.array_file import Stated
from edgeconv.base.errors import refused
from edgeconv.base.names import did_you_mean
from edgeconv.ir.array_types import array_type
from edgeconv.run.build.project import Port, Project
from edgeconv.run.input_arrays import SEED, inputs_of, random
from edgeconv.run.verify.texts import given, made_up

Array = npt.NDArray[np.generic]


def seeded(ports: Sequence[Port], seed: int = SEED) -> dict[str, Array]:
    """N(0, 1) for every input, any integer for one of integers; the same on every machine."""
    rng = np.random.default_rng(seed)
    return {
        port.name: made_up(port, port.text, rng)
        if port.text is not None
        else random(port.shape, port.dtype, rng)
        for port in ports
    }


def from_npz(path: Path, ports: Sequence[Port]) -> dict[str, Array]:
    """One array per input from ``path``, by the input's name or ``in:`` and its name.

    Arrays called ``out:...`` are ignored.  Raises EdgeconvError (exit status 2): no .npz file, an
    array missing or unknown, a shape or element type that is not the input's.
    """
    with array_file.opened(path) as archive:
        stated = inputs_of(archive)
        known = [port.name for port in ports]
        for name in stated:
            if name not in known:
                raise array_file.invalid(
                    path, "no such input", repr(name), hint=did_you_mean(name, known)
                )
        for port in ports:
            _check(path, port, stated)
        return {port.name: given(archive.read(stated[port.name].name), port) for port in ports}


def sequence_from_npz(
    path: Path, ports: Sequence[Port], steps: int | None
) -> list[dict[str, Array]]:
    """The inputs of ``steps`` runs that follow each other, None for as many as there are: arrays as
    of `from_npz` with an axis of time in front, or one set of inputs for all runs.

    Raises EdgeconvError (exit status 2) as `from_npz`; arrays are of different length, or too
    short.
    """
    with array_file.opened(path) as archive:
        stated = inputs_of(archive)
        lengths = {
            port.name: stated[port.name].shape[0]
            for port in ports
            if port.name in stated and len(stated[port.name].shape) == len(port.shape) + 1
        }
        if not lengths:
            return [from_npz(path, ports)] * (steps or 1)
        first, count = next(iter(lengths.items()))
        for port in ports:
            found = stated.get(port.name)
            if found and lengths.get(port.name) != count:
                got = f"{found.shape[0] if found.shape else 'one number'} of {port.name!r}"
                rule = f"{first!r} has {count} steps in time, its first axis"
                raise array_file.invalid(path, "inputs of different length", got, rule)
        if not 0 < (steps or count) <= count:
            got = f"--steps {steps or count}"
            raise array_file.invalid(path, "not as many steps", got, f"the file has {count}")
        whole = from_npz(path, [replace(port, shape=(count, *port.shape)) for port in ports])
    chosen = range(steps or count)
    return [{name: np.ascontiguousarray(each[i]) for name, each in whole.items()} for i in chosen]


def ensure(project: Project) -> None:
    """Write the seeded inputs where main.c looks for them, unless inputs are there already."""
    wanted = sum(port.bytes for port in project.inputs)
    path = project.input_file
    if not path.is_file() or path.stat().st_size != wanted:
        project.put({path.name: tensor_bytes(seeded(project.inputs), project.inputs)})


def write_tensors(
    path: Path, arrays: Mapping[str, npt.NDArray[np.generic]], ports: Sequence[Port]
) -> None:
    """Write ``tensor_bytes`` to a file.  Raises EdgeconvError when that cannot be done."""
    with refused("cannot write", path):
        path.write_bytes(tensor_bytes(arrays, ports))


def tensor_bytes(arrays: Mapping[str, npt.NDArray[np.generic]], ports: Sequence[Port]) -> bytes:
    """The arrays of ``ports`` as main.c reads them: as they lie in memory, little-endian."""
    found = []
    for port in ports:
        array = port.layout.pack(arrays[port.name])
        found.append(np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes())
    return b"".join(found)


def _check(path: Path, port: Port, stated: Mapping[str, Stated]) -> None:
    if port.name not in stated:
        found = ", ".join(sorted(stated)) or "nothing"
        raise array_file.invalid(path, f"no array for input {port.name!r}", found)
    array = stated[port.name]
    if port.text is not None and array.dtype.kind in "SU" and array.shape == port.shape[:-1]:
        return
    if array.dtype != array_type(port.dtype):
        raise array_file.invalid(
            path,
            f"element type of {port.name!r}",
            str(array.dtype),
            f"the model reads {port.dtype}",
            f"convert it with .astype(numpy.{port.dtype})",
        )
    if array.shape != port.shape:
        shape = "x".join(map(str, array.shape)) or "scalar"
        wanted = "x".join(map(str, port.shape)) or "scalar"
        raise array_file.invalid(
            path, f"shape of {port.name!r}", shape, f"the program takes {wanted}"
        )
