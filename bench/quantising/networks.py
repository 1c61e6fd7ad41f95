"""Six small networks, one of each kind that microcontrollers and phones run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from quantising.graphs import Array, Writer

SAMPLES = 32  # of calibration


def ds_cnn() -> onnx.ModelProto:
    """Depthwise separable convolutions of 49 x 10 coefficients of sound, 12 words."""
    write, width = Writer("ds_cnn", (1, 1, 49, 10), seed=1), 24
    x = write.conv("first", "input", 1, width, 10, 4, strides=(2, 2), pads=(4, 1, 5, 1))
    x = write.node("Relu", x)
    for block in range(3):
        x = write.conv(f"deep{block}", x, width, width, 3, 3, group=width, pads=(1, 1, 1, 1))
        x = write.conv(f"point{block}", write.node("Relu", x), width, width, 1, 1)
        x = write.node("Relu", x)
    x = write.node("Flatten", write.node("GlobalAveragePool", x))
    return write.model(write.node("Softmax", write.dense("words", x, width, 12), axis=-1))


def residual() -> onnx.ModelProto:
    """Residual blocks of 32 x 32 pixels, batch normalisation not yet folded, 10 classes."""
    write = Writer("residual", (1, 3, 32, 32), seed=2)

    def normalised(name: str, x: str, in_c: int, out_c: int, kernel: int, stride: int) -> str:
        pads, strides = (kernel // 2,) * 4, (stride, stride)
        x = write.conv(name, x, in_c, out_c, kernel, kernel, pads=pads, strides=strides)
        return write.batch_norm(f"{name}.norm", x, out_c)

    x = write.node("Relu", normalised("first", "input", 3, 16, 3, 1))
    in_c = 16
    for block, (out_c, stride) in enumerate([(16, 1), (32, 2), (64, 2)]):
        y = write.node("Relu", normalised(f"a{block}", x, in_c, out_c, 3, stride))
        y = normalised(f"b{block}", y, out_c, out_c, 3, 1)
        if (in_c, stride) != (out_c, 1):
            x = normalised(f"skip{block}", x, in_c, out_c, 1, stride)
        x, in_c = write.node("Relu", write.node("Add", y, x)), out_c
    x = write.node("Flatten", write.node("GlobalAveragePool", x))
    return write.model(write.dense("classes", x, in_c, 10))


def temporal() -> onnx.ModelProto:
    """Causal, dilated depthwise convolutions of 98 frames of 40 coefficients, 12 words."""
    write, width = Writer("temporal", (1, 40, 98), seed=3), 32
    x = write.node("Relu", write.conv("first", "input", 40, width, 3, pads=(1, 1)))
    for block, dilation in enumerate([1, 2, 4]):
        border = write.constant(
            f"border{block}", np.array([0, 0, 8 * dilation] + 3 * [0], np.int64)
        )
        y = write.node("Pad", x, border, mode="constant")
        y = write.conv(f"deep{block}", y, width, width, 9, group=width, dilations=(dilation,))
        y = write.conv(f"point{block}", write.node("Relu", y), width, width, 1)
        x = write.node("Relu", write.node("Add", x, y))
    x = write.node("AveragePool", x, kernel_shape=(98,))
    return write.model(write.conv("words", x, width, 12, 1))


def u_net() -> onnx.ModelProto:
    """A mask of 32 x 32 pixels: two levels down, one up by ConvTranspose, one by Resize."""
    write = Writer("u_net", (1, 3, 32, 32), seed=4)
    around = (1, 1, 1, 1)

    def block(name: str, x: str, in_c: int, out_c: int) -> str:
        return write.node("Relu", write.conv(name, x, in_c, out_c, 3, 3, pads=around))

    half: dict[str, Any] = {"kernel_shape": (2, 2), "strides": (2, 2)}
    high = block("down0", "input", 3, 8)
    middle = block("down1", write.node("MaxPool", high, **half), 8, 16)
    low = block("down2", write.node("MaxPool", middle, **half), 16, 32)
    weight = write.filters("up1.weight", 32, 16, 2, 2, fan_in=32)
    up = write.node("ConvTranspose", low, weight, write.bias("up1.bias", 16), **half)
    x = block("join1", write.node("Concat", up, middle, axis=1), 32, 16)
    scales = write.constant("scales", np.array([1, 1, 2, 2], np.float32))
    linear: dict[str, Any] = {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}
    up = write.node("Resize", x, "", scales, **linear)
    x = block("join0", write.node("Concat", up, high, axis=1), 24, 8)
    return write.model(write.node("Sigmoid", write.conv("mask", x, 8, 1, 1, 1)))


def vit_block() -> onnx.ModelProto:
    """A transformer's block on 64 patches of 32 x 32 pixels, two heads, 10 classes."""
    write, tokens, width, heads = Writer("vit_block", (1, 3, 32, 32), seed=5), 64, 32, 2
    each = width // heads
    x = write.conv("patches", "input", 3, width, 4, 4, strides=(4, 4))
    x = write.node("Transpose", write.reshaped(x, 1, width, tokens), perm=(0, 2, 1))
    x = write.node("Add", x, write.filters("places", 1, tokens, width, fan_in=tokens))
    y = write.layer_norm("norm0", x, width)

    def head(name: str, order: tuple[int, ...]) -> str:
        part = write.reshaped(write.linear(name, y, width, width), 1, tokens, heads, each)
        return write.node("Transpose", part, perm=order)

    scores = write.node("MatMul", head("query", (0, 2, 1, 3)), head("key", (0, 2, 3, 1)))
    root = write.constant("root", np.array(each**0.5, np.float32))
    weights = write.node("Softmax", write.node("Div", scores, root), axis=-1)
    y = write.node("MatMul", weights, head("value", (0, 2, 1, 3)))
    y = write.reshaped(write.node("Transpose", y, perm=(0, 2, 1, 3)), 1, tokens, width)
    x = write.node("Add", x, write.linear("out", y, width, width))
    y = write.gelu(write.linear("wide", write.layer_norm("norm1", x, width), width, 4 * width))
    x = write.node("Add", x, write.linear("narrow", y, 4 * width, width))
    x = write.node("ReduceMean", write.layer_norm("norm2", x, width), axes=(1,), keepdims=0)
    return write.model(write.dense("classes", x, width, 10))


