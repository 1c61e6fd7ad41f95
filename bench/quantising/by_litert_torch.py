"""litert-torch's files of modules, quantised by ai-edge-quantizer in its recipes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import litert_torch
import torch
from ai_edge_litert.interpreter import Interpreter
from ai_edge_quantizer import quantizer, recipe

from quantising.graphs import Array
from quantising.in_torch import Network
from quantising.writing import Quantise, write_all


@cache
def converted(path: Path, shape: tuple[int, ...]) -> bytes:
    """The network in float32, of inputs of that shape."""
    with TemporaryDirectory() as folder:
        result = Path(folder, "net.tflite")
        model = litert_torch.convert(Network(path).eval(), (torch.zeros(shape),))
        model.export(str(result))
        return result.read_bytes()


def quantised(path: Path, inputs: Array, result: Path, wanted: Callable[[], Any]) -> None:
    """By a recipe, calibrated where that is needed."""
    content = converted(path, (1, *inputs.shape[1:]))
    made = quantizer.Quantizer(bytearray(content), wanted())
    measured = None
    if made.need_calibration:
        runner = Interpreter(model_content=content)
        (signature,) = runner.get_signature_list()
        (name,) = runner.get_signature_runner(signature).get_input_details()
        measured = made.calibrate({signature: [{name: row[None]} for row in inputs]})
    result.write_bytes(bytes(made.quantize(measured).quantized_model))


OPTIONS: dict[str, Quantise] = {
    "int8": partial(quantised, wanted=recipe.static_wi8_ai8),
    "int16x8": partial(quantised, wanted=recipe.static_wi8_ai16),
    "dynamic": partial(quantised, wanted=recipe.dynamic_wi8_afp32),
}

if __name__ == "__main__":
    write_all(OPTIONS, ".tflite")
