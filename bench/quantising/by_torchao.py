"""PyTorch's own: torchao's PT2E flow with the quantiser of x86, exported by torch.onnx."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

from quantising.graphs import Array
from quantising.in_torch import Network, save_answers
from quantising.writing import Quantise, write_all


def static(path: Path, inputs: Array, result: Path, **options: Any) -> None:
    """Prepare, run samples, convert, export."""
    samples = torch.from_numpy(inputs)
    example = (samples[:1],)
    program = torch.export.export(Network(path).eval(), example).module()
    quantiser = x86.X86InductorQuantizer()
    quantiser.set_global(x86.get_default_x86_inductor_quantization_config(**options))
    model = prepare_pt2e(program, quantiser)
    with torch.no_grad():
        for sample in samples:
            model(sample[None])
    converted = convert_pt2e(model)
    torch.onnx.export(converted, example, str(result), dynamo=True, external_data=False)
    save_answers(converted, inputs.shape[1:], result)


OPTIONS: dict[str, Quantise] = {
    "x86": static,
    "x86_dynamic": partial(static, is_dynamic=True),
}

if __name__ == "__main__":
    write_all(OPTIONS)
