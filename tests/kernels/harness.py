"""Run kernels through the real path: lower() -> template -> compiler -> process, against numpy.

A test describes operations and asks for one case per layout that the operator offers::

    spec = Spec("Pool", {"x": x}, shape, attrs={...}, after=Activation("relu"), tolerance=4)
    check(build, [case for spec in specs for case in spec.cases(build.target)], folder)

What they must compute comes from the float64 interpreter of the tests.

``build`` is the fixture of conftest.py: an instruction set, a compiler, how to run its programs.
All cases become one C program; bodies that render equal share one function, as in what edgeconv
emits.  Each case runs once with separate buffers, once per alias that its layer allows, and, when
all aliases are exact, once with all of them granted.  Every buffer is an allocation of its exact
size, so that the sanitizers of the native build see each byte read or written outside; outputs
start as NaN.

``tolerance`` is in units of 2^-23 of max(|expected|, scale): relative to each element with the
default scale of 0.  0 asks for equality.  Constants are named in ``constants``.

``storage`` names formats of run-time tensors ("out" is the output).  Inputs are then numbers that
their format has, and of the output it is asked what the format makes of a result within the
tolerance.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.codegen.amalgamate import (
    ON_INTEGERS,
    amalgamate,
    micro_kernel_list,
    quantised_table,
)
from edgeconv.codegen.functions import FunctionTable, environment
from edgeconv.codegen.pruning import pruned
from edgeconv.codegen.routines import routines_header
from edgeconv.codegen.weights import encoded
from edgeconv.encoding import FLOAT32, Encoding
from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.choice import Alias, ArgKind, Layer, tensor_bytes
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.ir.straight_line import Routine
from edgeconv.lowering.calls import constants_as_blobs, merge_headers
from edgeconv.lowering.options import LayoutOption
from edgeconv.ops import operators
from edgeconv.storage import format_called, format_of
from edgeconv.targets import Target
from tests.ir_interpreter import evaluate
from tests.kernels import once
from tests.shared_objects import intrinsics

ROOT = Path(__file__).resolve().parents[2]
ULP = 2.0**-23

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Build:
    """A target, the compiler command for it, and the command that runs its programs.

    With the options ``trapping`` programs take less time to compile, and a violation ends them
    without a description: one that fails is compiled again without them.  ``compiled_once``:
    kernels are functions that take sizes at run time (``tests.kernels.once``).  ``check`` tries of
    its cases those that ``some`` picks, if given.
    """

    name: str
    target: Target
    compiler: tuple[str, ...]
    runner: tuple[str, ...] = ()
    trapping: tuple[str, ...] = ()
    compiled_once: bool = False
    some: Callable[[Sequence[Case]], list[Case]] | None = None


@dataclass(frozen=True)
class Case:
    """A kernel call, the values of its run-time inputs, and what it must write."""

    label: str
    layer: Layer
    graph: Graph
    values: Mapping[str, Array]
    expected: Array
    tolerance: float
    scale: float


@dataclass(frozen=True)
class Spec:
    """One operation: logical inputs by name in order ("" for an absent one), output shape.

    ``residual``, when given, is the epilogue's, or the name of an input that is it, too.
    ``options`` replaces what the operator offers.  ``storage``: formats of tensors that are not
    float32 in memory.
    """

    op: str
    inputs: Mapping[str, Array]
    shape: tuple[int, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    constants: tuple[str, ...] = ()
    before: Activation = NONE
    residual: Array | str | None = None
    after: Activation = NONE
    tolerance: float = 0.0
    scale: float = 0.0
    options: tuple[LayoutOption, ...] = ()
    storage: Mapping[str, str] = field(default_factory=dict)

    def graph(self) -> tuple[Graph, dict[str, Array]]:
        """A network of this operation alone, and the values of its inputs."""
        arrays = {name: value for name, value in self.inputs.items() if name}
        residual = "" if self.residual is None else "residual"
        if isinstance(self.residual, str):
            residual = self.residual
        elif self.residual is not None:
            arrays[residual] = self.residual
        for name in arrays.keys() & self.storage.keys():
            arrays[name] = format_called(self.storage[name]).rounded(arrays[name])
        epilogue = Epilogue(self.before, residual, self.after)
        attrs = dict(self.attrs)
        if "storage" in attrs:
            units = attrs.pop("units", ())
            attrs["storage"] = format_called(attrs["storage"]).encoding.scaled(units)
        node = Node("node", self.op, tuple(self.inputs), ("out",), attrs, epilogue)
        tensors = {
            name: Tensor(
                name, value.shape, str(value.dtype), data=value if name in self.constants else None
            )
            for name, value in arrays.items()
        }
        tensors["out"] = Tensor("out", self.shape)
        for name, form in self.storage.items():
            if name in tensors:
                tensors[name] = replace(tensors[name], storage=format_called(form).encoding)
        values = {name: value for name, value in arrays.items() if name not in self.constants}
        return Graph("test", (node,), tensors, tuple(values), ("out",)), values

    def expected(self) -> Array:
        """What it must compute, by the float64 interpreter."""
        return evaluate(*self.graph())["out"]

    def cases(self, target: Target, expected: Array | None = None) -> list[Case]:
        """One case per layout option that the operator offers on ``target``.

        ``expected``: for who has asked the interpreter already.
        """
        operator = operators()[self.op]
        assert operator.lower is not None
        graph, values = self.graph()
        (node,), tensors = graph.nodes, graph.tensors
        expected = self.expected() if expected is None else expected
        made = []
        for option in self.options or operator.layouts(node, graph, target):
            decided = {
                **dict(zip(node.reads(), option.reads, strict=True)),
                "out": option.writes[0],
            }
            laid_out = graph.with_tensors(
                {name: replace(t, layout=decided[name]) for name, t in tensors.items()}
            )
            shapes = " ".join(str(list(t.shape)) for t in tensors.values() if t.name != "out")
            label = f"{self.op} {shapes} {dict(self.attrs)} {node.epilogue} in {option.writes[0]}"
            label += f" {dict(self.storage)}" if self.storage else ""
            named = replace(node, attrs={**node.attrs, **option.attrs})
            layer = constants_as_blobs(operator.lower(named, laid_out, target), laid_out)
            made.append(Case(label, layer, laid_out, values, expected, self.tolerance, self.scale))
        return made


@dataclass(frozen=True)
class Run:
    """One call: a function, its arguments as (buffer, offset), and the places of its values.

    ``values`` are (buffer, offset, bytes) in the order of ``values_of``, ``out`` likewise.
    """

    case: Case
    function: str
    buffers: tuple[int, ...]
    args: tuple[tuple[int, int], ...]
    values: tuple[tuple[int, int, int], ...]
    out: tuple[int, int, int]


def _tensors_read(layer: Layer) -> list[str]:
    """The tensors that a kernel call reads, each once."""
    return list(dict.fromkeys(a.ref for a in layer.args if a.kind is ArgKind.INPUT))


def values_of(case: Case) -> Iterator[bytes]:
    """What a program reads from stdin for one run: packed constants, then inputs, as in memory."""
    for blob in case.layer.blobs:
        yield encoded(blob)
    for name in _tensors_read(case.layer):
        tensor = case.graph[name]
        packed = tensor.layout.pack(case.values[name].astype(tensor.dtype, copy=False))
        plain = tensor.storage == FLOAT32
        yield packed.tobytes() if plain else format_of(tensor.storage).encode(packed)


def _place(case: Case, granted: Sequence[Alias]) -> tuple[list[int], dict[str, tuple[int, int]]]:
    """Buffer sizes, and the buffer and offset of every argument's tensor, blob or workspace."""
    layer = case.layer
    sizes: list[int] = []
    places: dict[str, tuple[int, int]] = {}
    inner = {alias.inner: alias for alias in granted}
    blobs = {blob.name: blob.bytes for blob in layer.blobs}
    for arg in layer.args:
        if arg.kind is ArgKind.WEIGHTS:
            size, key = blobs[arg.ref], f"blob {arg.ref}"
        elif arg.kind is ArgKind.WORKSPACE:
            size, key = layer.workspace_bytes, "workspace"
        elif arg.ref in inner or arg.ref in places:
            continue
        else:
            size, key = tensor_bytes(case.graph[arg.ref]), arg.ref
        places[key] = (len(sizes), 0)
        sizes.append(size)
    for alias in granted:
        buffer, offset = places[alias.outer]
        places[alias.inner] = (buffer, offset + alias.offset)
        end = offset + alias.offset + tensor_bytes(case.graph[alias.inner])
        sizes[buffer] = max(sizes[buffer], end)  # an input may reach beyond what overlaps it
    return sizes, places


