"""Cases as programs: many compiled to C, built into one library, each run in a process of its own.

What is built is what is emitted, but with -O0: the kernels' own tests know the optimiser.
"""

from __future__ import annotations

import ctypes
import io
import os
import pickle
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgeconv.app.deciding import decide
from edgeconv.app.writing import source_tree
from edgeconv.base.progress import no_progress
from edgeconv.codegen.weights import write
from edgeconv.ir.array_types import array_type
from edgeconv.ir.choice import Choice
from edgeconv.run.build import find_compiler
from edgeconv.target import board as boards
from tests.onnx_suite.cases import Array, Case
from tests.onnx_suite.outcomes import CRASH, PASS, WRONG, Outcome, differences, not_compiled
from tests.onnx_suite.stored import as_read
from tests.shared_objects import intrinsics

STORE: Path | None = None  # where headers of intrinsics are kept; None: beside the programs
_FLAGS = ("-std=c11", "-O0", "-ffp-contract=fast", "-fPIC", "-I.")
OPTIMISED = ("-O1",)  # flags with which GCC sees more to warn of, in twice the time
_SECONDS = 20  # of one run
_GUARD = 64  # bytes around what is written
_ALIGN = 64
_SECRET = 0xA5


@dataclass(frozen=True)
class _Program:
    case: Case
    choice: Choice
    prefix: str
    image: bytes
    arena: int


def outcomes(
    cases: Iterable[Case], folder: Path, board: str, flags: Sequence[str] = ()
) -> Iterator[Outcome]:
    """Of each; ``folder`` is empty, ``flags`` go to compiler and linker besides."""
    programs: list[_Program] = []
    for number, case in enumerate(cases):
        made = _compiled(case, folder, f"c{number}", board)
        if isinstance(made, Outcome):
            yield made
        else:
            programs.append(made)
    built = [program for program in programs if _built(program, folder, board, flags)]
    failed = {program.prefix for program in programs} - {program.prefix for program in built}
    for program in programs:
        if program.prefix in failed:
            log = (folder / f"{program.prefix}.log").read_text()
            found = re.search(r"(?:error|warning): (.*)", log)
            reason = f"does not compile: {found[1] if found else log[:200]}"
            yield Outcome(program.case.name, CRASH, (reason,))
    if built:
        library = folder / "cases.so"
        objects = [str(folder / f"{program.prefix}.o") for program in built]
        _run_compiler(board, ("-shared", *flags, *objects, "-o", str(library)), folder, "link")
        loaded = ctypes.CDLL(str(library))
        for program in built:
            yield _in_a_process(loaded, program)


def _compiled(case: Case, folder: Path, prefix: str, board: str) -> _Program | Outcome:
    try:
        decided = decide(case.options(folder, prefix, board))
        tree = source_tree(decided, no_progress)
    except Exception as error:
        return not_compiled(case, error)
    for name, text in tree.texts.items():
        if name.startswith(prefix):
            (folder / name).write_text(text)
    image = io.BytesIO()
    write(tree.image, image)
    return _Program(case, decided.choice, prefix, image.getvalue(), decided.memory.banks[0].bytes)


def _built(program: _Program, folder: Path, board: str, flags: Sequence[str]) -> bool:
    """Whether its C compiles."""
    prefix = program.prefix
    text = "".join((folder / name).read_text() for name in (f"{prefix}.c", f"{prefix}_runtime.h"))
    read = intrinsics(_command(board, (*_FLAGS, *flags)), text, STORE or folder)
    warned = ("-Wall", "-Wextra", "-Werror")
    words = (*_FLAGS, *flags, *read, *warned, "-c", f"{prefix}.c", "-o", f"{prefix}.o")
    return _run_compiler(board, words, folder, prefix)


def _command(board: str, words: Sequence[str]) -> list[str]:
    machine = boards.load(board)
    return [*find_compiler(machine).command, *machine.flags, *words]


