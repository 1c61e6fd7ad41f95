"""How many quantisation steps compiled .tflite networks are from LiteRT, on seeded inputs.

    pip install ai-edge-litert
    python bench/tflite_steps.py MODEL.tflite... [--board host] [--inputs 20]

Per model, of outputs: the worst error in steps against LiteRT's reference kernels and against those
that it uses by default, and what these two differ from each other; in brackets the inputs whose
largest output is another one.  A number that is no integer has steps of its largest value / 127.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from models_table import print_table

from edgeconv.app.pipeline import compile_model
from edgeconv.run.build.project import Port
from edgeconv.run.verify.compare import assumed_spacing, compare
from edgeconv.run.verify.inputs import seeded, write_tensors
from edgeconv.run.verify.program import run_program
from edgeconv.search.options import CompileOptions

Values = Mapping[str, npt.NDArray[Any]]
KERNELS = {"reference": OpResolverType.BUILTIN_REF, "default": OpResolverType.AUTO}


def litert(model: Path, kernels: str) -> Interpreter:
    runtime = Interpreter(str(model), experimental_op_resolver_type=KERNELS[kernels])
    runtime.allocate_tensors()
    return runtime


def run(runtime: Interpreter, feeds: Values) -> Values:
    for each in runtime.get_input_details():
        runtime.set_tensor(each["index"], feeds[each["name"]])
    runtime.invoke()
    return {
        each["name"]: runtime.get_tensor(each["index"]) for each in runtime.get_output_details()
    }


def steps(ports: tuple[Port, ...], got: Values, want: Values) -> tuple[float, bool]:
    """The worst output's difference in steps, and whether the largest element is another."""
    found = [
        compare(p.name, got[p.name], want[p.name], p.spacing or assumed_spacing(want[p.name]))
        for p in ports
    ]
    other = any(np.argmax(got[p.name]) != np.argmax(want[p.name]) for p in ports)
    return max(each.spacings for each in found), other


def measure(model: Path, board: str, inputs: int) -> str:
    """The line of one model."""
    engines = {name: litert(model, name) for name in KERNELS}
    found: dict[str, list[tuple[float, bool]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        options = CompileOptions(model, board, ram=1 << 32, flash=1 << 32)
        project, _ = compile_model(options, Path(folder) / "net")
        binary = project.build(run_here=True)
        for seed in range(inputs):
            feeds = seeded(project.inputs, seed)
            write_tensors(project.input_file, feeds, project.inputs)
            got = run_program(project, binary, layers=False)[0]
            want = {name: run(engine, feeds) for name, engine in engines.items()}
            for name in KERNELS:
                found.setdefault(name, []).append(steps(project.outputs, got, want[name]))
            own = steps(project.outputs, want["default"], want["reference"])
            found.setdefault("LiteRT itself", []).append(own)
    cells = [
        f"{max(far for far, _ in values):.3g} ({sum(other for _, other in values)})"
        for values in found.values()
    ]
    return f"| {model.stem} | {' | '.join(cells)} |"


if __name__ == "__main__":
    print_table(__doc__, ("model", *KERNELS, "LiteRT itself"), measure)