class Program:
    """Collects runs, each one kernel call with the aliases it was granted, and writes them as C."""

    def __init__(self, lanes: int) -> None:
        self.table = FunctionTable(environment(), "test", lanes)
        self.callers: dict[str, str] = {}
        self.runs: list[Run] = []
        self.headers: list[tuple[str, ...]] = []
        self.routines: list[Routine] = []

    def add(self, case: Case, granted: Sequence[Alias]) -> None:
        layer = case.layer
        name = self._function(layer, tuple(alias not in granted for alias in layer.aliases))
        self.headers.append(layer.headers)
        self.routines.extend(layer.routines)
        sizes, places = _place(case, granted)
        keys = {ArgKind.WEIGHTS: "blob {}", ArgKind.WORKSPACE: "workspace"}
        args = tuple(places[keys.get(arg.kind, "{}").format(arg.ref)] for arg in layer.args)
        values = [(*places[f"blob {blob.name}"], blob.bytes) for blob in layer.blobs]
        values += [(*places[n], tensor_bytes(case.graph[n])) for n in _tensors_read(layer)]
        buffer, offset = places[layer.node.output]
        out = (buffer, offset, tensor_bytes(case.graph[layer.node.output]))
        self.runs.append(Run(case, name, tuple(sizes), args, tuple(values), out))

    def _function(self, layer: Layer, copied: tuple[bool, ...]) -> str:
        """The function that calls the kernel with an array of pointers; "nothing" if it is free."""
        if layer.free_if_aliased and copied and not any(copied):
            return "nothing"
        name = self.table.call_of(layer, copied)[0].name
        passed = ", ".join(f"p[{i}]" for i in range(len(layer.args)))
        self.callers[f"call_{name}"] = (
            f"static void call_{name}(void *const *p)\n{{\n    {name}({passed});\n}}\n"
        )
        return f"call_{name}"

    def kernel_headers(self) -> tuple[str, ...]:
        """The headers that its layers name, in order."""
        return merge_headers(self.headers)

    def emitted(self, target: Target) -> str:
        """The program with its kernels before it as projects have them, without what it never comes
        to."""
        tensors = [t.storage for run in self.runs for t in run.case.graph.tensors.values()]
        blobs = [blob.storage for run in self.runs for blob in run.case.layer.blobs]
        kernels = amalgamate(
            target.header,
            self.kernel_headers(),
            stored=any(form != FLOAT32 for form in (*tensors, *blobs)),
            tensors=any(form != FLOAT32 for form in tensors),
            scaled=self._scaled(),
            routines=routines_header(environment(), self.routines),
            integer_routines=routines_header(environment(), self.routines, integers=True),
        )
        own = self._own(target)
        return pruned("\n".join(kernels), own) + own

    def including(self, target: Target) -> str:
        """The program, which includes its kernels."""
        headers = self.kernel_headers()
        text = [
            self._table(),
            micro_kernel_list(headers),
            '#include "ec_common.h"',
            f'#include "isa/{target.header}"',
            routines_header(environment(), self.routines),
        ]
        for name in headers:
            if name == ON_INTEGERS:
                text.append(routines_header(environment(), self.routines, integers=True))
            text.append(f'#include "kernels/{name}"')
        return "\n".join([*text, self._own(target)])

    def calling(self, target: Target) -> str:
        """The program, which calls kernels that are compiled."""
        table = ["#undef EC_Q8_TABLE", self._table()] if self._scaled() else []
        return "\n".join([*table, once.OWN_TABLE, self._own(target)])

    def _scaled(self) -> list[Encoding]:
        forms = (t.storage for run in self.runs for t in run.case.graph.tensors.values())
        return [form for form in dict.fromkeys(forms) if form.scale]

    def _table(self) -> str:
        scaled = self._scaled()
        return quantised_table(scaled) if scaled else ""

    def _own(self, target: Target) -> str:
        """Functions and tables: reads the values of every run in turn, writes every output.

        Its argument, if any, is the number of the run to begin with.
        """
        text = [f"__attribute__((noinline)) {f.text}" for f in self.table.functions.values()]
        text += self.callers.values()
        text.append("static __attribute__((unused)) void nothing(void *const *p) { (void)p; }")
        most = max(len(run.args) for run in self.runs) + max(len(r.values) for r in self.runs) + 1
        text.append(f"enum {{ MOST = {most}, ALIGN = {target.align} }};")
        text.append((Path(__file__).parent / "run_table.c").read_text())
        text.append("static const run runs[] = {")
        for run in self.runs:
            args = ", ".join(f"{{{b}, {o}, 0}}" for b, o in run.args)
            values = ", ".join(f"{{{b}, {o}, {v}}}" for b, o, v in run.values) or "{0, 0, 0}"
            text.append(
                f"    {{{run.function}, {len(run.buffers)}, {{{', '.join(map(str, run.buffers))}}},"
                f" {len(run.args)}, {{{args}}}, {len(run.values)}, {{{values}}},"
                f" {{{', '.join(map(str, run.out))}}}}},"
            )
        text.append("};")
        text += ["int main(int argc, char **argv)", "{"]
        text.append("    const size_t first = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;")
        text += ["    return play(runs + first, sizeof runs / sizeof *runs - first);", "}"]
        return "\n".join(text) + "\n"


