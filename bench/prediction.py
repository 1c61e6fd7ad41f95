"""Predicted against measured time, layer by layer, natively on one core.

    python bench/prediction.py MODEL.onnx [MODEL.onnx ...] --board my-board
        [--storage LAYER=FORMAT] [--rounds 20] [--runs 1] [--cpu 0] [--worst 5] [--json]

The board must state a clock and macs_per_cycle; `edgeconv boards new` measures both.  Every model
is compiled and timed ``--rounds`` times, a process each; of a layer's medians over ``--runs`` the
least counts, because other programs only ever add to them.  Layers that compile to the same code
are one: the rank correlation (Spearman) is over distinct layers, each with the median of its
copies; totals are over all.  Rounds whose total is 10 % above the best one's are counted: the
machine was not quiet.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scipy.stats import spearmanr

from edgeconv.app.pipeline import CompileOptions, Decision, compile_model, decide
from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.ir.choice import Layer
from edgeconv.run.bench import bench
from edgeconv.run.build.project import Project
from edgeconv.search.predict import Prediction, predict

NOISY = 1.1  # a round's total against the best one's


@dataclass(frozen=True, slots=True)
class Row:
    """A distinct layer.  Milliseconds of one copy; ``layer`` names the first."""

    layer: str
    algorithm: str
    copies: int
    bound_by: str
    predicted_ms: float
    measured_ms: float

    @property
    def off(self) -> float:
        """What the total is off by for it, in milliseconds."""
        return self.copies * abs(self.predicted_ms - self.measured_ms)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One model.  ``rounds_ms``: the sum of the layers in each round."""

    model: str
    board: str
    spearman: float
    predicted_ms: float
    measured_ms: float
    rounds_ms: tuple[float, ...]
    rows: tuple[Row, ...]

    @property
    def ratio(self) -> float:
        """Predicted total over measured."""
        return self.predicted_ms / self.measured_ms

    @property
    def noisy(self) -> int:
        """Rounds that something has disturbed."""
        return sum(total > NOISY * min(self.rounds_ms) for total in self.rounds_ms)


def compare(
    model: Path, board: str, rounds: int, runs: int, storage: Mapping[str, str]
) -> Comparison:
    """Compile, build and time ``model``, filters stored as ``storage`` says by layer.

    Raises EdgeconvError as those do, and (exit status 2) for a board that states too little to
    predict from.
    """
    options = CompileOptions(model=model, board=board, storage=storage)
    decided = decide(options)
    prediction = predict(decided.choice, decided.memory, decided.board)
    if prediction.ms is None:
        raise EdgeconvError(
            "nothing to compare",
            where=f"board {board}",
            rule=prediction.time_source,
            hint="`edgeconv boards new` measures what is missing",
            code=Exit.USAGE,
        )
    with tempfile.TemporaryDirectory() as folder:
        project, _ = compile_model(options, Path(folder) / "model")
        samples = [_medians(project, runs) for _ in range(rounds)]
    measured = [min(times) for times in zip(*samples, strict=True)]
    rows = _rows(decided, prediction, measured)
    pairs = [(row.predicted_ms, row.measured_ms) for row in rows]
    return Comparison(
        model=model.stem,
        board=board,
        spearman=float(spearmanr(*zip(*pairs, strict=True)).statistic),
        predicted_ms=prediction.ms,
        measured_ms=sum(measured),
        rounds_ms=tuple(map(sum, samples)),
        rows=rows,
    )


def _medians(project: Project, runs: int) -> list[float]:
    """Milliseconds of every layer, in execution order."""
    return [layer.median_ms for layer in bench(project, runs=runs, layers=True).layers]


def _rows(decided: Decision, prediction: Prediction, measured: Sequence[float]) -> tuple[Row, ...]:
    """The distinct layers that have code, the worst first."""
    copies: dict[tuple[object, ...], list[int]] = {}
    layers = [decided.choice.layers[index] for index in decided.memory.order]
    for number, layer in enumerate(layers):
        if prediction.layers[number].bound_by is not None:
            copies.setdefault(_code(layer), []).append(number)
    rows = []
    for numbers in copies.values():
        first = layers[numbers[0]]
        each = [prediction.layers[number] for number in numbers]
        rows.append(
            Row(
                layer=first.node.name,
                algorithm=first.algorithm,
                copies=len(numbers),
                bound_by=str(each[0].bound_by),
                predicted_ms=statistics.median(layer.ms or 0.0 for layer in each),
                measured_ms=statistics.median(measured[number] for number in numbers),
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.off))


def _code(layer: Layer) -> tuple[object, ...]:
    """Equal for layers that share a function of the emitted program, and constants of one size."""
    params = tuple(sorted(layer.params.items()))
    return layer.template, params, sum(blob.bytes for blob in layer.blobs)


def _table(result: Comparison, worst: int) -> str:
    lines = []
    lines.append(
        f"{result.model} on {result.board}: Spearman {result.spearman:.3f} over "
        f"{len(result.rows)} distinct layers; predicted {result.predicted_ms:.3f} ms, "
        f"measured {result.measured_ms:.3f} ms, ratio {result.ratio:.2f}"
    )
    if result.noisy:
        usual, best = statistics.median(result.rounds_ms), min(result.rounds_ms)
        lines.append(
            f"  {result.noisy} of {len(result.rounds_ms)} rounds disturbed: "
            f"median {usual:.3f} ms, best {best:.3f} ms"
        )
    for row in result.rows[:worst]:
        lines.append(
            f"  {1e3 * row.predicted_ms:9.1f} us predicted {1e3 * row.measured_ms:9.1f} measured"
            f"  x{row.copies:<3} {row.algorithm:12} {row.bound_by:9} {row.layer}"
        )
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL")
    parser.add_argument("--board", required=True)
    parser.add_argument("--storage", action="append", default=[], metavar="LAYER=FORMAT")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--cpu", type=int, default=0, help="the core to run on (default 0)")
    parser.add_argument("--worst", type=int, default=5, help="layers to list (default 5)")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    return parser


def main() -> int:
    args = _parser().parse_args()
    os.sched_setaffinity(0, {args.cpu})
    storage = dict(item.rsplit("=", 1) for item in args.storage)
    results = []
    try:
        for model in args.models:
            results.append(compare(model, args.board, args.rounds, args.runs, storage))
            if not args.json:
                print(_table(results[-1], args.worst), flush=True)
    except EdgeconvError as error:
        print(error, file=sys.stderr)
        return error.code
    if args.json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
