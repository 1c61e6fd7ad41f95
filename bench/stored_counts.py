"""Instructions of whole convolutions with stored filters against float32 ones, counted under QEMU.

    python bench/stored_counts.py MODEL.onnx [MODEL.onnx ...] --board NAME [--board NAME]
        [--formats flyte16,int8] [--algorithm direct]

The distinct convolutions of the models, as bench/convolutions.py takes them, each by the algorithm
of the lowest predicted cost for its format: what one call executes, packing and decoding included.
One line per convolution: its instructions in float32 per multiply-add of vectors, and how often as
many every format takes; last the sum of the layers, each as often as the model has it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from convtime.cases import Asked, Candidate, Convolution, candidates, distinct
from counting.program import Counter

from edgeconv import algorithms
from edgeconv import board as boards
from edgeconv.choose.storage import stored_formats, weight_formats
from edgeconv.errors import EdgeconvError
from edgeconv.storage.base import FLOAT32
from edgeconv.targets import Target


def stored(convolution: Convolution, name: str) -> Convolution:
    """The convolution with filters in the format ``name``."""
    node = replace(convolution.node, attrs={**convolution.node.attrs, "storage": name})
    graph = replace(convolution.graph, nodes=(node,))
    return replace(convolution, node=node, graph=graph)


def lowered(convolution: Convolution, name: str, target: Target, wanted: str) -> Candidate:
    """By the algorithm ``wanted``, or where it does not apply by the cheapest."""
    entry = stored(convolution, name) if name != FLOAT32 else convolution
    found = {c.name: c for c in candidates(entry, target, Asked())}
    cheapest = algorithms.applicable(entry.node, entry.graph, target)[0].name
    return found.get(wanted, found[cheapest])


def table(models: Sequence[Path], name: str, formats: Sequence[str], wanted: str) -> None:
    """Counts and prints for one board."""
    board = boards.load(name)
    layers = [entry for model in models for entry in distinct(model)]
    ways = [
        [lowered(layer, form, board.target, wanted) for form in (FLOAT32, *formats)]
        for layer, _ in layers
    ]
    print(f"{name} ({board.isa})")
    print(f"{'':40}{'':12}{'float32':>9}" + "".join(f"{form:>9}" for form in formats))
    totals = [0] * (1 + len(formats))
    with tempfile.TemporaryDirectory() as folder:
        counter = Counter(board, [way for row in ways for way in row], Path(folder))
        at = 0
        for (layer, count), row in zip(layers, ways, strict=True):
            found = [counter.instructions(at + i) for i in range(len(row))]
            at += len(row)
            per_mac = found[0] * board.target.lanes / layer.problem.macs
            ratios = "".join(f"{n / found[0]:9.3f}" for n in found[1:])
            print(f"{layer.label:40}{row[0].name:12}{per_mac:9.3f}{ratios}", flush=True)
            totals = [total + count * n for total, n in zip(totals, found, strict=True)]
    ratios = "".join(f"{n / totals[0]:9.3f}" for n in totals[1:])
    print(f"{'all layers, in 10^9 instructions':52}{1e-9 * totals[0]:9.3f}{ratios}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", action="append", required=True)
    parser.add_argument("--formats", default=",".join(f for f in weight_formats() if f != FLOAT32))
    parser.add_argument("--algorithm", default="", help="default: the cheapest")
    args = parser.parse_args()
    formats = args.formats.split(",")
    unknown = set(formats) - stored_formats()
    if unknown:
        parser.error(f"no format of weights: {', '.join(sorted(unknown))}")
    try:
        for name in args.board:
            table(args.models, name, formats, args.algorithm)
    except EdgeconvError as error:
        print("\n".join([error.one_line(), *error.details]), file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