def _run_compiler(board: str, words: Sequence[str], folder: Path, log: str) -> bool:
    command = _command(board, words)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    (folder / f"{log}.log").write_text(done.stderr)
    return done.returncode == 0


def _in_a_process(library: ctypes.CDLL, program: _Program) -> Outcome:
    """Of a run, which may crash or hang."""
    read, writing = os.pipe()
    with tempfile.TemporaryFile() as complaints:
        child = os.fork()
        if not child:
            signal.alarm(_SECONDS)
            os.dup2(complaints.fileno(), 2)
            try:
                reasons = _reasons(library, program)
            except BaseException as error:
                reasons = [f"{type(error).__name__}: {error}"[:200]]
            os.write(writing, pickle.dumps(reasons))
            os._exit(0)
        os.close(writing)
        with os.fdopen(read, "rb") as pipe:
            said = pipe.read()
        status = os.waitpid(child, 0)[1]
        complaints.seek(0)
        complaint = re.search(r"(?:runtime error|ERROR): (.*)", complaints.read().decode())
    if not said:
        reason = f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended"
        reason += f": {complaint[1]}" if complaint else ""
        return Outcome(program.case.name, CRASH, (reason,))
    wrong = tuple(pickle.loads(said))
    return Outcome(program.case.name, WRONG if wrong else PASS, wrong)


def _reasons(library: ctypes.CDLL, program: _Program) -> list[str]:
    """What is wrong about the results; nothing where they are right."""
    graph, prefix = program.choice.graph, program.prefix
    model = (ctypes.c_void_p * 16)()
    weights, arena = _aligned(program.image), _aligned(bytes(max(program.arena, 1)))
    start = getattr(library, f"{prefix}_init")
    size_t = ctypes.c_size_t
    status = start(model, _at(weights), size_t(weights.nbytes), _at(arena), size_t(program.arena))
    if status:
        return [f"init returns {status}"]
    for given, wanted in program.case.data:
        feeds = program.case.feeds(given)
        inputs = [
            _as_stored(as_read(graph, name, feeds), graph[name].dtype) for name in graph.input_ports
        ]
        sizes = [graph[name].size * graph[name].element_bytes for name in graph.output_ports]
        outputs = [np.full(size + 2 * _GUARD, _SECRET, np.uint8) for size in sizes]
        run = getattr(library, f"{prefix}_run")
        status = run(model, *map(_at, inputs), *(_at(o[_GUARD:]) for o in outputs))
        if status:
            return [f"run returns {status}"]
        results = program.case.wanted(wanted)
        made = {}
        for name, memory in zip(graph.output_ports, outputs, strict=True):
            body = memory[_GUARD : memory.size - _GUARD]
            if (memory[:_GUARD] != _SECRET).any() or (memory[-_GUARD:] != _SECRET).any():
                return [f"{name}: written beyond its ends"]
            tensor = graph[name]
            made[name] = body.view(array_type(tensor.dtype)).reshape(tensor.shape)
        if wrong := differences(graph, made, results, program.case):
            return [wrong]
    return []


def _as_stored(array: Array | None, dtype: str) -> Array:
    if array is None or array.dtype != array_type(dtype):
        raise TypeError(f"an input of {array if array is None else array.dtype}, not {dtype}")
    return _aligned(np.ascontiguousarray(array).tobytes())


def _aligned(data: bytes) -> Array:
    """A copy at a multiple of ``_ALIGN``, of no byte more, so that sanitizers see its ends; it is
    freed with the process."""
    at = ctypes.c_void_p()
    sizes = ctypes.c_size_t(_ALIGN), ctypes.c_size_t(len(data))
    if ctypes.CDLL(None).posix_memalign(ctypes.byref(at), *sizes):
        raise MemoryError(len(data))
    ctypes.memmove(at, data, len(data))
    return np.ctypeslib.as_array((ctypes.c_uint8 * len(data)).from_address(at.value or 0))


def _at(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
