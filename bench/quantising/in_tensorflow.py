"""The networks as functions of TensorFlow, channels last where they have pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tensorflow as tf
from onnx import helper, numpy_helper

Attributes = dict[str, Any]


class Network:
    """An ONNX graph of the operators below.  Tensors of pixels or frames, from the input on, are
    kept with their channels last as long as nothing asks for another order."""

    def __init__(self, path: Path) -> None:
        graph = onnx.load(path).graph
        self._constants = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
        self._nodes = graph.node
        shape = [axis.dim_value for axis in graph.input[0].type.tensor_type.shape.dim]
        self.shape = [shape[0], *shape[2:], shape[1]]

    def __call__(self, x: Any) -> Any:
        """``x``: channels last."""
        made: dict[str, Any] = {"input": x}
        last = {"input"}
        for node in self._nodes:
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            names = [name for name in node.input if name]
            known = [self._constants[name] for name in names if name in self._constants]
            given = [name for name in names if name not in self._constants]
            (output,) = node.output
            if node.op_type in _OF_PIXELS:
                values = [made[n] if n in last else _channels_last(made[n]) for n in given]
                made[output] = _OF_PIXELS[node.op_type](attributes, values, known)
                last.add(output)
            elif node.op_type in _ANYWHERE and last.issuperset(given):
                operands = [made[n] if n in made else self._beside_channels(n) for n in names]
                made[output] = _ANYWHERE[node.op_type](*operands)
                last.add(output)
            else:
                values = [_channels_first(made[n]) if n in last else made[n] for n in given]
                found = dict(zip(given, values, strict=True))
                operands = [found[n] if n in found else self._constants[n] for n in names]
                made[output] = {**_ANYWHERE, **_OF_ROWS}[node.op_type](
                    *([attributes] if node.op_type in _OF_ROWS else []), *operands
                )
        return made["output"]

    def _beside_channels(self, name: str) -> Any:
        value = self._constants[name]
        return np.moveaxis(value, 1, -1) if value.ndim > 2 else value


def _channels_last(x: Any) -> Any:
    return tf.transpose(x, [0, *range(2, len(x.shape)), 1])


def _channels_first(x: Any) -> Any:
    """In ONNX's order; nothing moves where there is one pixel."""
    order = [0, len(x.shape) - 1, *range(1, len(x.shape) - 1)]
    if all(size == 1 for size in x.shape[1:-1]):
        return tf.reshape(x, [x.shape[i] for i in order])
    return tf.transpose(x, order)


def _as_image(x: Any) -> Any:
    """Frames as an image of one row."""
    return x if len(x.shape) == 4 else x[:, None]


def _pair(value: Sequence[int], one: int) -> list[int]:
    return [one] * (2 - len(value)) + [int(each) for each in value]


def _conv(attributes: Attributes, values: list[Any], known: list[Any]) -> Any:
    (x,), (w, bias) = values, known
    rank = w.ndim - 2
    kernel = _pair(w.shape[2:], 1)
    strides = _pair(attributes.get("strides", [1] * rank), 1)
    dilations = _pair(attributes.get("dilations", [1] * rank), 1)
    pads = attributes.get("pads", [0] * (2 * rank))
    before, after = _pair(pads[:rank], 0), _pair(pads[rank:], 0)
    image = _as_image(x)
    padding = _padding(image.shape[1:3], kernel, strides, dilations, (before, after))
    if padding is None:
        image = tf.pad(image, [[0, 0], *map(list, zip(before, after, strict=True)), [0, 0]])
    filters = w.reshape(*w.shape[:2], *kernel)
    if attributes.get("group", 1) > 1:  # depthwise, one filter of each channel
        options = {"strides": [1, *strides, 1], "dilations": dilations}
        of_channels = filters.transpose(2, 3, 0, 1)
        y = tf.nn.depthwise_conv2d(image, of_channels, padding=padding or "VALID", **options)
    else:
        options = {"strides": strides, "dilations": dilations}
        y = tf.nn.conv2d(
            image, filters.transpose(2, 3, 1, 0), padding=padding or "VALID", **options
        )
    y = tf.nn.bias_add(y, bias)
    return y if rank == 2 else y[:, 0]


