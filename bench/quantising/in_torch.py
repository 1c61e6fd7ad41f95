"""The networks as modules of PyTorch, for tools that quantise these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import nn
from torch.nn import functional

from quantising.answers import Arrays, real_inputs, save
from quantising.tools import answers_path

Function = Callable[..., Any]


class Network(nn.Module):
    """An ONNX graph of the operators below, whose layers with weights are submodules."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        graph = onnx.load(path).graph
        values = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        self._steps: list[tuple[str, Function | str, list[str], dict[str, Any]]] = []
        for node in graph.node:
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            inputs = [name for name in node.input if name]
            constants = [values[name] for name in inputs if name in values]
            read = [name for name in inputs if name not in values]
            made = _MODULES.get(node.op_type)
            if made is _product and not constants:
                made = None
            if made is not None:
                self.add_module(node.name, made(attributes, *constants))
                self._steps.append((node.output[0], node.name, read, {}))
                continue
            tensors = {name: values[name] for name in inputs if name in values}
            for name, value in tensors.items():
                if value.dtype == np.float32 and node.op_type in ("Add", "Div", "Mul"):
                    self.register_parameter(_plain(name), nn.Parameter(torch.tensor(value)))
            options = {"inputs": inputs, "constants": tensors, **attributes}
            self._steps.append((node.output[0], node.op_type, read, options))

    def forward(self, x: Any) -> Any:
        made = {"input": x}
        for output, what, read, options in self._steps:
            if not options:
                made[output] = getattr(self, str(what))(*(made[name] for name in read))
                continue
            constants = options["constants"]
            operands = [
                made[name] if name in made else self._operand(name, constants[name])
                for name in options["inputs"]
            ]
            made[output] = _FUNCTIONS[str(what)](options, *operands)
        return made["output"]

    def _operand(self, name: str, value: Any) -> Any:
        found = dict(self.named_parameters(recurse=False)).get(_plain(name))
        return value if found is None else getattr(self, _plain(name))


def save_answers(model: Callable[[Any], Any], shape: Sequence[int], result: Path) -> None:
    """Write beside the file ``result`` what the quantised module that it was made of answers to
    seeded inputs of ``shape``, without their batch of one."""

    def answers(run: int) -> tuple[Arrays, Arrays]:
        given = real_inputs((1, *shape), run)
        with torch.no_grad():
            made = model(torch.from_numpy(given))
        return {"input": given}, {"output": getattr(made, "value", made).numpy()}

    save(answers_path(result, "torch"), answers)


def _plain(name: str) -> str:
    return name.replace(".", "_")


def _loaded(module: nn.Module, **values: Any) -> nn.Module:
    for name, value in values.items():
        getattr(module, name).data = torch.tensor(np.array(value))
    return module.eval()


def _conv(attributes: dict[str, Any], weight: Any, bias: Any) -> nn.Module:
    rank, pads = weight.ndim - 2, attributes.get("pads", [0] * (2 * (weight.ndim - 2)))
    group = attributes.get("group", 1)
    uneven = pads[:rank] != pads[rank:]
    kind: Any = (nn.Conv1d, nn.Conv2d)[rank - 1]
    layer = kind(
        weight.shape[1] * group,
        weight.shape[0],
        weight.shape[2:],
        tuple(attributes.get("strides", [1] * rank)),
        0 if uneven else tuple(pads[:rank]),
        tuple(attributes.get("dilations", [1] * rank)),
        group,
    )
    around = [pads[i + part * rank] for i in reversed(range(rank)) for part in (0, 1)]
    loaded = _loaded(layer, weight=weight, bias=bias)
    return nn.Sequential(nn.ZeroPad2d(tuple(around)), loaded) if uneven else loaded


def _transposed(attributes: dict[str, Any], weight: Any, bias: Any) -> nn.Module:
    layer = nn.ConvTranspose2d(*weight.shape[:2], weight.shape[2:], tuple(attributes["strides"]))
    return _loaded(layer, weight=weight, bias=bias)


def _normalised(
    attributes: dict[str, Any], scale: Any, shift: Any, mean: Any, var: Any
) -> nn.Module:
    layer = nn.BatchNorm2d(len(scale))
    return _loaded(layer, weight=scale, bias=shift, running_mean=mean, running_var=var)


def _dense(attributes: dict[str, Any], weight: Any, bias: Any) -> nn.Module:
    return _loaded(nn.Linear(*reversed(weight.shape)), weight=weight, bias=bias)


def _product(_: dict[str, Any], weight: Any) -> nn.Module:
    """Of a constant: a linear layer whose bias is added behind."""
    return _loaded(nn.Linear(*weight.shape, bias=False), weight=weight.T)


def _layer_norm(attributes: dict[str, Any], weight: Any, bias: Any) -> nn.Module:
    return _loaded(nn.LayerNorm(weight.shape, attributes["epsilon"]), weight=weight, bias=bias)


_MODULES: dict[str, Callable[..., nn.Module]] = {
    "Conv": _conv,
    "ConvTranspose": _transposed,
    "BatchNormalization": _normalised,
    "Gemm": _dense,
    "MatMul": _product,
    "LayerNormalization": _layer_norm,
    "Relu": lambda _: nn.ReLU(),
    "Clip": lambda _, low, high: nn.ReLU6(),
    "HardSwish": lambda _: nn.Hardswish(),
    "HardSigmoid": lambda _: nn.Hardsigmoid(),
    "Sigmoid": lambda _: nn.Sigmoid(),
    "GlobalAveragePool": lambda _: nn.AdaptiveAvgPool2d(1),
    "MaxPool": lambda attributes: nn.MaxPool2d(tuple(attributes["kernel_shape"])),
    "AveragePool": lambda attributes: nn.AvgPool1d(tuple(attributes["kernel_shape"])),
    "Softmax": lambda attributes: nn.Softmax(attributes["axis"]),
    "Flatten": lambda _: nn.Flatten(),
}
_FUNCTIONS: dict[str, Function] = {
    "Add": lambda _, a, b: a + b,
    "Mul": lambda _, a, b: a * b,
    "Div": lambda _, a, b: a / b,
    "MatMul": lambda _, a, b: torch.matmul(a, b),
    "Erf": lambda _, a: torch.erf(a),
    "Concat": lambda attributes, *each: torch.cat(each, attributes["axis"]),
    "Transpose": lambda attributes, a: a.permute(*attributes["perm"]),
    "Reshape": lambda _, a, shape: a.reshape(*map(int, shape)),
    "ReduceMean": lambda attributes, a: a.mean(tuple(attributes["axes"])),
    "Pad": lambda _, a, pads: functional.pad(a, (int(pads[2]), int(pads[5]))),
    "Resize": lambda _, a, scales: functional.interpolate(
        a, scale_factor=2.0, mode="bilinear", align_corners=False
    ),
}
