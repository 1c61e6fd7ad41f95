"""Many convolutions through lower() -> template -> compiler -> process, against float64.

The convolutions of a batch are one program, whose runs go one at a time: write the values of a run
to its stdin, compute the reference while it works, read the output.  Memory is bounded by the
largest convolution.  A program that dies is started again after the run that it died in.

A batch is first lowered with weights that take no memory, for what is compiled must not depend on
their values; each run is lowered again with its own.
"""

from __future__ import annotations

import functools
import math
import multiprocessing
import subprocess
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.candidate import Candidate
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.request import Request
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels import algorithms
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.winograd.forms import forms_for
from edgeconv.kernels.algorithms.winograd.phases import Divided
from edgeconv.kernels.algorithms.winograd.plan import WinogradPlan, each_group
from edgeconv.kernels.algorithms.winograd.probable import probable_bound
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.target.targets import Target
from tests.convbench.reference import Doubles, convolve
from tests.convbench.table import Convolution
from tests.kernels.cases import Build, Case
from tests.kernels.programs import Program, compile_program, values_of

# Of the largest magnitude, per square root of the reduction length, by algorithms without a bound
# of their own.
TOLERANCE = 1e-6
BATCH = 48  # convolutions in one program

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Scope:
    """What to run of each convolution: an algorithm, all that apply if it is "" (of Winograd's
    algorithm no form does unless it is named), and layouts."""

    algorithm: str = ""
    every_layout: bool = False


EVERYTHING = Scope()  # by every algorithm, in its best layouts


@dataclass(frozen=True, slots=True)
class Task:
    """A convolution by one algorithm in one of the layouts that it offers."""

    convolution: Convolution
    algorithm: str
    layouts: LayoutOption

    def __str__(self) -> str:
        reads, writes = self.layouts.reads[0], self.layouts.writes[0]
        return f"{self.convolution}: {self.algorithm}, {reads} to {writes}"


@dataclass(frozen=True, slots=True)
class Result:
    """``ratio``: error over what is allowed; ``problem``: what kept the task from an output."""

    task: str
    ratio: float
    problem: str = ""

    @property
    def passed(self) -> bool:
        return not self.problem and self.ratio <= 1

    def __str__(self) -> str:
        return f"{self.task}: {self.problem or f'{self.ratio:.3g} times the allowed error'}"


@dataclass
class Report:
    """Results of a sweep, and the seconds spent compiling and running, over all processes."""

    results: list[Result] = field(default_factory=list)
    convolutions: int = 0
    compiling: float = 0.0
    running: float = 0.0

    def add(self, other: Report) -> None:
        self.results += other.results
        self.convolutions += other.convolutions
        self.compiling += other.compiling
        self.running += other.running

    @property
    def failures(self) -> list[Result]:
        return [result for result in self.results if not result.passed]

    def summary(self) -> str:
        """One line."""
        worst = max(self.results, key=lambda r: r.ratio, default=None)
        text = f"{self.convolutions} convolutions, {len(self.results)} runs"
        text += f", {len(self.failures)} failed"
        if worst:
            text += f"; largest error {worst.ratio:.3g} of the allowed ({worst.task})"
        return f"{text}; {self.compiling:.0f} s compiling, {self.running:.0f} s running"


def graph_of(conv: Convolution, algorithm: str, w: Array, b: Array) -> Graph:
    """A network of this convolution alone, by the named algorithm."""
    attrs = {
        "kernel": (conv.kernel_h, conv.kernel_w),
        "strides": (conv.stride_h, conv.stride_w),
        "dilations": (conv.dilation_h, conv.dilation_w),
        "pads": conv.pads,
        "groups": conv.groups,
    }
    # By Winograd's in no form unless it is named.
    asked = Request(algorithm, winograd_forms=forms_of(conv) if algorithm == "winograd" else ())
    inputs = ("x", "w", "b") if conv.bias else ("x", "w", "")
    tensors = {
        "x": Tensor("x", (1, conv.in_c, conv.in_h, conv.in_w)),
        "w": Tensor("w", w.shape, data=w),
        "out": Tensor("out", (1, conv.out_c, conv.out_h, conv.out_w)),
    }
    if conv.bias:
        tensors["b"] = Tensor("b", b.shape, data=b)
    node = Node("conv", "Conv", inputs, ("out",), attrs, request=asked)
    return Graph("test", (node,), tensors, ("x",), ("out",))


def forms_of(conv: Convolution) -> tuple[Nested, ...]:
    """The forms that it can be computed in."""
    kernel, strides = (conv.kernel_h, conv.kernel_w), (conv.stride_h, conv.stride_w)
    return tuple(points[0] for points in forms_for(*kernel, strides=strides))


def _weightless(conv: Convolution, algorithm: str) -> Graph:
    """Its weights are zeros that take no memory."""
    zero = np.float32(0)
    return graph_of(
        conv,
        algorithm,
        np.broadcast_to(zero, conv.weight_shape),
        np.broadcast_to(zero, (conv.out_c,)),
    )


def tasks_of(conv: Convolution, target: Target, scope: Scope) -> list[Task]:
    """The tasks of a convolution; none where no algorithm in scope applies."""
    graph, tasks = _weightless(conv, scope.algorithm), []
    node = graph.nodes[0]
    problem = problem_of(node, graph)
    for entry in algorithms.algorithms().values():
        if scope.algorithm in ("", entry.name) and entry.candidates(problem, target):
            options = entry.layouts(node, graph, target)
            chosen = options if scope.every_layout else options[:1]
            tasks += [Task(conv, entry.name, option) for option in chosen]
    return tasks