def compile_program(
    build: Build, program: Program, folder: Path, options: Sequence[str] = ()
) -> Path:
    """The binary, beside its source in ``folder``; RuntimeError with the compiler's message."""
    source, binary = folder / "kernels.c", folder / "kernels"
    command = [*build.compiler, *options, *build.target.flags]
    command += once.options(build.compiler[0]) if build.compiled_once else ()
    if build.compiled_once and not program.routines:
        calling = once.calling(command)
        kernels = once.compiled_kernels(
            command, build.target, program.kernel_headers(), calling=calling
        )
        source.write_text(program.calling(build.target))
        command = [*calling, "-include", str(kernels.header), str(source), str(kernels.object)]
    else:
        target = build.target
        if build.compiled_once:
            source.write_text(once.as_functions(program.including(target), target))
        else:
            source.write_text(program.emitted(target))
        isa = (ROOT / "runtime_c" / "isa" / build.target.header).read_text()
        known = intrinsics(command, isa, once.STORE) if once.STORE else []
        command += [*known, f"-I{ROOT / 'runtime_c'}", str(source)]
    compiled = subprocess.run(
        [*command, "-o", str(binary)], capture_output=True, text=True, check=False
    )
    if compiled.returncode:
        raise RuntimeError(f"{build.name}: {compiled.stderr[:4000]}")
    return binary