def mobile() -> onnx.ModelProto:
    """Inverted residuals of 32 x 32 pixels: HardSwish, squeeze and excitation, Clip at 6."""
    write = Writer("mobile", (1, 3, 32, 32), seed=6)
    x = write.conv("first", "input", 3, 16, 3, 3, pads=(1, 1, 1, 1), strides=(2, 2))
    x = write.node("HardSwish", x)
    zero = write.constant("zero", np.array(0, np.float32))
    six = write.constant("six", np.array(6, np.float32))
    for block, (in_c, out_c, stride) in enumerate([(16, 16, 1), (16, 24, 2)]):
        wide = 3 * in_c
        y = write.node("Clip", write.conv(f"wide{block}", x, in_c, wide, 1, 1), zero, six)
        strides = (stride, stride)
        y = write.conv(
            f"deep{block}", y, wide, wide, 5, 5, group=wide, pads=(2, 2, 2, 2), strides=strides
        )
        y = write.node("HardSwish", y)
        z = write.conv(f"squeeze{block}", write.node("GlobalAveragePool", y), wide, 8, 1, 1)
        z = write.conv(f"excite{block}", write.node("Relu", z), 8, wide, 1, 1)
        y = write.node("Mul", y, write.node("HardSigmoid", z, alpha=1 / 6, beta=0.5))
        y = write.conv(f"narrow{block}", y, wide, out_c, 1, 1)
        x = write.node("Add", x, y) if in_c == out_c else y
    x = write.node("Flatten", write.node("GlobalAveragePool", x))
    return write.model(write.dense("classes", x, 24, 10))


NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    build.__name__: build for build in (ds_cnn, residual, temporal, u_net, vit_block, mobile)
}


def samples(model: onnx.ModelProto) -> Array:
    """Calibration inputs of N(0, 1): samples x the input's shape without its batch of one."""
    shape = [axis.dim_value for axis in model.graph.input[0].type.tensor_type.shape.dim]
    drawn = np.random.default_rng(0).normal(size=(SAMPLES, *shape[1:]))
    return drawn.astype(np.float32)


def write_networks(folder: Path) -> list[Path]:
    """Write NAME.onnx and the samples NAME.npy of each network."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, build in NETWORKS.items():
        model = build()
        np.save(folder / f"{name}.npy", samples(model))
        onnx.save(model, folder / f"{name}.onnx")
        paths.append(folder / f"{name}.onnx")
    return paths


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    write_networks(parser.parse_args().folder)
