"""Convolutions on pairs of bfloat16 against those in float32, natively on one core, in turn.

    python bench/bfloat16.py MODEL.onnx [--cpu 0] [--rounds 9] [--turn-ms 2] [--stored]

Every distinct convolution of the model of which both are possible is timed alone and warm at batch
1, without activation, all packing included; thread time, medians over the rounds.  Operands are
numbers that bfloat16 has, so that outputs must agree, and nothing is timed where they do not.
``--stored``: the input lies in memory as bfloat16 already.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from convtime.cases import Convolution, distinct
from convtime.program import Arena, Library, Program

from edgeconv.base.errors import EdgeconvError
from edgeconv.codegen.equal_constants import encoded
from edgeconv.ir.choice import ArgKind, Layer
from edgeconv.ir.graph import Graph
from edgeconv.ir.layout import blocked
from edgeconv.ir.request import Request
from edgeconv.kernels import algorithms
from edgeconv.kernels.storage import format_of, formats
from edgeconv.run.build import find_compiler
from edgeconv.target import board as boards
from edgeconv.target.targets import Target

BFLOAT16 = formats()["flyte16"]
TOLERANCE = 1e-5  # of the largest output
WAYS = ("direct", "bfloat16")


@dataclass(frozen=True, slots=True)
class Way:
    """A kernel call of one convolution, and the C function that it is."""

    name: str
    layer: Layer
    graph: Graph
    function: str


def _graph(entry: Convolution, target: Target, name: str, *, stored: bool) -> Graph:
    """The convolution alone: channels in blocks, in and out, of numbers that bfloat16 has."""
    xc, graph = blocked(target.lanes), entry.graph
    weights = BFLOAT16.rounded(graph["w"].constant()).astype(np.float32)
    asked = Request(name, storage=BFLOAT16.encoding if name == "bfloat16" else None)
    x = replace(graph["x"], layout=xc)
    if stored and name == "bfloat16":
        x = replace(x, storage=BFLOAT16.encoding)
    changed = {"x": x, "y": replace(graph["y"], layout=xc), "w": replace(graph["w"], data=weights)}
    return replace(graph.with_tensors(changed), nodes=(replace(entry.node, request=asked),))


def ways(entry: Convolution, target: Target, program: Program, *, stored: bool) -> list[Way]:
    """Both ways to compute a convolution; none where one does not apply."""
    found = []
    for name in WAYS:
        graph = _graph(entry, target, name, stored=stored)
        (node,) = graph.nodes
        if name not in {entry.algorithm for entry in algorithms.applicable(node, graph, target)}:
            return []
        named = replace(node, request=replace(node.request, algorithm=name))
        layer = algorithms.lower(named, graph, target)
        found.append(Way(name, layer, graph, program.add(layer)))
    return found


def _pointers(way: Way, image: npt.NDArray[np.float32], align: int) -> tuple[Arena, list[int], int]:
    """Operands in memory; the last number is that of the output."""
    layer, x, y = way.layer, way.graph["x"], way.graph["y"]
    packed = x.layout.pack(image)
    data = {"x": format_of(x.storage).encode(packed)}
    data |= {blob.name: encoded(blob) for blob in layer.blobs}
    sizes = [len(value) + 4 for value in data.values()] + [4 * y.elements, layer.workspace_bytes]
    arena, places = Arena(sizes, align), {}
    for name, value in data.items():
        place = arena.take(-(-len(value) // 4) * 4)
        place.view(np.uint8)[: len(value)] = np.frombuffer(value, np.uint8)
        places[name] = place
    places["y"] = arena.take(4 * y.elements)
    places[""] = arena.take(-(-layer.workspace_bytes // 4) * 4)
    found = [places[arg.ref].ctypes.data for arg in layer.args]
    at = next(i for i, arg in enumerate(layer.args) if arg.kind is ArgKind.OUTPUT)
    return arena, found, at


def _output(way: Way, pointers: list[int], at: int, library: Library) -> npt.NDArray[np.float32]:
    library.seconds(way.function, pointers, 1)
    y = way.graph["y"]
    memory = np.ctypeslib.as_array(
        (np.ctypeslib.ctypes.c_float * y.elements).from_address(pointers[at])  # type: ignore[attr-defined]
    )
    return y.layout.unpack(memory, y.shape).astype(np.float32)


def measure(
    entry: Convolution, found: list[Way], library: Library, align: int, rounds: int, turn: float
) -> dict[str, float]:
    """Median seconds by way.  Raises EdgeconvError when their outputs differ."""
    image = np.random.default_rng(1).standard_normal(entry.graph["x"].shape, np.float32)
    image = BFLOAT16.rounded(image).astype(np.float32)
    held = [_pointers(way, image, align) for way in found]
    outputs = [_output(w, p, at, library) for w, (_, p, at) in zip(found, held, strict=True)]
    error = float(np.abs(outputs[0] - outputs[1]).max() / np.abs(outputs[0]).max())
    if not error <= TOLERANCE:
        raise EdgeconvError("wrong result", where=entry.label, got=f"{error:.2g}")
    calls = [
        max(1, round(turn / library.seconds(way.function, pointers, 1)))
        for way, (_, pointers, _) in zip(found, held, strict=True)
    ]
    samples: list[list[float]] = [[] for _ in found]
    order = random.Random(1)
    for _ in range(rounds):
        for i in order.sample(range(len(found)), len(found)):
            samples[i].append(library.seconds(found[i].function, held[i][1], calls[i]))
    return {w.name: statistics.median(s) for w, s in zip(found, samples, strict=True)}


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--board", default="host")
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--turn-ms", type=float, default=2.0)
    parser.add_argument("--stored", action="store_true")
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.cpu})
    board = boards.load(options.board)
    program, target = Program(board), board.target
    cases = [
        (entry, count, ways(entry, target, program, stored=options.stored))
        for entry, count in distinct(options.model)
    ]
    cases = [case for case in cases if case[2]]
    total, logs, weights = dict.fromkeys(WAYS, 0.0), 0.0, 0
    print(f"{'convolution':32}{'times':>5}{'float32 us':>12}{'bfloat16 us':>12}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        library = program.build(Path(folder), find_compiler(board))
        for entry, count, found in cases:
            took = measure(
                entry, found, library, target.align, options.rounds, 1e-3 * options.turn_ms
            )
            ratio = took["direct"] / took["bfloat16"]
            plan = found[1].layer.plan
            print(
                f"{entry.label:32}{count:5}{1e6 * took['direct']:12.1f}"
                f"{1e6 * took['bfloat16']:12.1f}{ratio:7.2f}  {plan['mr']}x{plan['nr']}",
                flush=True,
            )
            for name in WAYS:
                total[name] += count * took[name]
            logs, weights = logs + count * math.log(ratio), weights + count
    print(
        f"all: {1e3 * total['direct']:.2f} ms, {1e3 * total['bfloat16']:.2f} ms, "
        f"ratio {total['direct'] / total['bfloat16']:.2f}, "
        f"geometric mean {math.exp(logs / weights):.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
