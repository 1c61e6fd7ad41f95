"""Instructions of int8 against float32, counted under QEMU.

    python bench/int8_counts.py --board raspberry-pi-5 [--board odroid-xu3 ...] [--only 3x3]
    python bench/int8_counts.py --board raspberry-pi-4 MODEL.onnx [MODEL.onnx ...]

Without models, convolutions of ResNet's and MobileNet's sizes: what one call executes in float32,
by the direct algorithm that takes the fewest, and in integers by each that there is, packing and
requantisation included; beside them Winograd in float32.  Last the geometric means of the ratios to
the first.  A ratio in brackets: by price the board computes it otherwise.

With models, which must be quantised, one inference of each: results stored in float32, in int8
where that is predicted to be faster, and in int8 everywhere.

A board without an emulator is counted on QEMU's x86-64 with all that it knows (no AVX-512).
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from convtime.cases import Candidate, CaseOptions, Convolution, candidates
from counting.program import Counter, build_plugin, executed
from telling import errors_told

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.ir.activation import Activation, grid
from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.encoding import FLOAT32, INT8, int8
from edgeconv.ir.filters import without_storage
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.kernels import algorithms
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.run.build.project import Project
from edgeconv.run.build.run import run_command
from edgeconv.search.choose import select
from edgeconv.search.choose.winograd import LAYER_ERROR, NAME, forms_within
from edgeconv.target import board as boards
from edgeconv.target.board import Board
from edgeconv.target.targets import Target

# Input channels, filters, side of the input, of the kernel, stride.
UNIT_STRIDE = ((64, 64, 56, 3, 1), (128, 128, 28, 3, 1), (256, 256, 14, 3, 1))
PACKED = (*UNIT_STRIDE, (64, 256, 28, 1, 1), (256, 64, 28, 1, 1), (64, 128, 56, 3, 2))
DEPTHWISE = (
    *((32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 3, 1), (144, 56, 3, 2)),
    *((384, 14, 3, 1), (576, 14, 3, 2), (960, 7, 3, 1), (64, 25, 3, 1), (72, 28, 5, 1)),
)
WAYS = {"float32": {"*:output": "float32"}, "by price": {}, "int8": {"*:output": "int8"}}


def convolution(
    in_c: int, out_c: int, side: int, kernel: int, stride: int, groups: int = 1
) -> Convolution:
    """One between results of int8 that are at least 0, of filters that int8 holds."""
    rng = np.random.default_rng(out_c)
    per, half = in_c // groups, kernel // 2
    out = (side + 2 * half - kernel) // stride + 1
    units = 2.0 ** rng.uniform(-8, -7, out_c).astype(np.float32)
    filters = rng.integers(-127, 128, (out_c, per, kernel, kernel)) * units.reshape(-1, 1, 1, 1)
    spacing = float(np.float32(4.5 * units.mean() * kernel * per**0.5))
    tensors = (
        Tensor("x", (1, in_c, side, side), storage=int8(0.05, -128)),
        Tensor("w", filters.shape, data=filters.astype(np.float32)),
        Tensor("b", (out_c,), data=np.zeros(out_c, np.float32)),
        Tensor("y", (1, out_c, out, out), storage=int8(spacing, -128)),
    )
    attrs = {
        "kernel": (kernel, kernel),
        "strides": (stride, stride),
        "dilations": (1, 1),
        "pads": (half,) * 4,
        "groups": groups,
        "storage": INT8.scaled(units),
    }
    epilogue = Epilogue(before=grid(spacing, 0, 255))
    node = Node("conv", "Conv", ("x", "w", "b"), ("y",), attrs=attrs, epilogue=epilogue)
    graph = Graph("convolution", (node,), {t.name: t for t in tensors}, ("x",), ("y",))
    return Convolution(problem_of(node, graph), node, graph)


def in_float32(whole: Convolution) -> Convolution:
    """The same of float32, behind a ReLU6."""
    epilogue = Epilogue(before=Activation("clip", 0.0, 6.0))
    node = replace(without_storage(whole.node), epilogue=epilogue)
    tensors = {name: replace(whole.graph[name], storage=FLOAT32) for name in "xy"}
    graph = replace(whole.graph.with_tensors(tensors), nodes=(node,))
    return Convolution(problem_of(node, graph), node, graph)


def ways(whole: Convolution, target: Target) -> tuple[list[Candidate], list[Candidate]]:
    """Those of float32, and those beside them: of integers, none where the target has none, and
    Winograd's in float32."""
    real = in_float32(whole)
    found = algorithms.applicable(whole.node, whole.graph, target)
    names = {each.algorithm for each in found if each.compute == INTEGERS}
    integers = {each.name: each for each in candidates(whole, target, CaseOptions())}
    beside = [each for name, each in integers.items() if name in names]
    return list({each.name: each for each in candidates(real, target, CaseOptions())}.values()), [
        *beside,
        *(in_few_products(real, target) if beside else ()),
    ]


