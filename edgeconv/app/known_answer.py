"""The known answer of ``--selftest``: the program is run once on the made input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from edgeconv.app.deciding import Decision
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.progress import Progress
from edgeconv.codegen.emit import EmitOptions, emit
from edgeconv.codegen.selftest import Answer, Array, answers, made_input
from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import element_type
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.grids import spacings_of
from edgeconv.ir.placement import ANYWHERE
from edgeconv.run.build import InputFile, OutputFile, compile_project, find_emulator, run_binary
from edgeconv.run.build.program_files import Argument
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.board import Board

_PORTABLE_BOARD, ANY = "generic-c", "any"  # what runs on every machine


def known_answers(decided: Decision, progress: Progress) -> tuple[Answer, ...]:
    """What the program computes from the made input, one answer per output.

    Portable C runs on this machine, whatever the board; code for vector units where the board's
    programs run.  Raises EdgeconvError: they do not run here (exit status 3), or it fails.
    """
    portable = TARGETS[decided.choice.isa].arch == ANY
    board = boards.load(_PORTABLE_BOARD) if portable else decided.board
    find_emulator(board)
    progress("computing the known answer")
    graph = decided.choice.graph
    inputs = [made_input(graph[name], i) for i, name in enumerate(graph.input_ports)]
    with TemporaryDirectory(prefix="edgeconv-answer-") as folder:
        data = _run(decided, board, Path(folder), inputs)
    outputs, at = {}, 0
    written = (*graph.output_ports, *(state.output for state in graph.states))
    wanted = sum(graph[name].size * element_type(graph[name].dtype).bytes for name in written)
    if len(data) != wanted:
        got = f"{len(data)} bytes of outputs"
        raise EdgeconvError("the known answer cannot be computed", got=got, rule=f"it has {wanted}")
    for tensor in (graph[name] for name in graph.output_ports):
        kind = array_type(tensor.dtype).newbyteorder("<")
        outputs[tensor.name] = np.frombuffer(data, kind, tensor.size, at)
        at += tensor.size * kind.itemsize
    spacings = spacings_of(graph)
    rounded = bool(spacings) or any(t.storage != FLOAT32 for t in graph.activations())
    return answers(outputs, spacings, graph.output_ports, rounded=rounded)


def _run(decided: Decision, board: Board, folder: Path, inputs: list[Array]) -> bytes:
    name = decided.options.prefix
    options = EmitOptions(name, board.name, "", board.flags, truncate=decided.options.truncate)
    project = folder / name
    choice = replace(decided.choice.on_one_thread(), placement=ANYWHERE)
    emit(choice, decided.memory, options, "{}").write(project)
    binary = compile_project(
        project, board, sources=(f"{name}.c", f"{name}_weights.S", "main.c"), out=folder / "program"
    )
    given, computed = folder / "input.bin", folder / "output.bin"
    given.write_bytes(b"".join(array.tobytes() for array in inputs))
    files: list[Argument] = ["--input", InputFile(given), "--output", OutputFile(computed)]
    done = run_binary(binary.path, board, files, cwd=folder)
    if done.status or not computed.is_file():
        said = (done.stderr or done.stdout).strip() or f"exit status {done.status}, and no outputs"
        raise EdgeconvError("the known answer cannot be computed", got=said)
    return computed.read_bytes()
