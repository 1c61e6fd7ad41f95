"""One program that times many candidates: each reads the input that it wants, converted right
before, so that operands are as warm as behind a layer, and filters as cold as in a network."""

from __future__ import annotations

import shutil
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgeconv.app.tuning.candidates import Candidate, Job
from edgeconv.app.tuning.firmware import seconds_of_layers
from edgeconv.app.tuning.folders import own_folder
from edgeconv.base.errors import EdgeconvError
from edgeconv.codegen.emit import EmitOptions, emit
from edgeconv.ir.check import check
from edgeconv.ir.choice import Choice
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout
from edgeconv.run.build import Compiler, InputFile, compile_project, run_binary
from edgeconv.run.build import times as times_printed
from edgeconv.run.build.program_files import Argument, PlaceError
from edgeconv.run.input_arrays import random
from edgeconv.search.choose.select import lowered
from edgeconv.search.measured import kernel_key
from edgeconv.search.memory import fit
from edgeconv.target.board import Board

_NAME = "tune"
_WARM_UP = 1  # runs that are not counted
_SECONDS = 120.0  # of one run of a program at most, beside what is predicted
_EMULATED = 1000.0  # times as long as predicted, at most: an emulated microcontroller


@dataclass(frozen=True, slots=True)
class Timed:
    """The time of one candidate.  ``seconds``: the median of ``runs``; None where ``error`` says
    why there is none."""

    kernel: str
    seconds: float | None
    runs: int
    error: str = ""


def time_candidates(
    candidates: Sequence[Job], board: Board, compiler: Compiler, runs: int
) -> list[Timed]:
    """The times of all of these on ``board``.

    Where a program cannot be built or fails, its halves are tried, so that one bad candidate costs
    no other.  Raises PlaceError where the board cannot be reached, and where a program that can
    hardly fail does so too: then that says nothing about a candidate.
    """
    try:
        return _timed(candidates, board, compiler, runs)
    except PlaceError:
        raise
    except EdgeconvError as error:
        require_programs(board, compiler)
        if len(candidates) == 1:
            return [Timed(candidates[0].kernel, None, 0, error.one_line())]
    half = len(candidates) // 2
    return [
        timed
        for part in (candidates[:half], candidates[half:])
        for timed in time_candidates(part, board, compiler, runs)
    ]


def require_programs(board: Board, compiler: Compiler) -> None:
    """Raises PlaceError where even a program of one small layer is not built or fails."""
    like = {name: Tensor(name, (1, 16), "float32") for name in ("x", "y")}
    trial = Job("trial", "trial", 1e-6, Node("trial", "Unary", ("x",), ("y",)), like)
    try:
        _timed([trial], board, compiler, 1)
    except PlaceError:
        raise
    except EdgeconvError as error:
        raise PlaceError(
            "nothing can be measured",
            where=f"board {board.name}",
            got=error.one_line(),
            rule="a program of one small layer fails as those of candidates do",
            hint="see what run.command of the board's file, or its compiler, says to any program",
            details=error.details,
        ) from error


def _timed(candidates: Sequence[Job], board: Board, compiler: Compiler, runs: int) -> list[Timed]:
    graph, named = graph_of(candidates)
    layers = tuple(lowered(node, graph, board.target) for node in graph.nodes)
    choice = Choice(
        graph,
        layers,
        board.target.name,
        board.target.align,
        line_bytes=board.target.line_bytes,
    )
    memory = fit(choice, board, None)
    positions = {layers[index].node.name: at for at, index in enumerate(memory.order)}
    predicted = sum(candidate.predicted for candidate in candidates) * 10
    if board.bare_metal:
        with own_folder() as folder:
            limit = _SECONDS + _EMULATED * predicted
            spent = seconds_of_layers(
                choice, memory, board, compiler, Path(folder), random_inputs(graph), limit
            )
            times = {number: [0.0, seconds] for number, seconds in spent}
        return _all_there(_medians(candidates, named, positions, times, 1), candidates, board)
    with own_folder() as folder:
        project = Path(folder) / _NAME
        options = EmitOptions(_NAME, board.name, "", board.flags)
        emit(choice, memory, options, "{}").write(project)
        binary = compile_project(
            project,
            board,
            sources=(f"{_NAME}.c", f"{_NAME}_weights.S", "main.c"),
            out=Path(folder) / "program",
            extra_flags=(f"-D{_NAME.upper()}_TRACE",),
            compiler=compiler,
        )
        given = Path(folder) / "input.bin"
        given.write_bytes(random_inputs(graph))
        arguments: list[Argument] = ["--input", InputFile(given), "--output", "/dev/null"]
        done = run_binary(
            binary.path,
            board,
            [*arguments, "--runs", str(runs + _WARM_UP)],
            cwd=Path(folder),
            timeout=_SECONDS + (runs + _WARM_UP) * predicted,
        )
        shutil.rmtree(project)
    if done.status:
        said = done.stderr.strip() or done.stdout.strip()
        raise EdgeconvError("the program failed", got=said.partition("\n")[0])
    times = defaultdict(list)
    for run in times_printed.of_layers(done.stdout):
        for number, seconds in run:
            times[number].append(seconds)
    found = _medians(candidates, named, positions, times, runs)
    return _all_there(found, candidates, board)