def execute(build: Build, cases: Sequence[Case], folder: Path) -> list[tuple[Case, Array]]:
    """Compile all cases into one program, run it, and return every run's logical output."""
    program = Program(build.target.lanes)
    for case in cases:
        aliases = case.layer.aliases
        grants: list[tuple[Alias, ...]] = [(), *((alias,) for alias in aliases)]
        if len(aliases) > 1 and all(alias.exact for alias in aliases):
            grants.append(tuple(aliases))
        for granted in grants:
            program.add(case, granted)
    written = _play(build, program, folder)
    results, at = [], 0
    for played in program.runs:
        out = played.case.graph[played.case.layer.node.output]
        memory = format_of(out.storage).decode(written[at : at + played.out[2]])
        results.append((played.case, out.layout.unpack(memory, out.shape)))
        at += played.out[2]
    assert at == len(written)
    return results


def _play(build: Build, program: Program, folder: Path) -> bytes:
    """What the program writes."""
    data = b"".join(value for run in program.runs for value in values_of(run.case))

    def play(options: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        binary = compile_program(build, program, folder, options)
        command = [*build.runner, str(binary)]
        return subprocess.run(command, input=data, capture_output=True, check=False)

    done = play(build.trapping)
    if done.returncode:
        described = play(()) if build.trapping else done
        raise AssertionError(
            f"{build.name}: ended with {done.returncode}\n{described.stderr.decode()[:4000]}"
        )
    return done.stdout


def check(build: Build, cases: Sequence[Case], folder: Path) -> None:
    """Every run of every case that the build tries is within its case's tolerance."""
    assert cases, "no cases"
    cases = build.some(cases) if build.some else cases
    failures = []
    for case, got in execute(build, cases, folder):
        want = case.expected.astype(np.float64)
        with np.errstate(invalid="ignore"):
            allowed = case.tolerance * ULP * np.maximum(np.abs(want), case.scale)
            low, high = want - allowed, want + allowed
            form = format_of(case.graph[case.layer.node.output].storage)
            if form.name != "float32":  # rounding keeps the order
                low, high = (form.rounded(edge).astype(np.float64) for edge in (low, high))
            bad = ~(
                ((low <= got) & (got <= high)) | (got == want) | (np.isnan(got) & np.isnan(want))
            )
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            failures.append(
                f"{case.label}: {bad.sum()} of {bad.size} differ, first at {where}: "
                f"got {got[where]!r}, expected {want[where]!r}"
            )
    assert not failures, f"{build.name}, {len(failures)} failed:\n" + "\n".join(failures[:20])
