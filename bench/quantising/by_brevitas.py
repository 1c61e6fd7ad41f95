"""Brevitas: a traced module quantised as its examples do, calibrated, exported as QCDQ."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
from brevitas.export import export_onnx_qcdq
from brevitas.graph.calibrate import bias_correction_mode, calibration_mode
from brevitas.graph.quantize import (
    COMPUTE_LAYER_MAP,
    layerwise_quantize,
    preprocess_for_quantize,
    quantize,
)

from quantising.graphs import Array
from quantising.in_torch import Network, save_answers
from quantising.writing import Quantise, write_all


def static(
    path: Path, inputs: Array, result: Path, *, layers: bool = False, **options: Any
) -> None:
    """Quantise, calibrate and correct biases; ``layers``: layer by layer, the graph as it is."""
    samples = torch.from_numpy(inputs)
    with torch.no_grad():
        model: Any = Network(path).eval()
        if layers:
            model = layerwise_quantize(model)
        else:
            traced = torch.fx.symbolic_trace(model)
            prepared = preprocess_for_quantize(traced, equalize_iters=0)
            model = quantize(prepared, **options)
        for mode in (calibration_mode, bias_correction_mode):
            with mode(model):
                for sample in samples[:_SAMPLES]:
                    model(sample[None])
        export_onnx_qcdq(model.eval(), samples[:1], str(result), opset_version=17, dynamo=False)
        save_answers(model, inputs.shape[1:], result)


def _few(bits: int) -> Quantise:
    """Weights of ``bits`` bits in whatever has some."""
    layers = {
        kind: (into, {**options, "weight_bit_width": bits})
        for kind, value in COMPUTE_LAYER_MAP.items()
        if value is not None
        for into, options in [value]
    }
    return partial(static, compute_layer_map=layers)


_SAMPLES = 4  # correcting biases takes minutes with more

OPTIONS: dict[str, Quantise] = {
    "default": static,
    "layerwise": partial(static, layers=True),
    "weights4": _few(4),
}

if __name__ == "__main__":
    write_all(OPTIONS)
