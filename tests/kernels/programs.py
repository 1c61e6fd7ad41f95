"""Programs of kernel calls: each with buffers of its own, values from stdin, outputs to stdout."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

from edgeconv.codegen import amalgamate
from edgeconv.codegen.amalgamate import ON_INTEGERS, micro_kernel_list, quantised_table
from edgeconv.codegen.equal_constants import encoded
from edgeconv.codegen.functions import FunctionTable, environment
from edgeconv.codegen.instances import headers_on_float16
from edgeconv.codegen.pruning import pruned
from edgeconv.codegen.routines import routines_header
from edgeconv.ir.candidate import HALF
from edgeconv.ir.choice import Alias, ArgKind, Layer, tensor_bytes
from edgeconv.ir.encoding import FLOAT32, Encoding
from edgeconv.ir.requantisation.scalings import FIXED
from edgeconv.ir.straight_line import Routine
from edgeconv.kernels import headers
from edgeconv.kernels.lowering.calls import merge_headers
from edgeconv.kernels.storage import format_of
from edgeconv.target.targets import Target
from tests.kernels import once
from tests.kernels.cases import Build, Case
from tests.shared_objects import intrinsics


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

    def __init__(self, target: Target) -> None:
        half = target.float16.lanes if target.float16 else 0
        self.table = FunctionTable(environment(), "test", target.lanes, half)
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

    @property
    def scaling(self) -> str:
        """That of the sums of all its layers in integers, which have the same one."""
        found = {layer.scaling for run in self.runs if (layer := run.case.layer).scaling} or {FIXED}
        assert len(found) == 1, found
        return found.pop()

    def kernel_headers(self) -> tuple[str, ...]:
        """The headers that its layers name, in order."""
        return merge_headers(self.headers)

    def emitted(self, target: Target) -> str:
        """The program with its kernels before it as projects have them, without what it never comes
        to."""
        tensors = [t.storage for run in self.runs for t in run.case.graph.tensors.values()]
        blobs = [blob.storage for run in self.runs for blob in run.case.layer.blobs]
        kernels: Iterator[str] = amalgamate.amalgamate(
            target.header,
            self.kernel_headers(),
            stored=any(form != FLOAT32 for form in (*tensors, *blobs)),
            tensors=any(form != FLOAT32 for form in tensors),
            scaled=self._scaled(),
            routines=routines_header(environment(), self.routines),
            integer_routines=routines_header(environment(), self.routines, integers=True),
            scaling=self.scaling,
        )
        if target.float16 and any(run.case.layer.compute == HALF for run in self.runs):
            routines = routines_header(environment(), self.routines)
            names = self.kernel_headers()
            kernels = chain(kernels, headers_on_float16(target.float16, names, routines))
        own = self._own(target)
        return pruned("\n".join(kernels), own) + own

    def including(self, target: Target) -> str:
        """The program, which includes its kernels."""
        headers = self.kernel_headers()
        text = [
            self._table(),
            micro_kernel_list(headers),
            '#include "ec_common.h"',
            f'#include "{target.header}"',
            routines_header(environment(), self.routines),
        ]
        for name in headers:
            if name == ON_INTEGERS:
                text.append(routines_header(environment(), self.routines, integers=True))
            text.append(f'#include "{name}"')
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
    """The binary, beside its source in ``folder``; RuntimeError with the compiler's message.  Skips
    what the build is without, by name."""
    if lacked := set(build.without).intersection(program.kernel_headers()):
        pytest.skip(f"{build.name} has no {', '.join(sorted(lacked))}")
    source, binary = folder / "kernels.c", folder / "kernels"
    command = [*build.compiler, *options, *build.target.flags]
    compiled_once = build.compiled_once and program.scaling == FIXED
    command += once.options(build.compiler[0]) if compiled_once else ()
    if compiled_once and not program.routines:
        calling = once.calling(command)
        kernels = once.compiled_kernels(
            command, build.target, program.kernel_headers(), calling=calling
        )
        source.write_text(program.calling(build.target))
        command = [*calling, "-include", str(kernels.header), str(source), str(kernels.object)]
    else:
        target = build.target
        if compiled_once:
            source.write_text(once.as_functions(program.including(target), target))
        else:
            source.write_text(program.emitted(target))
        isa = headers.find(build.target.header).read_text()
        known = intrinsics(command, isa, once.STORE) if once.STORE else []
        command += [*known, *headers.include_flags(), str(source)]
    compiled = subprocess.run(
        [*command, "-o", str(binary)], capture_output=True, text=True, check=False
    )
    if compiled.returncode:
        raise RuntimeError(f"{build.name}: {compiled.stderr[:4000]}")
    return binary
