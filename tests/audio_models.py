"""A small network for keywords with activations of 16 bits or eight, filters of int8.

    python -m tests.audio_models FOLDER

writes keywords_int16.onnx and keywords_int8.onnx: shapes of MLPerf Tiny's DS-CNN, random weights.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx

from tests.quantised_models import Network


def keywords(
    dtype: str, channels: int = 64, blocks: int = 4, size: tuple[int, int] = (49, 10)
) -> onnx.ModelProto:
    """``sound`` (1, 1, *size) -> ``scores`` (1, 12), both of ``dtype``, int16 or int8."""
    net = Network(dtype, 21, seed=7)
    unit = float(np.float32(4.0 / (np.iinfo(dtype).max + 1)))
    y = net.dequantise("sound", unit, 0)

    def layer(x: str, name: str, shape: tuple[int, ...], pads: list[int], group: int = 1) -> str:
        w = net.filters(name, shape, axis=0)
        b = net.bias(f"{name}_bias", shape[0], net.scales[name] * np.float32(unit))
        strides = [2, 2] if name == "first" else [1, 1]
        y = net.node("Conv", [x, w, b], f"{name}_y", pads=pads, group=group, strides=strides)
        return net.pair(net.node("Relu", [y], f"{name}_r"), unit, 0)

    y = layer(y, "first", (channels, 1, 10, 4), [4, 1, 5, 1])
    for i in range(blocks):
        y = layer(y, f"depthwise{i}", (channels, 1, 3, 3), [1, 1, 1, 1], channels)
        y = layer(y, f"pointwise{i}", (channels, channels, 1, 1), [0, 0, 0, 0])
    y = net.pair(net.node("GlobalAveragePool", [y], "mean"), unit, 0)
    y = net.node("Flatten", [y], "flat")
    y = net.node("Gemm", [y, net.filters("dense", (12, channels)), ""], "dense_y", transB=1)
    net.node("Identity", [net.quantise(y, unit, 0)], "scores")
    return net.model({"sound": (dtype, (1, 1, *size))}, {"scores": (dtype, (1, 12))})


if __name__ == "__main__":
    for kind in ("int16", "int8"):
        onnx.save(keywords(kind), Path(sys.argv[1]) / f"keywords_{kind}.onnx")
