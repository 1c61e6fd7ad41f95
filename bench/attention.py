"""A model with its attention in one kernel, and written out: arena and time of both, in turn.

    python bench/attention.py MODEL.onnx [--board host] [--rounds 5] [--runs 15]

Attention is written out where a storage format is asked of its softmax, here float32.  Times are
sums over those layers that only one of the two has.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from edgeconv.app import pipeline
from edgeconv.model import frontend, passes
from edgeconv.run.bench import Timing
from edgeconv.search.choose.attention import with_attention
from edgeconv.search.options import CompileOptions
from edgeconv.target.board import load


def softmaxes(model: Path, board: str) -> dict[str, str]:
    """The formats with which every softmax that could become part of an attention stays one."""
    graph = passes.optimise(frontend.load(model))
    made = with_attention(graph, load(board).target, minimum_ram=True)
    left = {node.name for node in made.nodes}
    names = (node.name for node in graph.nodes if node.op == "Softmax")
    return {f"{name}:output": "float32" for name in names if name not in left}


def apart(one: Timing, other: Timing) -> float:
    """Milliseconds of the layers that ``other`` has not."""
    both = {(layer.name, layer.op) for layer in other.layers}
    return sum(layer.median_ms for layer in one.layers if (layer.name, layer.op) not in both)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--board", default="host")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    formats: list[dict[str, str]] = [{}, softmaxes(args.model, args.board)]
    with tempfile.TemporaryDirectory() as folder:
        places: list[Path] = []
        for name, storage in zip(("one kernel", "written out"), formats, strict=True):
            places.append(Path(folder) / name.replace(" ", "_"))
            options = CompileOptions(args.model, args.board, storage=storage)
            project, _ = pipeline.compile_model(options, places[-1], build=True)
            layers = project.report["layers"]
            count = sum(layer["op"] == "Attention" for layer in layers)
            largest = max(layer["workspace_bytes"] for layer in layers)
            arena = project.report["ram"]["arena"]
            print(f"{name}: arena {arena:,}, largest workspace {largest:,} bytes; {count} of them")
            if not (count or places[1:]):
                raise SystemExit(f"{args.model.name} has no attention that a kernel computes")
        ratios = []
        for _ in range(args.rounds):
            one, out = (pipeline.bench_project(p, runs=args.runs, layers=True) for p in places)
            times = apart(one, out), apart(out, one)
            ratios.append(times[1] / times[0])
            print(f"one kernel {times[0]:.3f} ms, written out {times[1]:.3f} ms: {ratios[-1]:.3f}")
    print(f"written out over one kernel, median: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
