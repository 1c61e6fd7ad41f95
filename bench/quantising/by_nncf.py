"""NNCF on ONNX files, its presets; and weights alone."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import nncf
import onnx

from quantising.graphs import Array
from quantising.writing import Quantise, write_all


def static(path: Path, inputs: Array, result: Path, **options: Any) -> None:
    """nncf.quantize."""
    samples = nncf.Dataset([{"input": row[None]} for row in inputs])
    onnx.save(nncf.quantize(onnx.load(path), samples, **options), result)


def weights(path: Path, _: Array, result: Path, **options: Any) -> None:
    """nncf.compress_weights."""
    onnx.save(nncf.compress_weights(onnx.load(path), **options), result)


TYPES = nncf.CompressWeightsMode
OPTIONS: dict[str, Quantise] = {
    "default": static,
    "mixed": partial(static, preset=nncf.QuantizationPreset.MIXED),
    "accurate": partial(static, fast_bias_correction=False),
    "cpu": partial(static, target_device=nncf.TargetDevice.CPU),
    "npu": partial(static, target_device=nncf.TargetDevice.NPU),
    "transformer": partial(static, model_type=nncf.ModelType.TRANSFORMER),
    "weights8": partial(weights, mode=TYPES.INT8_ASYM),
    "weights8_symmetric": partial(weights, mode=TYPES.INT8_SYM),
    "weights4": partial(weights, mode=TYPES.INT4_SYM, group_size=16, all_layers=True),
}

if __name__ == "__main__":
    write_all(OPTIONS)
