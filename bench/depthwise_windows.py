"""What a product of depthwise layers in int8 costs, by the window, beside that of 3x3.

    python bench/depthwise_windows.py [--board host raspberry-pi-5 mps2-an386 ...] [--channels 64]

Of every window a line: instructions of a product under QEMU (of firmware: of the layer in a network
of its own), or, of boards that are this machine, processor time of 1000 products in nanoseconds,
the least of several runs; and in brackets that over the cost of 3x3.  Packing, borders and
requantisation are included.  Layers of one row or column, as those of sound, have windows along it.
Where a core's loops gain by that, sums are shifted by as many bits as a network's other layers may
state; --own-shift leaves that out, as in networks of which it is not proven.  --cycles: of firmware
what the instructions take by the manual of a Cortex-M0 or M4, memory without wait states.
"""

from __future__ import annotations

import argparse
import math
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from convtime.cases import Candidate
from counting.firmware import alone_counted
from counting.program import Counter
from telling import errors_told

from edgeconv.ir.activation import grid
from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.choice import Choice
from edgeconv.ir.encoding import INT8, int8
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from edgeconv.ir.requantisation.scalings import shifted
from edgeconv.kernels import algorithms
from edgeconv.kernels.algorithms.scaling import scaling_of
from edgeconv.search.choose import select
from edgeconv.search.choose.prices import algorithms_of
from edgeconv.search.memory import fit
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind
from edgeconv.target.targets import DSP, HELIUM, Target

SHORT = 200  # calls of a run that are not counted


