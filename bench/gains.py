"""What each step towards the network as a whole gains: as Table 3 of NeoCPU (Liu et al., 2019).

    python bench/gains.py MODEL.onnx [MODEL.onnx ...] [--boards zen4,raspberry-pi-4,x86-64-v3]
        [--size 112] [--rounds 5] [--runs 5] [--threads 2] [--predict]

A model is compiled once per step, each step added to those before it:

    NCHW         every tensor row-major, every layer by what is fastest in that order
    blocked      convolutions in NCHW[x]c, each with conversions around it
    kept         whatever can be in NCHW[x]c is, conversions only where something cannot
    searched     algorithms and layouts of all layers by price, exactly (docs/algorithms/choice.md)
    row streaming  neighbours that stream rows
    Winograd     Winograd's algorithm
    threads      shared by cores

Batch normalisation, activations and residuals are fused from the first step on.  Predicted
milliseconds; on a board that runs here, those measured: the least of ``--rounds`` medians of
``--runs`` inferences, programs in turn.  On an emulated one, of one inference whose caches are
warm, millions of instructions and of lines that loads and stores bring into each cache of the
board, counted by plugins of QEMU (threads change neither).  Behind each number how many times less
than the first it is.  ``--size``: pixels of the images' sides, where emulation would take long.
``--predict``: nothing is run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import onnx
from counting.program import build_plugin, counted
from rich.console import Console
from rich.table import Table

from edgeconv.app.deciding import formats
from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.model import passes
from edgeconv.run.bench import bench
from edgeconv.run.build import InputFile, run_command
from edgeconv.run.build.program_files import Argument
from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import ensure
from edgeconv.search.choose import bit_for_bit, prices
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind

BOARDS = "zen4,raspberry-pi-4,x86-64-v3"
Options = Sequence[LayoutOption]


@dataclass(frozen=True, slots=True)
class Stage:
    """What a step may do: ``held``: which of a node's options are left, of all.  ``apart``: results
    of convolutions are brought in order."""

    name: str
    held: Callable[[Node, Options], Options] = lambda node, options: options
    apart: bool = False
    streaming: bool = False
    winograd: bool = False
    threads: bool = False


def row_major(node: Node, options: Options) -> Options:
    """Those that leave all tensors in order, if any."""
    del node
    return [o for o in options if {*o.reads, *o.writes} <= {ROW_MAJOR}] or options


def blocked(node: Node, options: Options) -> Options:
    """Those of the most tensors in NCHW[x]c, if any."""
    del node

    def count(option: LayoutOption) -> int:
        return sum(layout.block > 1 for layout in (*option.reads, *option.writes))

    most = max(map(count, options), default=0)
    return [option for option in options if count(option) == most]


def only_convolutions(node: Node, options: Options) -> Options:
    """Convolutions as `blocked`, what is between them as `row_major`."""
    return (blocked if node.op == "Conv" else row_major)(node, options)


STAGES = (
    Stage("NCHW", row_major),
    Stage("blocked", only_convolutions, apart=True),
    Stage("kept", blocked),
    Stage("searched"),
    Stage("row streaming", streaming=True),
    Stage("Winograd", streaming=True, winograd=True),
    Stage("threads", streaming=True, winograd=True, threads=True),
)


def taken_apart(graph: Graph) -> Graph:
    """``graph`` with a view in row-major order behind every convolution."""
    made = [node.output for node in graph.nodes if node.op == "Conv"]
    views = {name: f"{name}/apart" for name in made if name not in graph.outputs}
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = tuple(views.get(name, name) for name in node.inputs)
        residual = views.get(node.epilogue.residual, node.epilogue.residual)
        nodes.append(
            replace(node, inputs=inputs, epilogue=replace(node.epilogue, residual=residual))
        )
        if view := views.get(node.output):
            nodes.append(Node(view, "Reshape", (node.output,), (view,)))
    tensors = {view: replace(graph[name], name=view) for name, view in views.items()}
    return replace(graph.with_tensors(tensors), nodes=tuple(nodes))


@contextmanager
def held_to(stage: Stage) -> Iterator[None]:
    """What is chosen meanwhile is held to ``stage``."""

    def held(node: Node, graph: Graph, options: Options) -> Options:
        return stage.held(node, following(node, graph, options))

    def optimise(graph: Graph) -> Graph:
        return taken_apart(optimised(graph))

    following, optimised = bit_for_bit.following, passes.optimise
    with ExitStack() as stack:
        stack.enter_context(patch.object(prices, "following", held))
        if stage.apart:
            stack.enter_context(patch.object(passes, "optimise", optimise))
        if not stage.streaming:
            stack.enter_context(patch.object(formats, "by_price", lambda _, draft: draft))
        yield


def compiled(model: Path, board: str, stage: Stage, threads: int, folder: Path) -> Project:
    """The model at that stage."""
    options = CompileOptions(
        model,
        board,
        name="net",
        winograd_error=None if stage.winograd else 0.0,
        threads=threads if stage.threads else 1,
    )
    with held_to(stage):
        return compile_model(options, folder)[0]


def times(projects: Sequence[Project], rounds: int, runs: int) -> list[list[float]]:
    """Of each the milliseconds."""
    found: list[list[float]] = [[] for _ in projects]
    for number in range(rounds):
        for project, own in zip(projects, found, strict=True):
            print(f"round {number + 1} of {rounds}   ", end="\r", file=sys.stderr)
            own.append(bench(project, runs=runs).median_ms)
    return [[min(own)] for own in found]


class Emulated:
    """Counts of programs of ``board`` under QEMU, in millions: instructions, then misses."""

    def __init__(self, board: Board, folder: Path) -> None:
        self.board = board
        caches = (f"{c.size}:{c.ways or 8}:{c.line}" for c in board.caches)
        plugin = build_plugin(folder, "misses")
        self._plugins = str(build_plugin(folder)), ",".join((str(plugin), *caches))

    @property
    def names(self) -> list[str]:
        """Of what is counted."""
        return ["M instructions", *(f"M lines to L{cache.level}" for cache in self.board.caches)]

    def of(self, project: Project) -> list[float]:
        """One inference more less one."""
        binary = project.build()
        ensure(project)
        every = []
        for runs in (2, 3):
            arguments: list[Argument] = [
                "--input",
                InputFile(project.input_file),
                "--runs",
                str(runs),
            ]
            arguments += ["--output", "/dev/null"]
            command = run_command(binary.path, self.board, arguments)
            folder = project.directory
            every.append(
                [
                    number
                    for plugin in self._plugins
                    for number in counted(command, plugin, self.board, folder)
                ]
            )
        return [(after - before) / 1e6 for before, after in zip(*every, strict=True)]


def resized(model: Path, size: int, folder: Path) -> Path:
    """``model`` with images of other sides."""
    proto = onnx.load(str(model))
    for port in proto.graph.input:
        dims = port.type.tensor_type.shape.dim
        for dim in dims[2:] if len(dims) == 4 else ():
            dim.dim_value = size
    for port in proto.graph.output:
        port.type.tensor_type.ClearField("shape")
    path = folder / model.name
    onnx.save(proto, str(path))
    return path


def table(model: Path, board: Board, arguments: argparse.Namespace, folder: Path) -> Table:
    """A row per step."""
    native = board.run.kind is RunKind.NATIVE
    stages = [stage for stage in STAGES if native or not stage.threads]
    projects = []
    for stage in stages:
        print(f"{board.name}: {stage.name}          ", end="\r", file=sys.stderr)
        path = folder / board.name / stage.name
        projects.append(compiled(model, board.name, stage, arguments.threads, path))
    names: list[str] = []
    found: list[list[float]] = [[] for _ in projects]
    if arguments.predict:
        pass
    elif native:
        names, found = ["ms"], times(projects, arguments.rounds, arguments.runs)
    else:
        emulated = Emulated(board, folder)
        names, found = emulated.names, [emulated.of(project) for project in projects]
    names = ["ms predicted", *names]
    found = [
        [p.report["time"]["predicted_ms"] or 0.0, *f] for p, f in zip(projects, found, strict=True)
    ]
    made = Table(model.stem, *(w for n in names for w in (n, "")), title=board.name, box=None)
    for stage, numbers in zip(stages, found, strict=True):
        cells = (
            cell
            for number, first in zip(numbers, found[0], strict=True)
            for cell in (f"{number:.2f}", f"{first / number:.2f}" if number else "")
        )
        made.add_row(stage.name, *cells)
    return made


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--boards", default=BOARDS)
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--predict", action="store_true", help="build and run nothing")
    arguments = parser.parse_args()
    for model in arguments.models:
        for name in arguments.boards.split(","):
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                path = resized(model, arguments.size, folder) if arguments.size else model
                Console(width=140).print(table(path, boards.load(name), arguments, folder))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EdgeconvError as error:
        sys.exit(f"gains: {error.one_line()}")
