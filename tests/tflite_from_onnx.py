"""Quantised ONNX models that were TensorFlow Lite models once, written as such again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper, shape_inference

from tests.tflite_models import Sketch

Values = npt.NDArray[Any]


class _Back:
    """Tensors by the name of their integers; ``reals``: which integers a real number stands for;
    ``pending``: what a Conv, MatMul or the like computes, until a QuantizeLinear says as what."""

    def __init__(self, model: onnx.ModelProto) -> None:
        for dim in (value.type.tensor_type.shape.dim[0] for value in model.graph.input):
            dim.dim_value = 1
        del model.graph.value_info[:]
        graph = shape_inference.infer_shapes(model).graph
        self.sketch = Sketch()
        self.constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        values = (*graph.value_info, *graph.output, *graph.input)
        self.shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}
        self.tensors: dict[str, int] = {}
        self.reals: dict[str, tuple[str, Sequence[str]]] = {}
        self.pending: dict[str, tuple[str, list[int], dict[str, Any]]] = {}
        self.readers: dict[str, onnx.NodeProto] = {}
        for node in graph.node:
            for name in node.input:
                self.readers.setdefault(name, node)
        self.graph = graph

    def write(self) -> bytes:
        inputs = []
        for value in self.graph.input:
            reader = self.readers[value.name]
            while reader.op_type != "DequantizeLinear":
                reader = self.readers[reader.output[0]]
            shape = self.shapes[value.name]
            inputs.append(self._tensor(value.name, shape, reader.input[1:3]))
        for node in self.graph.node:
            self._take(node)
        return self.sketch.bytes(inputs, [self.tensors[v.name] for v in self.graph.output])

    def _tensor(self, name: str, shape: Sequence[int], scaling: Sequence[str]) -> int:
        scale, zero = (self.constants[each].reshape(-1).tolist() for each in scaling)
        self.tensors[name] = self.sketch.tensor(name, shape, "int8", scale=scale, zero=zero)
        return self.tensors[name]

    def _constant(self, real: str, axes: Sequence[int], axis: int) -> int:
        """The integers of a filter or bias, in another order; scales along ``axis``."""
        name, scaling = self.reals[real]
        values = self.constants[name].transpose(axes)
        scale = self.constants[scaling[0]].reshape(-1).tolist()
        zero = [0] * len(scale)
        kind = values.dtype.name
        return self.sketch.constant(name, values, kind, scale=scale, zero=zero, axis=axis)

    def _operand(self, real: str) -> int:
        return self.tensors[self.reals[real][0]]

    def _take(self, node: onnx.NodeProto) -> None:
        kind, given, made = node.op_type, list(node.input), node.output[0]
        if kind == "DequantizeLinear":
            self.reals[made] = (given[0], given[1:3])
        elif kind == "QuantizeLinear":
            operator, operands, options = self.pending[given[0]]
            shape = self.shapes[given[0]]
            shape = [shape[i] for i in (0, 2, 3, 1)] if len(shape) == 4 else shape
            if made in [v.name for v in self.graph.output]:
                shape = self.shapes[made]
            self.sketch.operator(
                operator, operands, [self._tensor(made, shape, given[1:3])], **options
            )
        elif kind == "Relu":
            operator, operands, options = self.pending[given[0]]
            self.pending[made] = (operator, operands, {**options, "activation": "RELU"})
        elif kind in ("Transpose", "Reshape"):
            self._move(given[0], made)
        elif given[0] in self.pending:  # the bias of a MatMul
            self.pending[given[0]][1].append(self._constant(given[1], (0,), 0))
            self.pending[made] = self.pending[given[0]]
        else:
            self.pending[made] = self._layer(
                node, {a.name: helper.get_attribute_value(a) for a in node.attribute}
            )

    def _move(self, given: str, made: str) -> None:
        """Between orders of dimensions there is nothing here; a flatten is a RESHAPE."""
        shape = self.shapes[made]
        if len(shape) == 4:
            self.tensors[made] = self.tensors[given]
            return
        of = self.sketch.tensors[self.tensors[given]]
        more = {key: of[key] for key in ("scale", "zero")}
        self.tensors[made] = self.sketch.tensor(made, shape, "int8", **more)
        sizes = self.sketch.constant(f"{made}/sizes", shape, "int32")
        self.sketch.operator("RESHAPE", [self.tensors[given], sizes], [self.tensors[made]])

    def _layer(
        self, node: onnx.NodeProto, attributes: dict[str, Any]
    ) -> tuple[str, list[int], dict[str, Any]]:
        kind, given = node.op_type, list(node.input)
        x = self._operand(given[0])
        if kind == "MatMul":
            return "FULLY_CONNECTED", [x, self._constant(given[1], (1, 0), 0)], {}
        if kind == "Softmax":
            return "SOFTMAX", [x], {"beta": 1.0}
        if kind == "Add":
            return "ADD", [x, self._operand(given[1])], {}
        height, width = attributes["strides"]
        options = {"stride_h": height, "stride_w": width}
        if kind == "AveragePool":
            rows, columns = attributes["kernel_shape"]
            return (
                "AVERAGE_POOL_2D",
                [x],
                {**options, "padding": "VALID", "kernel_h": rows, "kernel_w": columns},
            )
        options["padding"] = "SAME" if any(attributes["pads"]) or height > 1 else "VALID"
        depthwise = attributes["group"] > 1
        axes, axis = ((1, 2, 3, 0), 3) if depthwise else ((0, 2, 3, 1), 0)
        operands = [x, self._constant(given[1], axes, axis), self._constant(given[2], (0,), 0)]
        if depthwise:
            return "DEPTHWISE_CONV_2D", operands, {**options, "depth_multiplier": 1}
        return "CONV_2D", operands, options


def written(path: Path) -> bytes:
    """The model of ``path``, which an exporter made of a TensorFlow Lite model."""
    return _Back(onnx.load(path)).write()
