"""What each step of rounding filters gains, in dB at the output.

    python bench/rounding_steps.py MODEL.onnx [--calibration X.npz] [--test Y.npz] [--formats F,F]

All layers with filters are stored in one format: rounded to nearest with one unit for the whole
tensor, then with a unit per output channel, then with the bias corrected, then with errors carried
into other weights, then layer by layer, each making up for those before it.  Rounding sees the
calibration inputs, the figures are of other ones: those of --test, or else seeded inputs that
rounding has not seen.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph
from edgeconv.model import frontend, passes
from edgeconv.search.calibration import samples as sampling
from edgeconv.search.calibration.engine import Engine
from edgeconv.search.calibration.rounding import RECIPES, Rounded, parameters_of, round_layers
from edgeconv.search.calibration.samples import Samples
from edgeconv.search.calibration.sequential import round_sequentially
from edgeconv.search.calibration.sqnr import Baseline

FORMATS = "flyte24,flyte16,int8,int4,flyte8"
SEEDED = 16  # for rounding, and as many others to measure on


def samples_of(args: argparse.Namespace, graph: Graph) -> tuple[Samples, Samples]:
    """To round with, and to measure on."""
    if args.calibration is None:
        drawn = sampling.seeded(graph, 2 * SEEDED)
        return drawn.chosen(slice(0, SEEDED)), drawn.chosen(slice(SEEDED, None))
    given = sampling.load(args.calibration, graph)
    if args.test:
        return given, sampling.load(args.test, graph)
    return given.chosen(slice(0, None, 2)), given.chosen(slice(1, None, 2))


def _rounded(
    step: str, engine: Engine, samples: Samples, formats: dict[str, str]
) -> dict[str, Rounded]:
    if step in RECIPES:
        return round_layers(engine, samples, formats, RECIPES[step])
    return round_sequentially(engine, samples, formats)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--calibration", type=Path, help="default: seeded inputs")
    parser.add_argument("--test", type=Path, help="default: every other sample of --calibration")
    parser.add_argument("--formats", default=FORMATS)
    args = parser.parse_args()
    try:
        graph = passes.optimise(frontend.load(args.model))
        rounding, testing = samples_of(args, graph)
        print(f"{args.model.stem}: rounded from {len(rounding)} inputs, SQNR of {len(testing)}")
        print(f"{'format':10}{'step':20}{'dB':>8}{'gain':>8}{'top-1':>8}{'same':>8}{'seconds':>9}")
        with Engine(graph) as engine:
            baseline = Baseline(engine, testing)
            for form in args.formats.split(","):
                before = None
                for step in (*RECIPES, "+ in turn"):
                    start = time.perf_counter()
                    rounded = _rounded(step, engine, rounding, dict.fromkeys(engine.layers, form))
                    took = time.perf_counter() - start
                    found = baseline.accuracy(parameters_of(rounded))
                    gain = "" if before is None else f"{found.sqnr_db - before:+.1f}"
                    shares = [
                        "-" if share is None else f"{share:.3f}"
                        for share in (found.top1, found.agreement)
                    ]
                    line = f"{form:10}{step:20}{found.sqnr_db:8.1f}{gain:>8}"
                    print(f"{line}{shares[0]:>8}{shares[1]:>8}{took:9.1f}", flush=True)
                    before = found.sqnr_db
    except EdgeconvError as error:
        print("\n".join([str(error), *error.details]), file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
