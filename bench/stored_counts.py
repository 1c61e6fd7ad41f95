"""Instructions of whole convolutions with stored tensors against float32 ones, counted under QEMU.

    python bench/stored_counts.py MODEL.onnx [MODEL.onnx ...] --board NAME [--board NAME]
        [--formats flyte16,int8] [--algorithm direct] [--results]

The distinct convolutions of the models, as bench/convolutions.py takes them, each by the algorithm
of the lowest predicted cost for its format: what one call executes, packing and decoding included.
Its filters are stored, or with ``--results`` its output and its input, unless that is an image.
One line per convolution: its instructions in float32 per multiply-add of vectors, and how often as
many every format takes; last the sum of the layers, each as often as the model has it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from convtime.cases import Candidate, CaseOptions, Convolution, candidates, distinct
from counting.program import Counter
from telling import errors_told

from edgeconv.kernels.storage import formats
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.search.choose.prices import algorithms_of
from edgeconv.search.choose.storage import tensor_formats, weight_formats
from edgeconv.target import board as boards
from edgeconv.target.targets import Target

IMAGE_CHANNELS = 3


def with_results(convolution: Convolution, name: str) -> Convolution:
    """The convolution between results in the format ``name``; a network's image stays float32."""
    graph = convolution.graph
    names = ("y",) if convolution.problem.in_c == IMAGE_CHANNELS else ("x", "y")
    tensors = {each: replace(graph[each], storage=formats()[name].encoding) for each in names}
    return replace(convolution, graph=graph.with_tensors(tensors))


def with_filters(convolution: Convolution, name: str) -> Convolution:
    """The convolution with filters in the format ``name``."""
    own = convolution.node
    node = replace(own, request=replace(own.request, storage=formats()[name].encoding))
    graph = replace(convolution.graph, nodes=(node,))
    return replace(convolution, node=node, graph=graph)


Stored = Callable[[Convolution, str], Convolution]


def lowered(
    convolution: Convolution, name: str, target: Target, wanted: str, stored: Stored
) -> Candidate:
    """By the algorithm ``wanted``, or where it does not apply by the cheapest."""
    entry = stored(convolution, name) if name != FLOAT32 else convolution
    found = {c.name: c for c in candidates(entry, target, CaseOptions())}
    cheapest = next(iter(algorithms_of(entry.node, entry.graph, target)))
    return found.get(wanted, found[cheapest])


def table(
    models: Sequence[Path], name: str, formats: Sequence[str], wanted: str, stored: Stored
) -> None:
    """Counts and prints for one board."""
    board = boards.load(name)
    layers = [entry for model in models for entry in distinct(model)]
    ways = [
        [lowered(layer, form, board.target, wanted, stored) for form in (FLOAT32, *formats)]
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
    parser.add_argument("--results", action="store_true", help="store results, not filters")
    parser.add_argument("--formats", default="", help="default: all")
    parser.add_argument("--algorithm", default="", help="default: the cheapest")
    args = parser.parse_args()
    able = [f for f in (tensor_formats() if args.results else weight_formats()) if f != FLOAT32]
    formats = args.formats.split(",") if args.formats else able
    unknown = set(formats) - set(able)
    if unknown:
        kind = "results" if args.results else "weights"
        parser.error(f"no format of {kind}: {', '.join(sorted(unknown))}")
    stored = with_results if args.results else with_filters
    with errors_told():
        for name in args.board:
            table(args.models, name, formats, args.algorithm, stored)
    return 0


if __name__ == "__main__":
    sys.exit(main())
