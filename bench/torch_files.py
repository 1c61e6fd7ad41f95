"""Files of litert-torch and ai-edge-quantizer, and what LiteRT makes of them, for
`bench/converters.py`.

    pip install litert-torch==0.10.0
    python bench/torch_files.py FOLDER [NAME...]
    python bench/converters.py FOLDER --kinds float32 dynamic int8 int16x8 weights8 weights4 blocks4

Needs no edgeconv.  Writes FOLDER/NAME-KIND.tflite for the networks of `torch_networks`, in each of
the quantiser's recipes; beside it an .npz of seeded inputs and of what LiteRT's reference kernels
make of them, run by run; and what is refused to FOLDER/refused.txt.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import litert_torch
import numpy as np
import torch
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from ai_edge_quantizer import quantizer, recipe
from converter_runs import SAMPLES, answers, examples, interpreter, main, refused
from torch_networks import NETWORKS

RECIPES: dict[str, Callable[[], Any]] = {
    "dynamic": recipe.dynamic_wi8_afp32,
    "int8": recipe.static_wi8_ai8,
    "int16x8": recipe.static_wi8_ai16,
    "weights8": recipe.weight_only_wi8_afp32,
    "weights4": recipe.weight_only_wi4_afp32,
    "blocks4": recipe.dynamic_wi4b32_afp32,  # a scale for each 32 along a row
}


def quantised(content: bytes, wanted: Any) -> bytes:
    """The file by a recipe, calibrated where that is needed."""
    made = quantizer.Quantizer(bytearray(content), wanted)
    runner = Interpreter(model_content=content)
    (signature,) = runner.get_signature_list()
    inputs = runner.get_signature_runner(signature).get_input_details()
    samples = [
        {
            name: examples(tuple(each["shape"]), np.dtype(each["dtype"]).name, 1000 + 10 * seed + i)
            for i, (name, each) in enumerate(inputs.items())
        }
        for seed in range(SAMPLES)
    ]
    measured = made.calibrate({signature: samples}) if made.need_calibration else None
    return bytes(made.quantize(measured).quantized_model)


def write(folder: Path, name: str) -> None:
    torch.manual_seed(1)
    model, inputs = NETWORKS[name]()
    for module in model.modules():  # as if they had learned something
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            torch.nn.init.normal_(module.running_mean, 0.0, 0.3)
            torch.nn.init.uniform_(module.running_var, 0.5, 2.0)
    made: dict[str, bytes] = {}
    for kind in ("float32", *RECIPES):
        target = folder / f"{name}-{kind}.tflite"
        try:
            if kind == "float32":
                litert_torch.convert(model.eval(), inputs).export(str(target))
                made[kind] = target.read_bytes()
            elif "float32" in made:
                made[kind] = quantised(made["float32"], RECIPES[kind]())
            else:
                continue
            runtime = interpreter(made[kind], Interpreter, OpResolverType)
            np.savez(target.with_suffix(".npz"), **answers(runtime))
            target.write_bytes(made[kind])
            print(target.name, len(made[kind]), flush=True)
        except Exception as error:  # whatever the converter, quantiser or interpreter raises
            target.unlink(missing_ok=True)
            refused(target, error)


if __name__ == "__main__":
    main(write, NETWORKS)
