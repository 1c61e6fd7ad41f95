"""How many quantisation steps compiled QDQ networks are from ONNX Runtime, on seeded inputs.

    python bench/quantised_steps.py MODEL.onnx... [--board host] [--inputs 20]

Per model: flash of the weights, the worst error in steps of the output and the inputs beyond one
step, against ONNX Runtime with the operators as written (what verify compares with), without any
optimisation and with all of them; and what ONNX Runtime with all of them differs from itself as
written.  An output that is no grid has steps of its largest value / 127.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt
import onnxruntime
from models_table import print_table

from edgeconv.app.pipeline import compile_model
from edgeconv.run.build.project import Port
from edgeconv.run.verify.compare import assumed_spacing, compare
from edgeconv.run.verify.inputs import seeded, write_tensors
from edgeconv.run.verify.program import run_program
from edgeconv.search.options import CompileOptions

Values = Mapping[str, npt.NDArray[Any]]
LEVELS = onnxruntime.GraphOptimizationLevel
MODES = {
    "as written": (LEVELS.ORT_ENABLE_ALL, "1"),
    "unoptimised": (LEVELS.ORT_DISABLE_ALL, "1"),
    "optimised": (LEVELS.ORT_ENABLE_ALL, "0"),
}


def session(model: Path, mode: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level, as_written = MODES[mode]
    options.add_session_config_entry("session.disable_quant_qdq", as_written)
    disabled = ["DoubleQDQPairsRemover"] if as_written == "1" else []
    return onnxruntime.InferenceSession(
        str(model), options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled
    )


def steps(ports: tuple[Port, ...], got: Values, want: Values) -> float:
    """The worst output's difference in steps."""
    differences = [
        compare(p.name, got[p.name], want[p.name], p.spacing or assumed_spacing(want[p.name]))
        for p in ports
    ]
    return max(difference.spacings for difference in differences)


def measure(model: Path, board: str, inputs: int) -> str:
    """The line of one model."""
    engines = {mode: session(model, mode) for mode in MODES}
    worst: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        options = CompileOptions(model, board, ram=1 << 32, flash=1 << 32)
        project, _ = compile_model(options, Path(folder) / "net")
        binary = project.build(run_here=True)
        outputs = [port.name for port in project.outputs]
        for seed in range(inputs):
            feeds = seeded(project.inputs, seed)
            write_tensors(project.input_file, feeds, project.inputs)
            got = run_program(project, binary, layers=False)[0]
            want = {
                mode: dict(zip(outputs, engine.run(outputs, feeds), strict=True))
                for mode, engine in engines.items()
            }
            for mode in MODES:
                error = steps(project.outputs, got, want[mode])
                worst.setdefault(mode, []).append(error)
            own = steps(project.outputs, want["optimised"], want["as written"])
            worst.setdefault("ORT itself", []).append(own)
    cells = [
        f"{max(values):.3g} ({sum(value > 1.01 for value in values)})" for values in worst.values()
    ]
    flash = project.report["flash"]["weights"]
    return f"| {model.stem} | {flash:,} | {' | '.join(cells)} |"


if __name__ == "__main__":
    print_table(__doc__, ("model", "weights", *MODES, "ORT itself"), measure)