@dataclass(frozen=True, slots=True)
class Window:
    """A depthwise layer's image and window, of as many results as inputs where the stride is 1."""

    size: tuple[int, int]
    kernel: tuple[int, int]
    stride: int = 1
    dilation: int = 1

    @property
    def label(self) -> str:
        """Such as "9x1 on 128x1" or "3x3 /2 on 24x24"."""
        kernel, size = ("x".join(map(str, each)) for each in (self.kernel, self.size))
        stride = f" /{self.stride}" if self.stride > 1 else ""
        dilation = f" d{self.dilation}" if self.dilation > 1 else ""
        return f"{kernel}{stride}{dilation} on {size}"

    @property
    def out(self) -> tuple[int, int]:
        """Sizes of the result."""
        height, width = (-(-size // self.stride) for size in self.size)
        return height, width


SQUARE, LONG, WIDE = (24, 24), (128, 1), (1, 128)
WINDOWS = (
    Window(SQUARE, (3, 3)),
    *(Window(SQUARE, kernel) for kernel in ((5, 5), (7, 7), (1, 9), (9, 1), (1, 5), (5, 1))),
    *(Window(SQUARE, kernel) for kernel in ((1, 3), (3, 1), (2, 2), (3, 5))),
    *(Window(SQUARE, kernel, dilation=2) for kernel in ((3, 3), (5, 5))),
    *(Window(SQUARE, kernel, stride=2) for kernel in ((3, 3), (5, 5))),
    *(Window(LONG, (taps, 1)) for taps in (3, 5, 9, 13)),
    *(Window(WIDE, (1, taps)) for taps in (3, 5, 9, 13)),
    *(Window(LONG, (9, 1), dilation=dilation) for dilation in (2, 4)),
)


def network(window: Window, channels: int) -> Graph:
    """The layer alone, of a result that is at least 0."""
    rng = np.random.default_rng(1)
    shape, pads = (channels, 1, *window.kernel), [0, 0, 0, 0]
    for axis in range(2):
        reach = (window.kernel[axis] - 1) * window.dilation + 1
        needed = (window.out[axis] - 1) * window.stride + reach - window.size[axis]
        pads[axis], pads[axis + 2] = needed // 2, needed - needed // 2
    units = 2.0 ** rng.uniform(-8, -7, channels).astype(np.float32)
    filters = rng.integers(-127, 128, shape) * units.reshape(-1, 1, 1, 1)
    spacing = float(np.float32(4.5 * units.mean() * math.prod(window.kernel) ** 0.5))
    tensors = (
        Tensor("x", (1, channels, *window.size), storage=int8(0.05, -128)),
        Tensor("w", shape, data=filters.astype(np.float32)),
        Tensor("b", (channels,), data=np.zeros(channels, np.float32)),
        Tensor("y", (1, channels, *window.out), storage=int8(spacing, -128)),
    )
    attrs = {
        "kernel": window.kernel,
        "strides": (window.stride,) * 2,
        "dilations": (window.dilation,) * 2,
        "pads": tuple(pads),
        "groups": channels,
        "storage": INT8.scaled(units),
    }
    epilogue = Epilogue(before=grid(spacing, 0, 255))
    node = Node("conv", "Conv", ("x", "w", "b"), ("y",), attrs=attrs, epilogue=epilogue)
    return Graph("depthwise", (node,), {t.name: t for t in tensors}, ("x",), ("y",))


def with_stated_shift(graph: Graph, target: Target) -> Graph:
    """With the fewest bits that all sums of a network may be shifted by, for cores with DSP."""
    if not target.is_scalar or DSP not in target.features or HELIUM in target.features:
        return graph
    stated = (replace(graph, scaling=shifted(bits)) for bits in range(1, 32))
    return next((each for each in stated if scaling_of(each) == each.scaling), graph)


def in_integers(graph: Graph, target: Target) -> Choice:
    """By the cheapest algorithm of integers, if there is one, the input in its layout."""
    (node,) = graph.nodes
    found = algorithms.applicable(node, graph, target)
    able = {each.algorithm for each in found if each.compute == INTEGERS}
    asked = next((name for name in algorithms_of(node, graph, target) if name in able), None)
    chosen = {node.name: asked} if asked else None
    return select(graph, target, algorithms=chosen, any_layout=True, io="arena")


def products(window: Window, channels: int) -> int:
    """Multiply-accumulates, those on padding included."""
    return channels * math.prod(window.kernel) * math.prod(window.out)


class Timer(Counter):
    """Nanoseconds of a call on this machine's processor in place of instructions."""

    def nanoseconds(self, which: int, rounds: int) -> float:
        """The least of ``rounds`` runs of about 40 ms."""
        once = self._seconds(which, SHORT) / SHORT
        calls = max(SHORT, round(0.04 / once))
        return 1e9 * min(
            (self._seconds(which, SHORT + calls) - self._seconds(which, SHORT)) / calls
            for _ in range(rounds)
        )

    def _seconds(self, which: int, calls: int) -> float:
        """Of processor time."""
        begin = _of_children()
        subprocess.run([str(self._path), str(which), str(calls)], check=True)
        return _of_children() - begin


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def costs(
    board: Board, choices: Sequence[Choice], rounds: int, *, cycles: bool = False
) -> Sequence[float]:
    """Of a call of each layer."""
    if board.run.kind is RunKind.QEMU_SYSTEM:
        return [alone_counted(each, fit(each, board, None), board)[cycles] for each in choices]
    layers = [next(each for each in choice.layers if each.candidate) for choice in choices]
    pairs = zip(layers, choices, strict=True)
    found = [Candidate(layer.algorithm, layer, choice.graph) for layer, choice in pairs]
    with tempfile.TemporaryDirectory() as folder:
        if board.run.kind is RunKind.NATIVE:
            timer = Timer(board, found, Path(folder))
            return [timer.nanoseconds(which, rounds) for which in range(len(found))]
        counter = Counter(board, found, Path(folder))
        return [float(counter.instructions(which)) for which in range(len(found))]


def print_board(
    board: Board, channels: int, rounds: int, *, own_shift: bool = False, cycles: bool = False
) -> None:
    """A line for each window."""
    graphs = [network(window, channels) for window in WINDOWS]
    if not own_shift:
        graphs = [with_stated_shift(graph, board.target) for graph in graphs]
    choices = [in_integers(graph, board.target) for graph in graphs]
    unit = 1e3 if board.run.kind is RunKind.NATIVE else 1.0
    print(f"{board.name} ({board.isa}), {channels} channels")
    first = 0.0
    found = costs(board, choices, rounds, cycles=cycles)
    for window, choice, cost in zip(WINDOWS, choices, found, strict=True):
        each = unit * cost / products(window, channels)
        first = first or each
        layer = next(each for each in choice.layers if each.candidate)
        integers = layer.candidate is not None and layer.candidate.compute == INTEGERS
        real = "" if integers else "  in float32"
        line = f"  {window.label:20} {layer.algorithm:16}{each:9.3f} ({each / first:.2f})"
        print(line + real, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--board", nargs="+", default=["host"])
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--own-shift", action="store_true")
    parser.add_argument("--cycles", action="store_true")
    args = parser.parse_args()
    for name in args.board:
        asked = {"own_shift": args.own_shift, "cycles": args.cycles}
        print_board(boards.load(name), args.channels, args.rounds, **asked)
    return 0


if __name__ == "__main__":
    with errors_told():
        sys.exit(main())
