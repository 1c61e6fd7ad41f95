"""Random networks over a window that slides along time: convolutions, pools and residuals, whose
strides and the rows of a run fit together; float32."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from tests.state_models import Builder


@dataclass(frozen=True)
class Sliding:
    """``hop``: rows of a run, of input ``x`` and its axis 2.  ``borders``: as --stream-borders."""

    model: onnx.ModelProto
    hop: int
    borders: str


def network(seed: int) -> Sliding:
    """Two to five layers over 12 to 28 frames, then a result of all of them."""
    draw, b = random.Random(seed), Builder()
    b.rng = np.random.default_rng(seed)
    frames, channels = 4 * draw.randint(3, 7), draw.randint(1, 6)
    x, size, stride = "x", frames, 1
    inputs: dict[str, tuple[int, ...]] = {"x": (1, channels, frames)}
    for _ in range(draw.randint(2, 5)):
        kind = draw.choice(["dense", "dense", "depthwise", "pool", "residual"])
        step = draw.choice([1, 1, 2]) if stride < 4 and size >= 8 and kind != "residual" else 1
        dilation = draw.choice([1, 1, 2]) if step == 1 and kind != "pool" else 1
        kernel = draw.choice([3] if kind == "residual" else [1, 2, 3])
        reach = (kernel - 1) * dilation
        pads = [draw.randint(0, reach), 0]
        pads[1] = reach - pads[0] if kind == "residual" else draw.randint(0, reach)
        if size + sum(pads) <= reach:
            continue
        out = draw.randint(1, 8) if kind == "dense" else channels
        attrs: dict[str, Any] = {"kernel_shape": [kernel], "strides": [step], "pads": pads}
        if kind == "pool":
            if max(pads) >= kernel:
                continue
            made = b("MaxPool", x, **attrs)
        else:
            groups = channels if kind == "depthwise" else 1
            w = b.weight(out, channels // groups, kernel)
            made = b("Conv", x, w, b.weight(out), group=groups, dilations=[dilation], **attrs)
            made = b(draw.choice(["Relu", "Tanh", "Identity"]), made)
            made = b("Add", made, x) if kind == "residual" else made
        x, channels = made, out
        size, stride = (size + sum(pads) - reach - 1) // step + 1, stride * step
    if draw.random() < 0.7:
        pooled = b(draw.choice(["GlobalMaxPool", "GlobalAveragePool"]), x)
        flat, wide = b("Flatten", pooled), channels
    else:
        flat, wide = b("Flatten", x), channels * size
    b("Gemm", flat, b.weight(3, wide), b.weight(3), to="y", transB=1)
    hop = stride * draw.choice([1, 1, 2])
    return Sliding(b.model(inputs, "y"), hop, draw.choice(["window", "stream"]))
