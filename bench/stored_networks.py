"""Networks with stored weights or results against float32, natively on one core, in turn.

    python bench/stored_networks.py MODEL.onnx [MODEL.onnx ...] [--board host] [--results]
        [--formats flyte16,int8] [--rounding truncate] [--rounds 9] [--runs 3] [--layers] [--least]
        [--cpu 0]

Every model is compiled once per format, all its filters stored in it, or with ``--results`` all
results of layers that can be instead, and in every round each
program runs once, in another order each time, ``--runs`` inferences after two that are not counted.
Quoted are medians over the rounds, or on a machine that is not quiet the least of them
(``--least``), because other programs only ever add to a time: in milliseconds for float32, as
ratios to that for the others.  ``--layers``: also those of the Conv and Dense layers, by the bytes
of their weights in float32, in programs that read the clock between layers.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from telling import errors_told

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.base.arguments import NEAREST, ROUNDINGS
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.run.bench import Timing, bench
from edgeconv.run.build.project import Project
from edgeconv.search.choose.storage import OUTPUT, tensor_formats, weight_formats

Quoted = Callable[[Iterable[float]], float]
WEIGHTED = ("Conv", "Dense")


def compiled(
    model: Path, board: str, formats: Sequence[str], which: str, rounding: str, folder: Path
) -> dict[str, Project]:
    """The projects by format; ``which``: what is stored in it, as --storage names it."""
    made = {}
    for name in formats:
        storage = {} if name == FLOAT32 else {which: name}
        options = CompileOptions(model, board, storage=storage, rounding=rounding)
        made[name] = compile_model(options, folder / name)[0]
    return made


def in_turn(
    projects: dict[str, Project], rounds: int, runs: int, layers: bool
) -> dict[str, list[Timing]]:
    """Every project's timings, one per round."""
    order = random.Random(1)
    found: dict[str, list[Timing]] = {name: [] for name in projects}
    for number in range(rounds):
        for name in order.sample(list(projects), len(projects)):
            print(f"round {number + 1} of {rounds}: {name}   ", end="\r", file=sys.stderr)
            found[name].append(bench(projects[name], runs=runs, layers=layers))
    return found


def print_networks(model: Path, timings: dict[str, list[Timing]], quoted: Quoted) -> None:
    """One line: the network."""
    medians = {n: quoted(t.median_ms for t in of) for n, of in timings.items()}
    base = medians.pop(FLOAT32)
    ratios = "".join(f"{name:>10} {value / base:.3f}" for name, value in medians.items())
    print(f"{model.stem:24}{FLOAT32:>10} {base:.2f} ms{ratios}", flush=True)


def print_layers(project: Project, timings: dict[str, list[Timing]], quoted: Quoted) -> None:
    """One line per layer with weights, the largest first."""
    entries = project.report["layers"]
    names = [name for name in timings if name != FLOAT32]
    print(f"{'layer':40}{'KiB':>9}{'ms':>9}" + "".join(f"{name:>9}" for name in names))
    rows = [i for i, entry in enumerate(entries) if entry["op"] in WEIGHTED]
    for i in sorted(rows, key=lambda i: -int(entries[i]["weight_bytes"])):
        label = entries[i]["name"]
        medians = {n: _of_layer(of, label, quoted) for n, of in timings.items()}
        ratios = "".join(f"{medians[name] / medians[FLOAT32]:9.3f}" for name in names)
        size = entries[i]["weight_bytes"] / 1024
        print(f"{label[:39]:40}{size:9.0f}{medians[FLOAT32]:9.4f}{ratios}")


def _of_layer(timings: Sequence[Timing], layer: str, quoted: Quoted) -> float:
    """Conversions of layouts around it are layers of their own."""
    return quoted(
        next(entry.median_ms for entry in timing.layers if entry.name == layer)
        for timing in timings
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--board", default="host")
    parser.add_argument("--results", action="store_true", help="store results, not filters")
    parser.add_argument("--formats", default="", help="default: all")
    parser.add_argument("--rounding", choices=ROUNDINGS, default=NEAREST)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--least", action="store_true")
    parser.add_argument("--cpu", type=int, default=0)
    args = parser.parse_args()
    able = [f for f in (tensor_formats() if args.results else weight_formats()) if f != FLOAT32]
    formats = args.formats.split(",") if args.formats else able
    unknown = set(formats) - set(able)
    if unknown:
        kind = "results" if args.results else "weights"
        parser.error(f"no format of {kind}: {', '.join(sorted(unknown))}")
    which = f"*{OUTPUT}" if args.results else "*"
    quoted: Quoted = min if args.least else statistics.median
    os.sched_setaffinity(0, {args.cpu})
    with errors_told():
        for model in args.models:
            with tempfile.TemporaryDirectory() as folder:
                projects = compiled(
                    model, args.board, (FLOAT32, *formats), which, args.rounding, Path(folder)
                )
                timings = in_turn(projects, args.rounds, args.runs, args.layers)
                print_networks(model, timings, quoted)
                if args.layers:
                    print_layers(projects[FLOAT32], timings, quoted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
