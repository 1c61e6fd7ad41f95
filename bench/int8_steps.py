"""What each step of making a float32 network int8 gains, in dB at the output, beside ONNX Runtime.

    python bench/int8_steps.py MODEL.onnx [--calibration X.npz] [--test Y.npz]

Results, filters and biases are int8 throughout: ranges from the smallest to the largest number and
filters rounded to nearest with one unit for the whole tensor, then with a unit per output channel,
then with the ranges that disturb the outputs least, then with channels equalised, then as
`rounding_steps.py` has it.  `chosen` is what `compile` makes of it, with the way to round filters
that is best on samples it is not fitted to.  The last line is
`onnxruntime.quantization.quantize_static` (QDQ, per channel, MinMax) on the same samples.  The
network is quantised to int8 by some inputs, and the figures are of others, as in
`rounding_steps.py`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rounding_steps import samples_of

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.progress import no_progress
from edgeconv.ir.activation import Activation
from edgeconv.model import frontend, passes
from edgeconv.search.calibration.rounding import parameters_of
from edgeconv.search.calibration.samples import Samples
from edgeconv.search.calibration.sqnr import Accuracy, Baseline
from edgeconv.search.quantising.quantiser import Quantiser
from edgeconv.search.quantising.ranges import see, together, widest
from edgeconv.search.quantising.recipes import WAYS
from edgeconv.search.quantising.rewrite import FORM

Values = dict[str, npt.NDArray[np.float32]]


def steps(quantiser: Quantiser, baseline: Baseline) -> Iterator[tuple[str, Accuracy]]:
    """Each step with those before it."""
    engine, samples = quantiser.engine, quantiser.learning
    wanted = dict.fromkeys(quantiser.wanted, FORM)
    groups = quantiser.places.groups
    seen = see(engine, samples, quantiser.places.tensors)
    wide = {
        name: function
        for group in groups
        for function in [widest(together(seen[name] for name in group))]
        for name in group
    }

    def measured(way: str, grids: Mapping[str, Activation]) -> Accuracy:
        found = WAYS[way](engine, samples, wanted, grids, no_progress)
        filters = parameters_of(quantiser.in_integers(found, grids))
        return baseline.accuracy(filters, grids)

    first, second, *others = WAYS
    yield first, measured(first, wide)
    yield second, measured(second, wide)
    yield "+ ranges", measured(second, quantiser.grids())
    quantiser.equalise()
    grids = quantiser.grids()
    yield "+ equalisation", measured(second, grids)
    for way in others:
        yield way, measured(way, grids)
    chosen = quantiser.best_way(grids)
    yield f"chosen: {chosen}", measured(chosen, grids)


def onnxruntime_static(model: Path, samples: Samples, test: Samples) -> Iterator[Values]:
    """The outputs of ONNX Runtime's own int8 network."""
    import onnxruntime as runtime  # noqa: PLC0415 - optional
    from onnxruntime import quantization as own  # noqa: PLC0415

    class Reader(own.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = iter(samples)

        def get_next(self) -> Mapping[str, npt.NDArray[np.float32]] | None:
            return next(self.left, None)

    with tempfile.TemporaryDirectory() as folder:
        made, ready = Path(folder) / "int8.onnx", Path(folder) / "ready.onnx"
        own.quant_pre_process(str(model), str(ready), skip_symbolic_shape=True)
        own.quantize_static(
            str(ready),
            str(made),
            Reader(),
            quant_format=own.QuantFormat.QDQ,
            per_channel=True,
            activation_type=own.QuantType.QInt8,
            weight_type=own.QuantType.QInt8,
        )
        session = runtime.InferenceSession(str(made), providers=["CPUExecutionProvider"])
        names = [port.name for port in session.get_outputs()]
        for sample in test:
            yield dict(zip(names, session.run(names, sample), strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--calibration", type=Path, help="default: seeded inputs")
    parser.add_argument("--test", type=Path, help="default: every other sample of --calibration")
    args = parser.parse_args()
    try:
        graph = passes.optimise(frontend.load(args.model))
        samples, test = samples_of(args, graph)
        print(
            f"{args.model.stem}: quantised to int8 from {len(samples)} inputs, SQNR of {len(test)}"
        )
        print(f"{'step':24}{'dB':>8}{'top-1':>8}{'same':>8}")
        with Quantiser(graph, samples, {}) as quantiser:
            baseline = Baseline(quantiser.engine, test)
            for name, found in steps(quantiser, baseline):
                show(name, found)
            show("ONNX Runtime", baseline.judge(onnxruntime_static(args.model, samples, test)))
    except (EdgeconvError, ImportError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def show(name: str, found: Accuracy) -> None:
    shares = ["-" if s is None else f"{s:.3f}" for s in (found.top1, found.agreement)]
    print(f"{name:24}{found.sqnr_db:8.1f}{shares[0]:>8}{shares[1]:>8}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
