"""One model on an inference engine, so many times: what `arm_engines.py` runs in an AArch64 Python.

    engine.py onnxruntime MODEL.onnx RUNS
    engine.py ncnn|ncnn16|ncnn8 MODEL RUNS 3,224,224    # of MODEL.ncnn.param and MODEL.ncnn.bin

One thread.  ``ncnn16``: storage and arithmetic of float16 where the core has them, as ncnn does by
itself; ``ncnn8`` as well, of layers that have no filters in int8; ``ncnn``: float32.  Prints the
sum of the first output.
"""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np

TYPES = {"tensor(float)": "f4", "tensor(int8)": "i1", "tensor(uint8)": "u1"}


def run_onnxruntime(model: str, runs: int) -> float:
    """Every input is random; dimensions that the model leaves free are 1."""
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    feeds = {}
    for port in session.get_inputs():
        shape = [size if isinstance(size, int) else 1 for size in port.shape]
        spread = 1.0 if port.type == "tensor(float)" else 30.0
        feeds[port.name] = (spread * rng.standard_normal(shape)).astype(TYPES[port.type])
    for _ in range(runs):
        first = session.run(None, feeds)[0]
    return float(np.sum(first, dtype=np.float64))


def run_ncnn(model: str, runs: int, shape: str, *, half: bool) -> float:
    """The input ``in0`` and output ``out0`` of what pnnx wrote."""
    ncnn = import_module("ncnn")
    net = ncnn.Net()
    net.opt.num_threads = 1
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = half
    net.load_param(f"{model}.ncnn.param")
    net.load_model(f"{model}.ncnn.bin")
    sizes = [int(size) for size in shape.split(",")]
    data = np.random.default_rng(0).standard_normal(sizes).astype(np.float32)
    for _ in range(runs):
        extractor = net.create_extractor()
        extractor.input("in0", ncnn.Mat(data))
        first = np.array(extractor.extract("out0")[1])
    return float(np.sum(first, dtype=np.float64))


def main() -> int:
    engine, model, runs, *shape = sys.argv[1:]
    if engine == "onnxruntime":
        print(run_onnxruntime(model, int(runs)))
    else:
        print(run_ncnn(model, int(runs), shape[0], half=engine != "ncnn"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
