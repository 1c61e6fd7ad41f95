"""Instructions of networks' int8 layers by ESP-NN's C kernels beside the emitted program's.

    python bench/esp_nn.py MODEL.onnx [MODEL.onnx ...] --esp-nn FOLDER [--json]

FOLDER is a checkout of github.com/espressif/esp-nn.  A line for each model, millions of
instructions of one inference on RV32IMC (board generic-riscv32) under QEMU: of the whole emitted
program, of ESP-NN's optimised and of its reference kernels, and the first over the fewest of these.

ESP-NN is given what its users call for a network: convolutions, depthwise convolutions, dense
layers by channel, residual additions and average pools, in the shapes that the model has, of random
bytes; with the compiler and the flags of the board, at -O3.  What only moves or converts numbers,
and Softmax, is counted in the program alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from counting.firmware import layers_counted
from counting.program import HERE, build_plugin, executed
from telling import errors_told

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.choice import Choice
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.run.build import find_compiler
from edgeconv.target import board as boards
from edgeconv.target.board import Board

BOARD = "generic-riscv32"
EMULATOR = ("qemu-riscv32", "-cpu", "rv32,f=false,d=false")
KERNELS: Mapping[str, tuple[str, ...]] = {
    "optimised": ("-DCONFIG_NN_OPTIMIZED=1",),
    "reference": (),
}
CALLED = ("basic_math", "convolution", "fully_connected", "pooling")  # folders of sources
_STRING_H = """#include <stddef.h>
void *memset(void *to, int byte, size_t count);
void *memcpy(void *restrict to, const void *restrict from, size_t count);
"""
UNCOUNTED = frozenset({"Convert", "Dequantise", "Quantise", "Reshape", "Softmax", "Transpose"})


@dataclass(frozen=True, slots=True)
class Row:
    """Instructions of one inference: of the emitted program, and of ESP-NN's kernels."""

    model: str
    program: int
    optimised: int
    reference: int

    @property
    def ratio(self) -> float:
        """The program's over those of the better kernels."""
        return self.program / min(self.optimised, self.reference)

    def __str__(self) -> str:
        counts = (f"{1e-6 * n:12.3f}" for n in (self.program, self.optimised, self.reference))
        return f"{self.model:32}{''.join(counts)}{self.ratio:8.3f}"


def calls_of(node: Node, graph: Graph) -> Iterator[str]:
    """ESP-NN's calls for a node; none for what only moves or converts.  Raises EdgeconvError of an
    operator that is called nowhere here."""
    x, y = graph[node.inputs[0]], graph[node.output]
    if node.op == "Conv":
        yield _convolution(node, graph)
    elif node.op == "Dense":
        yield f"DENSE({x.shape[-1]}, {y.shape[-1]});"
    elif node.op == "Pool" and node.attrs["mode"] == "average":
        yield _pool(node, graph)
    elif node.op not in UNCOUNTED:
        raise EdgeconvError(
            f"no call of ESP-NN stands for {node.op}",
            where=f"node '{node.name}'",
            rule="layers are convolutions, dense layers, average pools and what is not counted",
            code=Exit.UNSATISFIED,
        )
    if node.epilogue.residual:
        yield f"ADD({y.elements});"