def _padding(
    sizes: Sequence[int],
    kernel: list[int],
    strides: list[int],
    dilations: list[int],
    pads: tuple[list[int], list[int]],
) -> str | None:
    """TensorFlow's word for these pads, where it has one."""
    if not any(map(any, pads)):
        return "VALID"
    for axis, size in enumerate(sizes):
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        needed = max(0, (-(-size // strides[axis]) - 1) * strides[axis] + reach - size)
        if (pads[0][axis], pads[1][axis]) != (needed // 2, needed - needed // 2):
            return None
    return "SAME"


def _conv_transpose(attributes: Attributes, values: list[Any], known: list[Any]) -> Any:
    (x,), (w, bias) = values, known
    stride = [int(each) for each in attributes["strides"]]
    n, height, width, _ = x.shape
    shape = [n, height * stride[0], width * stride[1], w.shape[1]]
    y = tf.nn.conv2d_transpose(x, w.transpose(2, 3, 1, 0), shape, stride, padding="VALID")
    return tf.nn.bias_add(y, bias)


def _batch_norm(_: Attributes, values: list[Any], known: list[Any]) -> Any:
    scale, shift, mean, variance = known
    return tf.nn.batch_normalization(values[0], mean, variance, shift, scale, 1e-5)


def _pool(function: Callable[..., Any]) -> Callable[..., Any]:
    def pooled(attributes: Attributes, values: list[Any], _: list[Any]) -> Any:
        (x,) = values
        kernel = _pair(attributes["kernel_shape"], 1)
        strides = _pair(attributes.get("strides", [1] * len(attributes["kernel_shape"])), 1)
        y = function(_as_image(x), kernel, strides, "VALID")
        return y if len(x.shape) == 4 else y[:, 0]

    return pooled


def _pad(_: Attributes, values: list[Any], known: list[Any]) -> Any:
    """Of frames."""
    pads = known[0]
    return tf.pad(values[0], [[0, 0], [int(pads[2]), int(pads[5])], [0, 0]])


def _resized(_: Attributes, values: list[Any], __: list[Any]) -> Any:
    (x,) = values
    return tf.image.resize(x, [2 * x.shape[1], 2 * x.shape[2]], "bilinear")


def _layer_norm(attributes: Attributes, x: Any, weight: Any, bias: Any) -> Any:
    """As Keras writes it."""
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, bias, weight, attributes["epsilon"])


_OF_PIXELS: dict[str, Callable[..., Any]] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "BatchNormalization": _batch_norm,
    "MaxPool": _pool(tf.nn.max_pool2d),
    "AveragePool": _pool(tf.nn.avg_pool2d),
    "GlobalAveragePool": lambda _, values, __: tf.reduce_mean(values[0], [1, 2], keepdims=True),
    "Pad": _pad,
    "Resize": _resized,
    "Concat": lambda _, values, __: tf.concat(values, -1),
}
_ANYWHERE: dict[str, Callable[..., Any]] = {
    "Relu": tf.nn.relu,
    "Clip": lambda x, low, high: tf.nn.relu6(x),
    "HardSwish": lambda x: x * tf.nn.relu6(x + 3.0) * (1.0 / 6.0),
    "HardSigmoid": lambda x: tf.nn.relu6(x + 3.0) * (1.0 / 6.0),
    "Sigmoid": tf.sigmoid,
    "Erf": tf.math.erf,
    "Add": lambda a, b: a + b,
    "Mul": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
}
_OF_ROWS: dict[str, Callable[..., Any]] = {
    "Flatten": lambda _, x: tf.reshape(x, [x.shape[0], -1]),
    "Gemm": lambda _, x, w, bias: tf.matmul(x, w.T) + bias,
    "MatMul": lambda _, a, b: tf.matmul(a, b),
    "Softmax": lambda attributes, x: tf.nn.softmax(x, attributes["axis"]),
    "Transpose": lambda attributes, x: tf.transpose(x, attributes["perm"]),
    "Reshape": lambda _, x, shape: tf.reshape(x, [int(size) for size in shape]),
    "ReduceMean": lambda attributes, x: tf.reduce_mean(x, attributes["axes"]),
    "LayerNormalization": _layer_norm,
}