def in_few_products(real: Convolution, target: Target) -> list[Candidate]:
    """Winograd's, in the form of the least work among those of a usual error; none of others."""
    forms = forms_within(real.graph, {real.node.name: LAYER_ERROR})
    if real.node.name not in forms:
        return []
    asked = replace(real.node.request, winograd_forms=forms[real.node.name])
    node = replace(real.node, request=asked)
    graph = replace(real.graph, nodes=(node,))
    found = candidates(Convolution(problem_of(node, graph), node, graph), target, CaseOptions())
    return [each for each in found if each.name == NAME][:1]


def chosen(whole: Convolution, target: Target) -> str:
    """The algorithm of the lowest price."""
    (layer,) = (each for each in select(whole.graph, target).layers if each.candidate)
    return layer.algorithm


def layers_of(only: str) -> list[Convolution]:
    """The convolutions to count."""
    packed = [convolution(*shape) for shape in PACKED]
    depthwise = [convolution(c, c, side, k, stride, c) for c, side, k, stride in DEPTHWISE]
    small = [convolution(*shape) for shape in UNIT_STRIDE]
    of_kind = {"packed": packed, "depthwise": depthwise, "3x3": small}
    return of_kind.get(only, packed + depthwise)


def print_layers(board: Board, layers: Sequence[Convolution]) -> None:
    """A line for each; ratios above one: integers take fewer instructions."""
    found = [(layer, *ways(layer, board.target)) for layer in layers]
    counted = [(layer, real, others) for layer, real, others in found if others]
    if not counted:
        print(f"{board.name} ({board.isa}) computes none of them in integers")
        return
    print(f"{f'{board.name} ({board.isa})':32}{'float32':>22}")
    logarithms: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        flat = [way for _, real, others in counted for way in (*real, *others)]
        counter, numbers = Counter(board, flat, Path(folder)), iter(range(len(flat)))
        for layer, real, others in counted:
            counts = {way.name: counter.instructions(next(numbers)) for way in real}
            least = min(counts, key=lambda name: counts[name])
            columns, taken = f"{least:>10}{counts[least]:12,}", chosen(layer, board.target)
            for way in others:
                whole = counter.instructions(next(numbers))
                ratio = counts[least] / whole
                logarithms.setdefault(way.name, []).append(math.log(ratio))
                shown = f"{ratio:.2f}" if way.name == taken else f"({ratio:.2f})"
                columns += f"{way.name:>16}{whole:14,}{shown:>9}"
            print(f"{layer.label:32}{columns}", flush=True)
    for name, each in logarithms.items():
        mean = math.exp(sum(each) / len(each))
        print(f"{board.name}: {name}, {len(each)} convolutions, geometric mean {mean:.2f}")


def inference(model: Path, board: Board, storage: dict[str, str], folder: Path) -> tuple[int, int]:
    """Instructions of one, and how many layers are computed in integers: two less one."""
    options = CompileOptions(model, board.name, name="net", storage=storage)
    project, _ = pipeline.compile_model(options, folder)
    binary, plugin = project.build(), build_plugin(folder)
    data = folder / "input.bin"
    data.write_bytes(bytes(sum(port.bytes for port in Project.open(folder).inputs)))
    once, twice = (
        executed(run_command(binary.path, board, arguments), plugin, board, folder)
        for arguments in (
            ("--input", str(data), "--output", str(folder / "out.bin"), "--runs", str(runs))
            for runs in (1, 2)
        )
    )
    layers = project.report["layers"]
    return twice - once, sum(layer["plan"].get("compute") == INTEGERS for layer in layers)


def print_networks(board: Board, models: Sequence[Path]) -> None:
    """A line for each: millions of instructions, and layers in integers in brackets."""
    print(f"{f'{board.name} ({board.isa})':32}" + "".join(f"{name:>20}" for name in WAYS))
    for model in models:
        columns = []
        for storage in WAYS.values():
            with tempfile.TemporaryDirectory() as folder:
                count, layers = inference(model, board, storage, Path(folder))
            columns.append(f"{f'{1e-6 * count:.3f} ({layers})':>20}")
        print(f"{model.stem[:31]:32}" + "".join(columns), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", action="append", required=True)
    parser.add_argument("--only", choices=("packed", "depthwise", "3x3"), default="")
    args = parser.parse_args()
    with errors_told():
        for board in map(boards.load, args.board):
            if args.models:
                print_networks(board, args.models)
            else:
                print_layers(board, layers_of(args.only))
    return 0


if __name__ == "__main__":
    sys.exit(main())