def _medians(
    candidates: Sequence[Job],
    named: Mapping[str, str],
    positions: Mapping[str, int],
    times: Mapping[int, Sequence[float]],
    runs: int,
) -> list[Timed]:
    """The medians of those whose lines are all there."""
    found = []
    for candidate in candidates:
        spent = times.get(positions[named[candidate.kernel]], [])[_WARM_UP:]
        if len(spent) == runs:
            # What is shorter than the clock's step took at least that: no time is 0.
            found.append(Timed(candidate.kernel, max(statistics.median(spent), 1e-9), runs))
    return found


def _all_there(found: Sequence[Timed], candidates: Sequence[Job], board: Board) -> list[Timed]:
    if silent := len(candidates) - len(found):
        raise PlaceError(
            "lines were lost",
            where=f"board {board.name}",
            rule=f"{silent} of {len(candidates)} layers printed no time that arrived",
            hint="what runs programs is to pass on what they print, and nothing between",
        )
    return [*found]


def graph_of(candidates: Sequence[Job]) -> tuple[Graph, dict[str, str]]:
    """All of them side by side, and the node of each by its kernel.

    Candidates of one workload read the same input, and constants of one name are one.  What they
    compute nothing reads.
    """
    tensors: dict[str, Tensor] = {}
    inputs: list[str] = []
    nodes: list[Node] = []
    named: dict[str, str] = {}
    for number, candidate in enumerate(candidates):
        names: dict[str, str] = {}
        for name in candidate.node.reads():
            tensor = candidate.tensors[name]
            if tensor.is_constant:
                own = f"{candidate.workload} {name}"
                tensors[own] = replace(tensor, name=own)
            else:
                own = _input(tensor, tensors, inputs, nodes, number)
            names[name] = own
        for name in candidate.node.outputs:
            if name:
                names[name] = f"{number} {name}"
                tensors[names[name]] = replace(candidate.tensors[name], name=names[name])
        node = _renamed(candidate.node, names, f"candidate {number}")
        named[candidate.kernel] = node.name
        nodes.append(node)
    graph = Graph(_NAME, tuple(nodes), tensors, tuple(inputs), ())
    return check(graph, "tuning"), named


def _input(
    tensor: Tensor, tensors: dict[str, Tensor], inputs: list[str], nodes: list[Node], number: int
) -> str:
    """A tensor like this one, converted from an input right before it is read: what is row-major
    there and back, or it would be as cold as the input."""
    shape = "x".join(map(str, tensor.shape))
    stored = tensor.storage
    dtype = str(stored.element) if stored.scale else tensor.dtype
    given = f"in {shape} {dtype}"
    if given not in tensors:
        tensors[given] = Tensor(given, tensor.shape, dtype)
        inputs.append(given)
    if stored.scale:
        given = _as_real(given, tensor, tensors, nodes)
    if tensor.layout != ROW_MAJOR:
        return _converted(given, tensor.layout, tensors, nodes, number)
    if len(tensor.shape) < 3:  # no image
        return given
    there = _converted(given, CHANNELS_LAST, tensors, nodes, number)
    return _converted(there, ROW_MAJOR, tensors, nodes, number)


def _converted(
    name: str, layout: Layout, tensors: dict[str, Tensor], nodes: list[Node], number: int
) -> str:
    own = f"{number} {name} {layout}"
    if own not in tensors:
        tensors[own] = replace(tensors[name], name=own, layout=layout)
        nodes.append(Node(f"convert {own}", "Convert", (name,), (own,)))
    return own


def _as_real(integers: str, tensor: Tensor, tensors: dict[str, Tensor], nodes: list[Node]) -> str:
    """The ``integers`` as a tensor of real numbers that is stored as this one: the same bytes."""
    real = f"{integers} as {tensor.storage}"
    if real not in tensors:
        tensors[real] = replace(tensor, name=real, layout=ROW_MAJOR)
        attrs = {"encoding": tensor.storage}
        nodes.append(Node(f"real {real}", "Dequantise", (integers,), (real,), attrs))
    return real


def _renamed(node: Node, names: Mapping[str, str], name: str) -> Node:
    residual = node.epilogue.residual
    return replace(
        node,
        name=name,
        inputs=tuple(names.get(each, each) for each in node.inputs),
        outputs=tuple(names.get(each, each) for each in node.outputs),
        epilogue=replace(node.epilogue, residual=names.get(residual, residual)),
    )


def random_inputs(graph: Graph) -> bytes:
    """Random values of every input of a network, one after the other, the same every time."""
    rng = np.random.default_rng(0)
    return b"".join(
        random(graph[name].shape, graph[name].dtype, rng).tobytes() for name in graph.input_ports
    )


def same_kernel(candidate: Candidate, board: Board) -> bool:
    """Whether what is timed is what the choice asked the price of."""
    graph, named = graph_of([candidate])
    node = next(each for each in graph.nodes if each.name == named[candidate.kernel])
    return kernel_key(lowered(node, graph, board.target)) == candidate.kernel
