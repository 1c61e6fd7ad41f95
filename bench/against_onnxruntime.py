"""One core, edgeconv and ONNX Runtime in turn: the ratio of their medians, round by round.

    python bench/against_onnxruntime.py MODEL.onnx [--rounds 3] [--runs 15] [--cpu 0]
        [--input-shape X=100x64]

Absolute times hold for one machine at one moment; the ratio of runs made in turn on the same core
travels better.  Every run is a process of its own, pinned to ``--cpu``; input is N(0, 1), or any
integers, seed 0.
Prints the ratio ONNX Runtime / edgeconv (above 1: edgeconv is faster).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from engines.pinned import pinned

WARM_UP = 3


def onnxruntime_median_ms(model: str, runs: int, shapes: Mapping[str, Sequence[int]]) -> float:
    """Median latency in milliseconds of ``runs`` runs on one thread, in this process; ``shapes``
    of inputs, where they are not the model's with 1 for what it leaves open."""
    import numpy as np  # noqa: PLC0415 - only the child process needs these
    import onnxruntime as ort  # noqa: PLC0415

    from edgeconv.run.input_arrays import SEED, random  # noqa: PLC0415

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(SEED)
    feed = {
        port.name: random(
            shapes.get(port.name)
            or [size if isinstance(size, int) and size > 0 else 1 for size in port.shape],
            {"tensor(float)": "float32"}.get(port.type, port.type[len("tensor(") : -1]),
            rng,
        )
        for port in session.get_inputs()
    }
    samples = []
    for _ in range(WARM_UP + runs):
        start = time.perf_counter()
        session.run(None, feed)
        samples.append((time.perf_counter() - start) * 1e3)
    return statistics.median(samples[WARM_UP:])


def printed(command: Sequence[str], cpu: int) -> str:
    """stdout of ``command`` run on one core; ends with its words where it fails."""
    done = pinned(command, cpu)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--board", default="host")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--input-shape", action="append", default=[], metavar="NAME=1x3x224x224")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        named = (shape.rpartition("=") for shape in args.input_shape)
        shapes = {name: [*map(int, sizes.split("x"))] for name, _, sizes in named}
        print(onnxruntime_median_ms(args.model, args.runs, shapes))
        return
    tool = [sys.executable, "-m", "edgeconv"]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        project = str(Path(folder) / "model")
        stated = [word for shape in args.input_shape for word in ("--input-shape", shape)]
        compiled = [*tool, "compile", args.model, "--board", args.board, "-o", project, "--build"]
        subprocess.run([*compiled, *stated], check=True, stdout=subprocess.DEVNULL)
        for _ in range(args.rounds):
            bench = [*tool, "bench", project, "--json", "--runs", str(args.runs)]
            ours = json.loads(printed(bench, args.cpu))["median_ms"]
            child = [sys.executable, __file__, args.model, "--child", "--runs", str(args.runs)]
            theirs = float(printed([*child, *stated], args.cpu))
            ratios.append(theirs / ours)
            print(
                f"edgeconv {ours:9.3f} ms   ONNX Runtime {theirs:9.3f} ms   ratio {ratios[-1]:.3f}"
            )
    print(
        f"ONNX Runtime / edgeconv: min {min(ratios):.3f}, median {statistics.median(ratios):.3f}, "
        f"max {max(ratios):.3f}"
    )


if __name__ == "__main__":
    main()
