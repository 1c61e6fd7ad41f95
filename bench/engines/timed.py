"""Median milliseconds of an inference by one engine, on one thread; needs no edgeconv.

    python timed.py ENGINE MODEL SECONDS

Prints one JSON document with the keys "median_ms" and "version".  Inputs are N(0, 1), of integers
30 times that, seed 0.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

WARM_UP = 5
LEAST_RUNS = 9


def values(shape: Sequence[int], dtype: Any) -> Any:
    x = np.random.default_rng(0).standard_normal(list(shape))
    if np.issubdtype(np.dtype(dtype), np.integer):
        limits = np.iinfo(dtype)
        x = np.clip(30 * x, limits.min, limits.max)
    return x.astype(dtype)


def litert(path: str) -> Callable[[], Any]:
    """LiteRT with XNNPACK, its default delegate."""
    from ai_edge_litert.interpreter import Interpreter  # noqa: PLC0415 - one engine a process

    interpreter = Interpreter(model_path=path, num_threads=1)
    interpreter.allocate_tensors()
    for port in interpreter.get_input_details():
        interpreter.set_tensor(port["index"], values(port["shape"], port["dtype"]))
    return interpreter.invoke  # type: ignore[no-any-return]


def onnxruntime(path: str) -> Callable[[], Any]:
    import onnxruntime as ort  # noqa: PLC0415 - one engine a process

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": "float32", "tensor(double)": "float64"}
    feed = {
        port.name: values(
            [size if isinstance(size, int) else 1 for size in port.shape],
            types.get(port.type, port.type[len("tensor(") : -1]),
        )
        for port in session.get_inputs()
    }
    return lambda: session.run(None, feed)


def openvino(path: str) -> Callable[[], Any]:
    """OpenVINO for latency; floats stay float32."""
    import openvino as ov  # noqa: PLC0415 - one engine a process

    core = ov.Core()
    model = core.read_model(path)
    for port in model.inputs:
        if port.partial_shape.is_dynamic:
            sizes = [each.get_length() if each.is_static else 1 for each in port.partial_shape]
            model.reshape({port: sizes})
    options = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"}
    compiled = core.compile_model(model, "CPU", {**options, "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    for i, port in enumerate(compiled.inputs):
        request.set_input_tensor(i, ov.Tensor(values(port.shape, port.element_type.to_dtype())))
    return request.infer  # type: ignore[no-any-return]


ENGINES: dict[str, tuple[str, Callable[[str], Callable[[], Any]]]] = {
    "litert": ("ai-edge-litert", litert),
    "onnxruntime": ("onnxruntime", onnxruntime),
    "openvino": ("openvino", openvino),
}


def median_ms(call: Callable[[], Any], seconds: float) -> float:
    for _ in range(WARM_UP):
        call()
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while len(taken) < LEAST_RUNS or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(taken)


def main() -> None:
    engine, path, seconds = sys.argv[1:]
    package, prepare = ENGINES[engine]
    took = median_ms(prepare(path), float(seconds))
    print(json.dumps({"median_ms": took, "version": version(package)}))


if __name__ == "__main__":
    main()
