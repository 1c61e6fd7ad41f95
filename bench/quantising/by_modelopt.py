"""NVIDIA's Model Optimizer on ONNX files, without a GPU."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from modelopt.onnx.quantization import quantize

from quantising.graphs import Array
from quantising.writing import Quantise, write_all


def static(path: Path, inputs: Array, result: Path, **options: Any) -> None:
    """modelopt.onnx.quantization.quantize; it takes all samples as batches of one."""
    samples = {"input": inputs}
    quantize(
        str(path),
        calibration_data=samples,
        calibration_eps=["cpu"],
        output_path=str(result),
        **options,
    )


OPTIONS: dict[str, Quantise] = {
    "int8": static,
    "int8_fp32": partial(static, high_precision_dtype="fp32"),
    "int4": partial(static, quantize_mode="int4", block_size=16),
}

if __name__ == "__main__":
    write_all(OPTIONS)