def _convolution(node: Node, graph: Graph) -> str:
    of = problem_of(node, graph)
    depthwise = of.groups == of.in_c > 1
    window = of.out_c if depthwise else of.in_c
    sizes = ((of.in_size, of.in_c), (of.kernel, window), (of.out_size, of.out_c))
    words = [f"SIZES({size[2]}, {size[1]}, {channels})" for size, channels in sizes]
    words += [str(of.out_c // of.in_c)] if depthwise else []
    pairs = (of.strides, of.pads, of.dilations)
    words += [f"{{{across}, {down}}}" for _, down, across in pairs]
    return f"{'DEPTHWISE' if depthwise else 'CONVOLUTION'}({', '.join(words)});"


def _pool(node: Node, graph: Graph) -> str:
    x, y, attrs = graph[node.inputs[0]].shape, graph[node.output].shape, node.attrs
    sizes = (x[2:], y[2:], attrs["strides"], attrs["kernel"], attrs["pads"][:2])
    words = [str(each) for size in sizes for each in reversed(size)]
    return f"AVERAGE_POOL({', '.join(words)}, {x[1]});"


def program_of(choice: Choice, order: Sequence[int]) -> str:
    """A C program without a library that makes ESP-NN's calls ``RUNS`` times.  Raises EdgeconvError
    as `calls_of`."""
    nodes, graph = [choice.layers[index].node for index in order], choice.graph
    calls = [call for node in nodes for call in calls_of(node, graph)]
    read = [graph[name] for node in nodes for name in node.inputs if name]
    filters = max(each.elements for each in read if each.is_constant)
    most = max(graph[node.output].elements for node in nodes)
    most = max(most, *(each.elements for each in read if not each.is_constant))
    body = "\n    ".join(("static void layers(void)\n{", *calls)) + "\n}\n"
    return f'enum {{ MOST = {most}, FILTERS = {filters} }};\n#include "esp_nn_calls.h"\n{body}'


def esp_nn(program: str, sources: Path, kernels: str, board: Board, folder: Path) -> int:
    """Instructions that the calls of ``program`` execute: those of two runs less those of one."""
    found = [path for name in ("ansi", "opt") for path in sources.glob(f"src/*/*_{name}.c")]
    found = sorted(path for path in found if path.parent.name in CALLED)
    if not found:
        raise EdgeconvError(
            "no sources of ESP-NN",
            where=str(sources),
            rule="has src/convolution/esp_nn_conv_ansi.c",
            hint="git clone github.com/espressif/esp-nn",
            code=Exit.MISSING_TOOL,
        )
    (folder / "calls.c").write_text(program, encoding="utf-8")
    (folder / "string.h").write_text(_STRING_H, encoding="utf-8")
    compiler, plugin = find_compiler(board), build_plugin(folder)
    flags = [
        *board.flags,
        "-O3",
        "-w",
        "-ffreestanding",
        "-nostdlib",
        "-static",
        "-ffunction-sections",
    ]
    flags += ["-Wl,--gc-sections", f"-I{HERE}", f"-I{folder}"]
    flags += [f"-I{sources}/include", f"-I{sources}/src/common", *KERNELS[kernels]]
    counts = []
    for runs in (1, 2):
        path = folder / f"{kernels}{runs}"
        command = [*compiler.command, *flags, f"-DRUNS={runs}", "calls.c", *map(str, found)]
        subprocess.run([*command, "-lgcc", "-o", str(path)], cwd=folder, check=True)
        counts.append(executed((*EMULATOR, str(path)), plugin, board, folder))
    return counts[1] - counts[0]


def row(model: Path, sources: Path) -> Row:
    """Raises EdgeconvError."""
    board = boards.load(BOARD)
    decided = pipeline.decide(CompileOptions(model, BOARD, "net"))
    program = program_of(decided.choice, decided.memory.order)
    with tempfile.TemporaryDirectory() as folder:
        counts = {each: esp_nn(program, sources, each, board, Path(folder)) for each in KERNELS}
    layers = layers_counted(decided.choice, decided.memory, board)
    return Row(model.stem, sum(each.instructions for each in layers), **counts)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--esp-nn", required=True, type=Path, metavar="FOLDER", dest="sources")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not given.json:
        print(f"{'':32}{'program':>12}{'optimised':>12}{'reference':>12}{'ratio':>8}")
    found = []
    for model in given.models:
        found.append(row(model, given.sources.resolve()))
        if not given.json:
            print(found[-1], flush=True)
    if given.json:
        print(json.dumps([{**asdict(each), "ratio": each.ratio} for each in found], indent=1))
    return 0


if __name__ == "__main__":
    with errors_told():
        sys.exit(main())
