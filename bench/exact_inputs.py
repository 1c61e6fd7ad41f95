"""Networks in integers against exact arithmetic, and ONNX Runtime beside it, on many inputs.

    python bench/exact_inputs.py MODEL.onnx... [--board host] [--inputs 200] [--list FILE.csv]

Per model, compiled with results in int8: layers computed in integers, of all; numbers of their
results, of all inputs; how many of the program's are not what the model says exactly; how many ONNX
Runtime's are not, as the model is written and without fusing what it rounds; and how many of those
are no ties, by the bound on float32's error.  Every layer is judged by what it read.
``--list`` writes a line for every number that ONNX Runtime makes something else of: model, seed of
the input, tensor, position, the exact number, the program's, ONNX Runtime's, and how far from the
exact one the bound on float32's error lets it be.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.app.pipeline import compile_model
from edgeconv.ir.layout import Layout
from edgeconv.model.frontend import load, prepared_beside, reference_outputs
from edgeconv.run.build.project import Project
from edgeconv.run.verify.exact import expected
from edgeconv.run.verify.inputs import seeded, write_tensors
from edgeconv.run.verify.layers import original_name, pieces, tensors_of
from edgeconv.run.verify.per_layer import in_integers
from edgeconv.run.verify.program import run_program
from edgeconv.search.options import CompileOptions

Row = Callable[[tuple[object, ...]], object]


def measure(model: Path, board: str, inputs: int, folder: Path, row: Row) -> str:
    """The line of one model; ``row`` takes every difference of ONNX Runtime's."""
    options = CompileOptions(model, board, ram=1 << 32, flash=1 << 32, storage=_INT8)
    project, _ = compile_model(options, folder / "net")
    layers, taken = project.report["layers"], project.report.get("steps", ())
    graph = load(model)
    binary = project.build(trace=True, run_here=True)
    trace = project.build_directory / "layers.bin"
    wanted = (*(port.name for port in project.outputs), *tensors_of(layers))
    feeds = seeded(project.inputs, 0)
    reference = reference_outputs(model, feeds, wanted).values
    beside = None
    counts: Counter[str] = Counter()
    for seed in range(inputs):
        feeds = seeded(project.inputs, seed)
        write_tensors(project.input_file, feeds, project.inputs)
        outputs, _ = run_program(project, binary, layers=True)
        results: dict[str, npt.NDArray[Any]] = {}
        for layer, memory in zip(layers, pieces(layers, trace, taken), strict=True):
            name, shape = original_name(layer), tuple(layer["output_shape"])
            if name in reference and reference[name].shape == shape:
                got = Layout.parse(layer["layout_out"]).unpack(memory, shape)
                results.setdefault(name, np.array(got, reference[name].dtype, order="C"))
        results |= {name: value for name, value in outputs.items() if name not in results}
        beside = beside or prepared_beside(model, feeds, results)
        own, exact = beside(feeds, results), expected(graph, {**feeds, **results})
        for name in in_integers(layers, results) & exact.keys():
            right = exact[name].near().astype(own[name].dtype)
            apart = own[name] != right
            counts["numbers"] += right.size
            counts["wrong"] += int(np.count_nonzero(results[name] != right))
            counts["apart"] += int(np.count_nonzero(apart))
            if apart.any():
                reach = exact[name].off * (1 + 1e-9)
                beyond = np.abs(own[name] - exact[name].near()) > reach
                counts["beyond"] += int(np.count_nonzero(apart & beyond))
                for at in zip(*map(list, np.nonzero(apart)), strict=True):
                    where = (model.stem, seed, name, " ".join(map(str, at)))
                    row((*where, right[at], results[name][at], own[name][at], f"{reach[at]:.3g}"))
    return _line(model, project, counts)


_INT8 = {"*:output": "int8"}
_COLUMNS = ("model", "input", "tensor", "position", "exact", "program", "onnxruntime", "reach")


def _line(model: Path, project: Project, counts: Counter[str]) -> str:
    layers = project.report["layers"]
    whole = sum(layer.get("compute") == "int8" for layer in layers)
    cells = [f"{counts[name]:,}" for name in ("numbers", "wrong", "apart", "beyond")]
    return f"| {model.stem} | {whole} of {len(layers)} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--board", default="host")
    parser.add_argument("--inputs", type=int, default=200)
    parser.add_argument("--list", type=Path, metavar="FILE.csv")
    options = parser.parse_args()
    with ExitStack() as files:
        row: Row = lambda line: None  # noqa: E731
        if options.list:
            row = csv.writer(files.enter_context(options.list.open("w"))).writerow
            row(_COLUMNS)
        _table(options.models, options.board, options.inputs, row)


def _table(models: list[Path], board: str, inputs: int, row: Row) -> None:
    print("| model | layers in integers | numbers | wrong | ONNX Runtime differs | no ties |")
    print("|---|---|--:|--:|--:|--:|")
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            print(measure(model, board, inputs, Path(folder), row), flush=True)


if __name__ == "__main__":
    main()
