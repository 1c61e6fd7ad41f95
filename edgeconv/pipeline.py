"""The stages, in order: the only file that sees them all."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from edgeconv import bench as timing
from edgeconv import board as boards
from edgeconv import choose, frontend, memory, passes
from edgeconv.board import Board
from edgeconv.build import find_compiler
from edgeconv.build.abi import check_objects
from edgeconv.build.cross import cross
from edgeconv.build.footprint import footprint
from edgeconv.build.image import check_image, check_network
from edgeconv.build.project import Project
from edgeconv.build.project import render as render_report
from edgeconv.codegen.c_names import prefix as c_prefix
from edgeconv.codegen.emit import EmitOptions, emit, weight_image
from edgeconv.codegen.source_tree import SourceTree
from edgeconv.errors import EdgeconvError, Exit
from edgeconv.ir.choice import Choice
from edgeconv.ir.graph import Graph
from edgeconv.ir.layout import Shape
from edgeconv.ir.memory import MemoryMap
from edgeconv.memory.link import link_plan
from edgeconv.report import document
from edgeconv.report.document import Facts, Report
from edgeconv.report.explain import explain
from edgeconv.report.text import budget_lines
from edgeconv.targets import Target
from edgeconv.verify import DEFAULT_TOLERANCE, Verification, model_file, verify

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What to compile, for what, and what is asked of the result.

    ``name``: prefix of files and symbols, "" for one made from the model's file name.  ``ram`` and
    ``flash``: budgets in bytes; where absent, what the board has.  ``storage``: formats of filters
    by layer, ``*`` for all; with ``rounded`` the filters are float32 of the values that remain.
    """

    model: Path
    board: str
    name: str = ""
    input_shapes: Mapping[str, Shape] = field(default_factory=dict)
    algorithms: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict)
    ram: int | None = None
    flash: int | None = None
    io: str = "caller"
    weights_as_c: bool = False
    rounded: bool = False

    @property
    def prefix(self) -> str:
        """The prefix in use.  Raises EdgeconvError (exit status 2) when it is no C prefix."""
        if not self.name:
            return c_prefix(self.model.stem)
        if c_prefix(self.name) != self.name:
            raise EdgeconvError(
                "--name",
                got=repr(self.name),
                rule="a prefix is a lower-case C identifier, and no file of every project",
                hint=f"{c_prefix(self.name)!r} would do",
                code=Exit.USAGE,
            )
        return self.name

    def command(self) -> str:
        """The command line that says the same from any directory: what the banner quotes."""
        words = ["edgeconv", "compile", self.model.name, "--board", self.board, *self._optional()]
        return shlex.join(words)

    def _optional(self) -> Iterator[str]:
        if self.name:
            yield from ("--name", self.name)
        for name, shape in sorted(self.input_shapes.items()):
            yield from ("--input-shape", f"{name}={'x'.join(map(str, shape))}")
        for layer, algorithm in sorted(self.algorithms.items()):
            yield from ("--algorithm", f"{layer}={algorithm}")
        for layer, form in sorted(self.storage.items()):
            yield from ("--storage", f"{layer}={form}")
        for option, size in (("--ram", self.ram), ("--flash", self.flash)):
            if size is not None:
                yield from (option, str(size))
        if self.io != "caller":
            yield from ("--io", self.io)
        if self.weights_as_c:
            yield from ("--weights", "c")


@dataclass(frozen=True, slots=True)
class Decided:
    """Every decision about a model on a board, and the report of them."""

    options: CompileOptions
    board: Board
    choice: Choice
    memory: MemoryMap
    report: Report


def decide(options: CompileOptions, step: Step = lambda _: None) -> Decided:
    """Everything but emission.  Raises EdgeconvError for a model that cannot be compiled."""
    board = boards.load(options.board)
    step("reading the model")
    graph = frontend.load(options.model, input_shapes=options.input_shapes)
    step("simplifying the graph")
    graph = passes.optimise(graph)
    step("choosing layouts and kernels")
    decided = _choose(options, board, graph, board.target)
    if decided.report["budget"]["ram"] and budget_lines(decided.report):
        step("choosing again without workspaces")
        lean = replace(board.target, outer=())  # no algorithm that packs its input
        try:
            smaller = _choose(options, board, graph, lean)
        except EdgeconvError:  # the user asked for one that does
            return decided
        return min((decided, smaller), key=lambda d: d.report["ram"]["total"])
    return decided


def _choose(options: CompileOptions, board: Board, graph: Graph, target: Target) -> Decided:
    """Kernels for ``target``, their memory, and the report of both."""
    choice = choose.select(
        graph,
        target,
        io=options.io,
        algorithms=options.algorithms,
        storage=options.storage,
        rounded=options.rounded,
    )
    plan = memory.fit(choice, board, options.ram)
    facts = Facts(
        name=options.prefix,
        model_file=options.model.name,
        weights_bytes=weight_image(choice, plan).bytes,
        weights_as_c=options.weights_as_c,
        ram_budget=board.ram_bytes if options.ram is None else options.ram,
        flash_budget=board.flash_bytes if options.flash is None else options.flash,
    )
    return Decided(options, board, choice, plan, document.build_report(choice, plan, board, facts))


