"""Random small networks in the QDQ format: convolutions of every kind, residuals, a dense layer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx

from tests.quantised_models import Network, Values


class Asymmetric(Network):
    """A network whose filters have zero points, of one tensor or of each output channel."""

    def filters(
        self,
        name: str,
        shape: tuple[int, ...],
        *,
        axis: int | None = 0,
        dtype: str = "",
        zero: int | Values = 0,
    ) -> str:
        del zero
        dtype = dtype or str(self.rng.choice(["int8", "uint8"]))
        info = np.iinfo(dtype)
        count = None if axis is None else shape[axis]
        zeros = self.rng.integers(info.min, info.max, count, endpoint=True)
        if self.rng.random() < 0.5:
            zeros = np.where(self.rng.random(count) < 0.5, info.min, info.max)
        return super().filters(name, shape, axis=axis, dtype=dtype, zero=zeros)


def network(
    seed: int,
    dtype: str = "",
    scales_as: str = "",
    *,
    by_channel: bool = False,
    asymmetric: bool = False,
) -> onnx.ModelProto:
    """``image`` (1, c, n, n) -> ``scores`` (1, 5) of the same type: ``dtype``, int16 or uint16, or
    one of eight bits.  ``scales_as``: as `Network` has it.  ``by_channel``: behind each convolution
    comes a depthwise one, in front of which every channel has its scale.  ``asymmetric``: filters
    have zero points, the extremes among them."""
    rng = np.random.default_rng(seed)
    own = str(rng.choice(["int8", "uint8"]))
    made = Asymmetric if asymmetric else Network
    net = made(dtype or own, opset=21 if dtype else 15, seed=seed, scales_as=scales_as)
    steps = 256 if dtype else 1  # of what eight bits have as one
    low = int(np.iinfo(net.dtype).min)
    channels, size = int(rng.integers(1, 9)) * 2, int(rng.integers(5, 11))
    ports = {"image": (net.dtype, (1, channels, size, size))}

    def zero() -> int:
        return low + steps * int(rng.choice([0, 128, int(rng.integers(0, 256)), 255]))

    scale = float(rng.choice([1 / 32, rng.uniform(0.01, 0.1)])) / steps
    scale = float(net.scale(scale))
    x = net.dequantise("image", scale, zero())
    shape = (channels, size)
    for index in range(int(rng.integers(2, 5))):
        before, kept = x, (shape, scale)
        x, shape, scale = _convolution(net, rng, f"{index}", x, shape, scale, zero, by_channel)
        if by_channel:
            x, scale = _depthwise(net, rng, f"{index}", x, shape[0], scale), scale / 2
            x = net.pair(x, scale, zero())
        if shape == kept[0] and rng.random() < 0.7:
            total = net.node("Add", [x, before] if rng.random() < 0.5 else [before, x], f"s{index}")
            total = net.node("Relu", [total], f"sr{index}") if rng.random() < 0.5 else total
            scale = float(net.scale((scale + kept[1]) * rng.uniform(0.6, 1.1)))
            x = net.pair(total, scale, zero())
    flat = net.node("Flatten", [x], "flat")
    features = shape[0] * shape[1] ** 2
    z = net.node("MatMul", [flat, net.filters("w", (features, 5), axis=None)], "z")
    if rng.random() < 0.7:
        z = net.node("Add", [z, net.bias("b", 5, net.scales["w"] * np.float32(scale))], "zb")
    net.node("Identity", [net.quantise(z, scale * float(rng.uniform(0.3, 1)), zero())], "scores")
    return net.model(ports, {"scores": (net.dtype, (1, 5))})


def _convolution(
    net: Network,
    rng: np.random.Generator,
    name: str,
    x: str,
    shape: tuple[int, int],
    scale: float,
    zero: Callable[[], int],
    by_channel: bool,
) -> tuple[str, tuple[int, int], float]:
    """A Conv, maybe a Relu or Clip, and what rounds them unless it is rounded ``by_channel``:
    tensor, (channels, size), scale."""
    channels, size = shape
    kind = rng.choice(["dense", "dense", "depthwise", "groups"])
    groups = {"dense": 1, "depthwise": channels, "groups": 2}[str(kind)]
    out = channels if kind == "depthwise" or rng.random() < 0.5 else int(rng.integers(1, 9)) * 2
    kernel, stride = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2]))
    pad, dilation = int(rng.integers(0, kernel)), int(rng.choice([1, 1, 2]))
    reach = (kernel - 1) * dilation + 1
    if size + 2 * pad < reach:
        dilation, reach = 1, kernel
    if size + 2 * pad < reach:
        pad = kernel - 1
    unsigned = rng.random() < 0.3
    w = net.filters(
        f"w{name}",
        (out, channels // groups, kernel, kernel),
        axis=0 if rng.random() < 0.7 else None,
        dtype="uint8" if unsigned else "int8",
        zero=128 if unsigned else 0,
    )
    units = net.scales[f"w{name}"] * np.float32(scale)
    bias = [net.bias(f"b{name}", out, units)] if rng.random() < 0.7 else []
    attrs = {
        "kernel_shape": [kernel] * 2,
        "strides": [stride] * 2,
        "pads": [pad] * 4,
        "dilations": [dilation] * 2,
        "group": groups,
    }
    y = net.node("Conv", [x, w, *bias], f"y{name}", **attrs)
    if rng.random() < 0.5:
        y = net.node("Relu", [y], f"r{name}")
    scale = float(net.scale(scale * rng.uniform(0.3, 1.0)))
    rounded = y if by_channel else net.pair(y, scale, zero())
    return rounded, (out, (size + 2 * pad - reach) // stride + 1), scale


def _depthwise(
    net: Network, rng: np.random.Generator, name: str, x: str, channels: int, scale: float
) -> str:
    """``x`` rounded to a scale near ``scale`` for each channel, and a 3x3 Conv of one filter each;
    of the same size."""
    scales = net.scale(scale * rng.uniform(0.3, 1.2, channels))
    # Without a zero point memory has the integers of the model, which are held to it by name.
    given = net.scaling(f"c{name}", scales, np.zeros(channels, net.dtype), net.dtype)
    q = net.node("QuantizeLinear", [x, *given], f"{x}_cq", axis=1)
    y = net.node("DequantizeLinear", [q, *given], f"{x}_cdq", axis=1)
    w = net.filters(f"d{name}", (channels, 1, 3, 3))
    bias = net.bias(f"e{name}", channels, net.scales[f"d{name}"] * scales)
    return net.node("Conv", [y, w, bias], f"d{name}_y", group=channels, pads=[1, 1, 1, 1])
