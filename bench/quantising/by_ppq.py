"""esp-ppq: grids of ESP-DL's targets, written for ONNX Runtime."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import onnx
import torch
from esp_ppq.api import export_ppq_graph, get_target_platform, quantize_onnx_model
from esp_ppq.core import TargetPlatform
from torch.utils.data import DataLoader

from quantising.graphs import Array
from quantising.writing import Quantise, write_all


def static(path: Path, inputs: Array, result: Path, *, target: str, types: str) -> None:
    """quantize_onnx_model, then QuantizeLinear and DequantizeLinear instead of an ESP-DL file."""
    shape = [1, *inputs.shape[1:]]
    graph = quantize_onnx_model(
        onnx_import_file=str(path),
        calib_dataloader=DataLoader(torch.from_numpy(inputs), batch_size=1),
        calib_steps=len(inputs),
        input_shape=shape,
        platform=get_target_platform(target, types),
        device="cpu",
    )
    export_ppq_graph(graph, TargetPlatform.ONNXRUNTIME, str(result))
    onnx.checker.check_model(onnx.load(result))


OPTIONS: dict[str, Quantise] = {
    "esp32p4": partial(static, target="esp32p4", types="w8a8"),
    "esp32s3": partial(static, target="esp32s3", types="w8a8"),
    "c": partial(static, target="c", types="w8a8"),
    "esp32p4_w8a16": partial(static, target="esp32p4", types="w8a16"),
    "esp32p4_w16a16": partial(static, target="esp32p4", types="w16a16"),
}

if __name__ == "__main__":
    write_all(OPTIONS)