def compile_model(
    options: CompileOptions, directory: Path, *, build: bool = False, step: Step = lambda _: None
) -> tuple[Project, tuple[str, ...]]:
    """Compile to ``directory``: the project, and the notes about the model for the user.

    ``build`` compiles the C as well and holds the size of the code against the flash budget.
    Raises EdgeconvError, and then ``directory`` is as it was: the model cannot be compiled, a
    budget is exceeded, the directory cannot be written, the C cannot be built.
    """
    decided = decide(options, step)
    _require_budgets(decided.report, known=build)
    if build:
        find_compiler(decided.board)  # before anything long
    step("emitting")
    tree = _emit(decided)
    tree.write(directory.resolve(), _build_and_judge(step) if build else lambda _: None)
    model_file.remember(decided.choice.graph.sha256, options.model)
    return Project.open(directory), decided.choice.graph.notes


def verify_project(
    directory: Path,
    *,
    model: Path | None = None,
    inputs: Path | None = None,
    layers: bool = False,
    tolerance: float | None = None,
    step: Step = lambda _: None,
) -> Verification:
    """Build and run the project, compare it with its model, and note the error in its report.

    ``tolerance``: of the difference from the model.  Without one, a project that stores weights in
    other formats than float32 is held to the same network with rounded weights instead: what is
    left then is no rounding of weights.
    """
    project = Project.open(directory)
    source = model_file.find(project, model)
    limit = DEFAULT_TOLERANCE if tolerance is None else tolerance
    with TemporaryDirectory() as folder:
        twin = _twin(project, source, Path(folder)) if tolerance is None else None
        result = verify(
            project, source, inputs=inputs, layers=layers, tolerance=limit, twin=twin, step=step
        )
    report = project.report if layers else _measured(project)
    project.write_report(document.with_accuracy(report, result))
    return result


def _twin(project: Project, model: Path, folder: Path) -> Project | None:
    """The project's network with weights rounded as it stores them, but in float32; None where it
    stores all in float32.  It runs on this machine where the project is firmware."""
    stored = {
        layer["name"]: str(layer["storage"]["weights"])
        for layer in project.report["layers"]
        if layer["storage"]["weights"] in choose.stored_formats()
    }
    if not stored:
        return None
    options = CompileOptions(
        model,
        "host" if project.is_firmware else project.report["board"],
        name=project.name,
        input_shapes={port.name: port.shape for port in project.inputs},
        storage=stored,
        rounded=True,
        ram=sys.maxsize,
        flash=sys.maxsize,
    )
    return compile_model(options, folder / project.name)[0]


def bench_project(
    directory: Path, *, runs: int, layers: bool = False, step: Step = lambda _: None
) -> timing.Timing:
    """Build and time the project, and note the times in its report."""
    project = Project.open(directory)
    result = timing.bench(project, runs=runs, layers=layers, step=step)
    report = project.report if layers else _measured(project)
    project.write_report(document.with_times(report, result))
    return result


def explain_model(
    options: CompileOptions,
    *,
    layer: str = "",
    threads: int | None = None,
    step: Step = lambda _: None,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The choices for a model, and the notes about it; writes nothing.

    ``layer``: only this one, by name or number.  ``threads``: adds the bounds on what one of so
    many processors moves.
    """
    decided = decide(options, step)
    step("comparing with the lower bounds")
    explained = explain(
        decided.choice, decided.memory, decided.report, decided.board.target, layer, threads
    )
    return explained, decided.choice.graph.notes


def _emit(decided: Decided) -> SourceTree:
    options = decided.options
    emit_options = EmitOptions(
        name=options.prefix,
        board=decided.board.name,
        command=options.command(),
        flags=decided.board.flags,
        weights_as_c=options.weights_as_c,
        link=link_plan(decided.board, decided.memory, decided.report["flash"]["weights"]),
        cross=cross(decided.board),
    )
    return emit(decided.choice, decided.memory, emit_options, render_report(decided.report))


def _build_and_judge(step: Step) -> Callable[[Path], None]:
    """Builds a written project; raises when it then exceeds the flash budget."""

    def finish(directory: Path) -> None:
        step("building")
        project = Project.open(directory)
        try:
            report = _measured(project)
        except EdgeconvError as error:
            if error.details:  # says all there is to say
                raise
            # The log file that it names goes with the directory.
            hint = "compile without --build to keep what was emitted"
            raise EdgeconvError(error.what, got=error.got, hint=hint, code=error.code) from error
        _require_budgets(report, known=True)
        project.write_report(report)

    return finish


def _measured(project: Project) -> Report:
    """The project's report with the sizes of its program, which is built if need be.

    Raises EdgeconvError when what was built is not what the board or the report says.
    """
    binary = project.build()
    report = document.with_footprint(project.report, footprint(project, binary))
    check_objects(binary)
    if project.is_firmware:
        check_image(binary, report)
    else:
        check_network(binary, report, project.sources[0])
    return report


def _require_budgets(report: Mapping[str, Any], *, known: bool) -> None:
    """``known``: stack and variables are, or the linker will say."""
    lines = budget_lines(report, known=known)
    if lines:
        of_ram = any(line.startswith("ram") for line in lines)
        raise EdgeconvError(
            "does not fit",
            where=f"{report['model']['file']} on board {report['board']}",
            rule=lines[0],
            hint="`edgeconv explain` shows what is live at the memory peak"
            if of_ram
            else "weights take most of it: a smaller network, or a board with more flash",
            details=lines[1:],
        )
