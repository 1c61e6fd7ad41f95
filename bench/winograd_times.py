"""Winograd convolutions of a model on this machine: in strips, with whole images transformed at
once, and beside the cheapest other algorithm.

    python bench/winograd_times.py vgg16.onnx [--cpu 0] [--rounds 15]

Timed in turn (bench/convolutions.py says how).  The share of the bound is what the multiply-adds of
products and the operations of transformations would take at the peak that a loop on registers
reaches on the same core, over the time; loads and stores are not in it.  The last line has the
largest workspaces, those that an arena would have.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from convtime.cases import Candidate, Convolution, chosen, distinct, lowered
from convtime.measure import Effort, measure
from convtime.program import Library, Program
from telling import errors_told

from edgeconv.kernels.algorithms import algorithms
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.winograd.candidate import applies, candidate_of
from edgeconv.kernels.algorithms.winograd.phases import Divided
from edgeconv.kernels.algorithms.winograd.plan import WinogradPlan, each_group, routine_of
from edgeconv.run.build import find_compiler
from edgeconv.search.choose.winograd import NAME, forms_within, with_winograd_forms
from edgeconv.target import board as boards
from edgeconv.target.board import Board
from edgeconv.target.targets import Target

ERROR = 1e-4  # of a layer, and how far its results may be from the other algorithm's


@dataclass(frozen=True, slots=True)
class Row:
    """A layer: seconds of each way, bytes of workspace of strips and of whole images, and vector
    operations that it takes at least."""

    layer: Convolution
    plan: WinogradPlan
    other: str
    seconds: tuple[float, float, float]
    bytes: tuple[int, int]
    operations: float
    peak: float

    def line(self, lanes: int) -> str:
        """Of a table."""
        other, strip, whole = self.seconds
        share = self.operations * 2 * lanes / (1e9 * self.peak) / strip
        sizes = "".join(f"{size / 1024:9,.0f}" for size in self.bytes)
        times = f"{1e3 * strip:9.3f}{strip / whole:9.2f}{other / strip:9.2f}"
        return f"{self.layer.label:30} {self.plan.form!s:13}{sizes}{times}{share:8.0%}"


def operations(layer: Convolution, plan: WinogradPlan, target: Target) -> float:
    """Multiply-adds of vectors, and additions and multiplications of transformations."""
    own = Divided(each_group(layer.problem)).unit
    tiles, form = own.batch * math.prod(plan.tiles), plan.form
    blocks, vectors = (-(-count // target.lanes) for count in (own.in_c, own.out_c))

    def transformed(side: str) -> int:
        rows = form.taken[0] if side == "input" else form.down.outputs
        across = 0 if form.across.is_plain else rows * routine_of(form.across, side).operations
        down = 0 if form.down.is_plain else routine_of(form.down, side).operations
        return across + form.taken[1] * down

    products = plan.depth(own.in_c) * vectors
    return tiles * (products + blocks * transformed("input") + vectors * transformed("output"))


def ways(layer: Convolution, target: Target) -> list[Candidate]:
    """The cheapest other algorithm, strips, and whole images; none where that is not cheapest."""
    forms = forms_within(layer.graph, {layer.node.name: ERROR})
    graph = with_winograd_forms(layer.graph, forms)
    (node,) = graph.nodes
    if chosen(replace(layer, node=node, graph=graph), target) != NAME:
        return []
    name = chosen(layer, target)
    other = lowered(name, name, layer.node, layer.graph, target)
    strips = lowered("strips", NAME, node, graph, target)
    way = strips.layer.candidate
    assert isinstance(way, ConvCandidate)
    rows, tiles = way.plan.rows, math.prod(way.plan.tiles)
    plan = replace(way.plan, strip=-(-tiles // rows) * rows)
    whole = candidate_of(way.problem, plan, target)
    made = algorithms()[NAME].lower(whole, strips.layer.node, strips.graph, target)
    return [other, strips, Candidate("whole", made, strips.graph)]


def measured(
    layer: Convolution,
    found: list[Candidate],
    names: list[str],
    library: Library,
    board: Board,
    rounds: int,
) -> Row:
    other, strips, whole = found
    assert isinstance(strips.layer.candidate, ConvCandidate)
    plan = strips.layer.candidate.plan
    functions = list(zip(found, names, strict=True))
    effort, align = Effort(rounds, 0.002), board.target.align
    before = library.peak()
    seconds = measure(layer, functions, library, align, effort, ERROR)
    return Row(
        layer,
        plan,
        other.name,
        (seconds[other.name], seconds["strips"], seconds["whole"]),
        (strips.layer.workspace_bytes, whole.layer.workspace_bytes),
        operations(layer, plan, board.target),
        max(before, library.peak()),
    )


def print_times(model: Path, board: Board, rounds: int) -> None:
    """A line per layer, and their sums."""
    program, entries = Program(board), []
    for layer, count in distinct(model):
        found = ways(layer, board.target) if applies(layer.problem) else []
        if found:
            entries.append((layer, count, found, [program.add(way.layer) for way in found]))
    if not entries:
        print("no layer is computed by Winograd's algorithm")
        return
    heads = ("KB", "whole", "ms", "/ whole", "other /", "bound")
    print(f"{'':44}" + "".join(f"{head:>9}" for head in heads))
    totals, largest = [0.0] * 3, [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        library = program.build(Path(folder), find_compiler(board))
        for layer, count, found, names in entries:
            row = measured(layer, found, names, library, board, rounds)
            totals = [t + count * s for t, s in zip(totals, row.seconds, strict=True)]
            largest = [max(pair) for pair in zip(largest, row.bytes, strict=True)]
            print(row.line(board.target.lanes), flush=True)
    print(
        f"largest workspace {largest[0] / 1024:,.0f} KB of {largest[1] / 1024:,.0f} KB "
        f"({largest[0] / largest[1]:.0%}), in {totals[1] / totals[2]:.2f} of the time; "
        f"other algorithms take {totals[0] / totals[1]:.2f} times as long"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("model", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--cpu", type=int, default=0, help="the core to run on (default 0)")
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    os.sched_setaffinity(0, {args.cpu})
    with errors_told():
        print_times(args.model, boards.load("host"), args.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