def _case(task: Task, graph: Graph, target: Target, x: Array, expected: Array) -> Case:
    """The kernel call with the task's layouts."""
    node = graph.nodes[0]
    decided = dict(zip(node.reads(), task.layouts.reads, strict=True))
    decided["out"] = task.layouts.writes[0]
    graph = graph.with_tensors(
        {name: replace(tensor, layout=decided[name]) for name, tensor in graph.tensors.items()}
    )
    layer = algorithms.lower(node, graph, target)
    return Case(str(task), layer, graph, {"x": x}, expected, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Seeded input, weights and bias of a convolution."""

    x: Array
    w: Array
    b: Array

    @staticmethod
    def of(conv: Convolution) -> _Numbers:
        rng = np.random.default_rng(zlib.crc32(str(conv).encode()))

        def numbers(*shape: int) -> Array:
            return rng.standard_normal(shape, np.float32)

        x = numbers(1, conv.in_c, conv.in_h, conv.in_w)
        return _Numbers(x, numbers(*conv.weight_shape), numbers(conv.out_c))

    def reference(self, conv: Convolution) -> Doubles:
        return convolve(conv, self.x[0], self.w, self.b if conv.bias else None)


def allowed_error(conv: Convolution, candidate: Candidate | None, want: Doubles) -> float:
    """What the largest error may be: of Winograd's algorithm what rounding makes probable in its
    form, for numbers as `_Numbers` has them."""
    if isinstance(candidate, ConvCandidate) and isinstance(candidate.plan, WinogradPlan):
        channels = Divided(each_group(candidate.problem)).unit.in_c
        return probable_bound(candidate.plan.form, channels, want.size)
    return TOLERANCE * math.sqrt(conv.depth) * float(np.abs(want).max())


def ratio(allowed: float, got: Array, want: Doubles) -> float:
    """The largest error over what is allowed; infinite if an element is not a number."""
    error = float(np.abs(got - want).max())
    return error / allowed if math.isfinite(error) else math.inf


class _Player:
    """The running program of a batch."""

    def __init__(self, build: Build, binary: Path) -> None:
        self.command = [*build.runner, str(binary)]
        self.process: subprocess.Popen[bytes] | None = None

    def send(self, run: int, values: Iterable[bytes]) -> None:
        """Give run number ``run`` its values; starts the program there if it is not running."""
        if self.process is None:
            self.process = subprocess.Popen(
                [*self.command, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert self.process.stdin
        try:
            for value in values:
                self.process.stdin.write(value)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # receive() tells

    def receive(self, size: int) -> bytes | int:
        """The output of a run, or the exit status of a program that died."""
        assert self.process
        assert self.process.stdout
        data = self.process.stdout.read(size)
        return data if len(data) == size else self.close()

    def close(self) -> int:
        """End the program; its exit status."""
        if self.process is None:
            return 0
        process, self.process = self.process, None
        try:
            process.communicate()
        except BrokenPipeError:
            process.wait()
        return process.returncode


def _play(build: Build, batch: Sequence[Task], binary: Path, sizes: Sequence[int]) -> Report:
    """Run every task of a compiled batch; ``sizes`` are the bytes of their outputs."""
    report = Report()
    player = _Player(build, binary)
    convolution, numbers, expected = None, None, None
    for number, (task, size) in enumerate(zip(batch, sizes, strict=True)):
        conv = task.convolution
        if conv != convolution or numbers is None:
            convolution, numbers, expected = conv, _Numbers.of(conv), None
        graph = graph_of(conv, task.algorithm, numbers.w, numbers.b)
        case = _case(task, graph, build.target, numbers.x, np.empty(0))
        player.send(number, values_of(case))
        if expected is None:
            expected = numbers.reference(conv)
        memory = player.receive(size)
        if isinstance(memory, int):
            report.results.append(Result(str(task), math.inf, f"died with status {memory}"))
            continue
        out = case.graph["out"]
        got = out.layout.unpack(np.frombuffer(memory, np.float32), out.shape)[0]
        allowed = allowed_error(conv, case.layer.candidate, expected)
        report.results.append(Result(str(task), ratio(allowed, got, expected)))
    player.close()
    return report


def run_batch(build: Build, convolutions: Sequence[Convolution], scope: Scope) -> Report:
    """Compile what ``scope`` asks for of these convolutions into one program and run it."""
    report, program, lowered = Report(), Program(build.target), []
    start = time.monotonic()
    for conv in convolutions:
        tasks = tasks_of(conv, build.target, scope)
        report.convolutions += bool(tasks)
        if not tasks and not scope.algorithm:
            report.results.append(Result(str(conv), math.inf, "no algorithm applies"))
        for task in tasks:
            try:
                graph = _weightless(conv, task.algorithm)
                program.add(_case(task, graph, build.target, np.empty(0), np.empty(0)), ())
                lowered.append(task)
            except EdgeconvError as error:
                report.results.append(Result(str(task), math.inf, str(error)))
    if not lowered:
        return report
    with tempfile.TemporaryDirectory() as folder:
        try:
            binary = compile_program(build, program, Path(folder))
        except RuntimeError as error:
            report.results += [Result(str(task), math.inf, str(error)) for task in lowered]
            return report
        report.compiling = time.monotonic() - start
        start = time.monotonic()
        report.add(_play(build, lowered, binary, [run.out[2] for run in program.runs]))
        report.running = time.monotonic() - start
    return report


def sweep(
    build: Build, convolutions: Sequence[Convolution], scope: Scope = EVERYTHING, jobs: int = 1
) -> Iterator[Report]:
    """A report per batch, in order; ``jobs`` batches at a time."""
    batches = [convolutions[i : i + BATCH] for i in range(0, len(convolutions), BATCH)]
    run = functools.partial(run_batch, build, scope=scope)
    if jobs == 1:
        yield from map(run, batches)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(run, batches)
