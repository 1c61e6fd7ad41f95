"""What a built program computes: for one set of inputs, or for several, one after the other."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.array_types import array_type
from edgeconv.run.build import InputFile, OutputFile, run_binary
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.program_files import Argument
from edgeconv.run.build.project import Port, Project

Outputs = dict[str, npt.NDArray[np.generic]]


def run_program(
    project: Project, binary: Binary, *, layers: bool = False, inputs: Path | None = None
) -> tuple[Outputs, str]:
    """The program's outputs by name for ``inputs``, or for what is in its input file, and what it
    printed.

    ``layers``: it leaves build/layers.bin too.  Raises EdgeconvError when it fails.
    """
    (outputs,), printed = run_sets(project, binary, 1, layers=layers, inputs=inputs)
    return outputs, printed


def run_sets(
    project: Project,
    binary: Binary,
    sets: int,
    *,
    steps: int = 0,
    layers: bool = False,
    inputs: Path | None = None,
) -> tuple[list[Outputs], str]:
    """`run` of a file of so many ``sets`` of inputs: the outputs of each.

    Of several sets the first two start from garbage in the arena and the outputs, another one each,
    and those behind them from what the run before has left (``fill`` of main.c).  ``layers``: those
    of the first set.

    Of a network with states the outputs are those of the model, the states' among them.  Sets are
    sequences of ``steps``, of which each starts from other garbage, and from the initial states;
    ``layers`` are those of the first sequence.
    """
    inputs = inputs or project.input_file
    output = project.build_directory / "output.bin"
    trace = project.build_directory / "layers.bin"
    arguments: list[Argument] = ["--output", OutputFile(output), "--input", InputFile(inputs)]
    if sets > 1:
        arguments += ["--sets", str(sets)]
    if steps:
        arguments += ["--steps", str(steps)]
    if layers:
        arguments += ["--layers", OutputFile(trace)]
    folder = project.directory
    made = {"output": output, "layers": trace} if layers else {"output": output}
    written = dict(made)
    if project.is_firmware:  # which takes no arguments: its files have fixed names
        folder = project.build_directory
        written = {what: folder / f"{project.name}_{what}.bin" for what in made}
        if inputs != project.run_file:
            shutil.copyfile(inputs, project.run_file)
    for path in written.values():  # what a killed run has left would pass for this one's
        path.unlink(missing_ok=True)
    patience = project.patience(sets)
    done = run_binary(binary.path, binary.board, arguments, cwd=folder, timeout=patience)
    if done.status != 0:
        raise EdgeconvError(
            "the program failed",
            where=str(binary.path),
            got=f"exit status {done.status}",
            rule=(done.stderr.strip() or done.stdout.strip()).partition("\n")[0],
        )
    for what, path in written.items():
        if not path.is_file():
            raise EdgeconvError(
                f"the program wrote no {what}",
                where=str(binary.path),
                rule="it ended as if all were well",
                hint="does what runs it pass on its arguments, and serve its files?",
            )
        path.replace(made[what])
    data = output.read_bytes()
    output.unlink()
    ports = project.with_states_as_ports().outputs
    size = sum(port.bytes for port in ports)
    if len(data) != sets * size:
        raise EdgeconvError(
            "the program wrote a wrong number of outputs",
            where=str(binary.path),
            got=f"{len(data)} bytes",
            rule=f"expected {sets * size}" + (f", {sets} times {size}" if sets > 1 else ""),
            hint="compile the model again, if main.c is of an earlier version" if sets > 1 else "",
        )
    each = (data[set_ * size : (set_ + 1) * size] for set_ in range(sets))
    return [dict(_arrays(of_set, ports)) for of_set in each], done.stdout + done.stderr


def _arrays(data: bytes, ports: Sequence[Port]) -> Iterator[tuple[str, npt.NDArray[np.generic]]]:
    """The tensors of ``ports`` from their bytes, by name."""
    at = 0
    for port in ports:
        stored = array_type(port.stored)
        values = np.frombuffer(data[at : at + port.bytes], stored.newbyteorder("<"))
        whole = port.layout.unpack(port.real(values.astype(stored)), port.shape)
        yield port.name, np.ascontiguousarray(whole).reshape(port.shape)
        at += port.bytes
