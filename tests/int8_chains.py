"""Networks of int8 in the QDQ format whose layers stream rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tests.quantised_models import Network

Kinds = Sequence[Mapping[str, Any]]
_SCALE, _ZERO = 0.03, -3


def chain(kinds: Kinds, size: tuple[int, int], *, nhwc: bool = False) -> onnx.ModelProto:
    """Convolutions ``l0``, ``l1``, ... of int8, of ``out`` channels, or depthwise where none are
    given, and maybe a global ``pool``; ``image`` has three channels, last ones with ``nhwc``.

    Each reads the one before, or the one of the number that ``reads`` is; the result of the one
    that ``added`` is is added to it.
    """
    net, channels, sizes = Network(), [3], [size]
    image = net.dequantise("image", _SCALE, 3)
    if nhwc:
        image = net.node("Transpose", [image], "channels_first", perm=[0, 3, 1, 2])
    results = [image]
    for i, kind in enumerate(kinds):
        source = kind.get("reads", i - 1) + 1
        x, given = results[source], channels[source]
        out = kind.get("out", given)
        if "pool" in kind:
            y, made = net.node(kind["pool"], [x], f"l{i}"), (1, 1)
        else:
            kernel, pads = kind["kernel"], 2 * kind.get("pad", 0)
            group = 1 if "out" in kind else given
            w = net.filters(f"w{i}", (out, given // group, kernel, kernel))
            bias = net.bias(f"b{i}", out, net.scales[f"w{i}"] * np.float32(_SCALE))
            window = {"pads": [kind.get("pad", 0)] * 4, "strides": [kind.get("stride", 1)] * 2}
            window["dilations"] = [kind.get("dilation", 1)] * 2
            y = net.node("Conv", [x, w, bias], f"l{i}", group=group, **window)
            reach = (kernel - 1) * kind.get("dilation", 1) + 1
            height, width = (
                (each + pads - reach) // kind.get("stride", 1) + 1 for each in sizes[source]
            )
            made = height, width
        y = net.pair(y, _SCALE, _ZERO)
        if "added" in kind:
            y = net.pair(net.node("Add", [y, results[kind["added"] + 1]], f"a{i}"), 0.04, 2)
        results.append(y)
        channels.append(out)
        sizes.append(made)
    net.node("Identity", [net.quantise(results[-1], _SCALE, _ZERO)], "y")
    shape = (1, *size, 3) if nhwc else (1, 3, *size)
    return net.model({"image": ("int8", shape)}, {"y": ("int8", (1, channels[-1], *sizes[-1]))})
