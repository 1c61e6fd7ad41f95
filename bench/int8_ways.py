"""What a float32 network becomes with samples and a limit of accuracy, in all of flash and in
less of it: time, bytes and error.

    python bench/int8_ways.py MODEL.onnx --calibration X.npz --test Y.npz --board NAME
           [--max-drop 0.01] [--min-sqnr DB] [--objective memory] [--flash 64K ...] [--ram 32K ...]

A line for float32, then one for what is decided without budgets and one within each of those given:
predicted milliseconds (or the price where the board predicts none), arena, weights, how many layers
with filters compute in integers, how many others have filters in int8, in flyte and in float32, and
by the samples of --test, which chose nothing, SQNR and top-1 at the outputs, in float32 on this
machine with every rounding that the program has.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from telling import errors_told

from edgeconv.app.deciding.decider import Decider
from edgeconv.app.deciding.planning import Decision
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.sizes import parse
from edgeconv.ir.filters import WEIGHTED
from edgeconv.model import frontend, passes
from edgeconv.search.calibration import samples as sampling
from edgeconv.search.calibration.engine import Engine
from edgeconv.search.calibration.sqnr import Accuracy, Baseline
from edgeconv.search.choose.storage import by_kind
from edgeconv.search.fitting.measured import tensors_of
from edgeconv.search.options import CompileOptions

HEADS = ("ms or price", "arena", "weights", "integers", "int8", "flyte", "float32")


def line(what: str, decided: Decision, error: Accuracy | None) -> str:
    """Of one decision; without an error it is float32's."""
    ms = decided.predicted.ms
    time = f"{decided.predicted.price:.3e}" if ms is None else f"{ms:.4g}"
    layers = [each for each in decided.report["layers"] if each["op"] in WEIGHTED]
    whole = [each for each in layers if each.get("compute")]
    stored = [each["storage"]["weights"] for each in layers if each not in whole]
    counts = [
        len(whole),
        stored.count("int8") + stored.count("int4"),
        sum(form.startswith("flyte") for form in stored),
        stored.count("float32"),
    ]
    sizes = (f"{decided.memory.arena_bytes:,}", f"{decided.report['flash']['weights']:,}")
    cells = "".join(f"{cell:>12}" for cell in (time, *sizes, *map(str, counts)))
    if error is None:
        return f"{what:22}{cells}"
    top1 = "-" if error.top1 is None else f"{error.top1:.3f}"
    return f"{what:22}{cells}{error.sqnr_db:9.1f}{top1:>7}"


def error_of(decided: Decision, real: Engine, test: sampling.Samples) -> Accuracy:
    """On samples, of the network that was quantised to int8, or of formats that were found."""
    baseline = Baseline(real, test)
    made = [data for name, data in decided.files.items() if name.endswith(".onnx")]
    if made:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "made.onnx"
            path.write_bytes(made[0])
            return _judged(baseline, Engine(passes.optimise(frontend.load(path))), {})
    found = decided.found
    if found is None:
        return baseline.accuracy()
    _, results = by_kind(found.graph, found.storage)
    return _judged(baseline, Engine(found.graph), tensors_of(found.graph, results))


def _judged(baseline: Baseline, engine: Engine, rounded: Mapping[str, str]) -> Accuracy:
    try:
        return baseline.judge(
            engine.run(sample, activations=rounded) for sample in baseline.samples
        )
    finally:
        engine.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("model", type=Path, metavar="MODEL.onnx")
    parser.add_argument("--calibration", type=Path, required=True)
    parser.add_argument("--test", type=Path, required=True)
    parser.add_argument("--board", default="mps2-an500")
    parser.add_argument("--max-drop", type=float)
    parser.add_argument("--min-sqnr", type=float)
    parser.add_argument("--objective", choices=["latency", "memory", "energy"])
    parser.add_argument("--flash", action="append", default=[], type=parse)
    parser.add_argument("--ram", action="append", default=[], type=parse)
    args = parser.parse_args()
    drop = args.max_drop if args.max_drop or args.min_sqnr else 0.01
    limits = CompileOptions(
        args.model,
        args.board,
        calibration=args.calibration,
        max_drop=drop,
        min_sqnr=args.min_sqnr,
        objective=args.objective,
    )
    asked = {"no budget": limits}
    asked |= {f"--flash {size}": replace(limits, flash=size) for size in args.flash}
    asked |= {f"--ram {size}": replace(limits, ram=size) for size in args.ram}
    with errors_told():
        print(f"{args.model.stem}, {args.board}")
        heads = "".join(f"{head:>12}" for head in HEADS)
        print(f"{'':22}{heads}{'dB':>9}{'top-1':>7}")
        with Decider(CompileOptions(args.model, args.board)) as decider:
            print(line("float32", decider.decide(), None), flush=True)
            real, test = Engine(decider.graph), sampling.load(args.test, decider.graph)
        for name, options in asked.items():
            try:
                with Decider(options) as decider:
                    decided = decider.decide()
                    print(line(name, decided, error_of(decided, real, test)), flush=True)
            except EdgeconvError as error:
                print(f"{name:22}{error.one_line()}", flush=True)
        real.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
