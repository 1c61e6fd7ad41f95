"""Whose rounding is larger?  A network's outputs, and ONNX Runtime's, against float64.

    python bench/float64_errors.py MODEL.onnx [--board host]

Where the two differ by more than rounding usually makes, the network may enlarge what is rounded
in its first layers: then both are as far from what ONNX's own evaluator computes in float64.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import AttributeProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

from edgeconv.run.build.project import Project
from edgeconv.run.verify.inputs import seeded, write_tensors
from edgeconv.run.verify.program import run_program

_OPTIMISED = {
    "ONNX Runtime": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    "ONNX Runtime, graph as it is": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
}
Outputs = dict[str, Any]


def _widen(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        array = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def in_float64(path: str) -> onnx.ModelProto:
    """The model with real numbers of 64 bits; of its main graph alone."""
    model = onnx.load(path)
    for tensor in model.graph.initializer:
        _widen(tensor)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                _widen(attribute.t)
            if node.op_type == "Cast" and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.DOUBLE
    for value in (*model.graph.input, *model.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    del model.graph.value_info[:]
    return model


def _ours(model: str, board: str, folder: Path) -> tuple[Outputs, Outputs]:
    """Inputs and outputs of the program."""
    tool = [sys.executable, "-m", "edgeconv", "compile", model, "--board", board, "-o", str(folder)]
    subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)
    project = Project.open(folder)
    feeds = seeded(project.inputs)
    binary = project.build(run_here=True)
    write_tensors(project.run_file, feeds, project.inputs)
    return feeds, run_program(project, binary, inputs=project.run_file)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--board", default="host")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        feeds, ours = _ours(args.model, args.board, Path(folder) / "model")
    found = {"edgeconv": ours}
    for name, level in _OPTIMISED.items():
        options = ort.SessionOptions()
        options.graph_optimization_level, options.log_severity_level = level, 3
        session = ort.InferenceSession(args.model, options, providers=["CPUExecutionProvider"])
        found[name] = dict(zip(ours, session.run([*ours], feeds), strict=True))
    wide = {name: x.astype(np.float64) if x.dtype == np.float32 else x for name, x in feeds.items()}
    exact = ReferenceEvaluator(in_float64(args.model)).run([*ours], wide)
    for output, want in zip(ours, exact, strict=True):
        largest = np.abs(want).max()
        for name, outputs in found.items():
            error = np.abs(outputs[output].astype(np.float64) - want) / largest
            rms = float(np.sqrt((error**2).mean()))
            print(f"{output}: {name}: {error.max():.3g} of the largest output, {rms:.3g} rms")


if __name__ == "__main__":
    main()
