"""Random blocks: the small subgraphs that real networks, and exporters, are full of."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx

from tests.models.random_moves import MOVING
from tests.models.random_networks import CHANNELS, Network, UnfitError
from tests.models.random_operators import COMPUTING


def _conv(
    net: Network, x: str, out_c: int, kernel: int = 1, groups: int = 1, stride: int = 1
) -> str:
    shape = net.shape(x)
    rank, in_c = len(shape) - 2, shape[1]
    scale = (in_c // groups * kernel**rank) ** -0.5
    w = net.normal(out_c, in_c // groups, *([kernel] * rank), scale=scale)
    attrs = {"pads": [kernel // 2] * (2 * rank), "strides": [stride] * rank, "group": groups}
    return net.node("Conv", x, w, *([net.normal(out_c)] if net.chance(0.5) else []), **attrs)


def _normalised(net: Network, x: str) -> str:
    c = net.shape(x)[1]
    spell = net.random.choice(("none", "BatchNormalization", "scale", "scale and shift"))
    per_channel = (c, *([1] * (len(net.shape(x)) - 2)))
    if spell == "BatchNormalization":
        statistics = (net.normal(c), net.normal(c), net.positive(c))
        return net.node(spell, x, net.positive(c), *statistics)
    if spell != "none":
        x = net.node("Mul", x, net.positive(*per_channel))
    return net.node("Add", x, net.normal(*per_channel)) if spell == "scale and shift" else x


def _activated(net: Network, x: str) -> str:
    """An activation, now and then as exporters spell it."""
    spell = net.random.choice(("Relu", "Relu", "none", "silu", "hard swish", "gelu", "Clip"))
    if spell == "Relu":
        return net.node("Relu", x)
    if spell == "silu":
        return net.node("Mul", x, net.node("Sigmoid", x))
    if spell == "hard swish":
        shifted = net.node("Add", x, net.constant(np.float32(3.0)))
        return net.node(
            "Div", net.node("Mul", x, _relu6(net, shifted)), net.constant(np.float32(6))
        )
    if spell == "gelu" and net.opset >= 9:
        inner = net.node("Erf", net.node("Div", x, net.constant(np.float32(2**0.5))))
        total = net.node("Add", inner, net.constant(np.float32(1)))
        return net.node("Mul", net.node("Mul", x, total), net.constant(np.float32(0.5)))
    return _relu6(net, x) if spell == "Clip" else x


def _relu6(net: Network, x: str) -> str:
    if net.opset < 11:
        return net.node("Clip", x, min=0.0, max=6.0)
    return net.node("Clip", x, net.constant(np.float32(0)), net.constant(np.float32(6)))


def _unit(net: Network, x: str, out_c: int, kernel: int = 1, groups: int = 1) -> str:
    return _activated(net, _normalised(net, _conv(net, x, out_c, kernel, groups)))


def convolution(net: Network) -> None:
    _unit(net, net.image(), net.random.choice(CHANNELS), net.random.choice((1, 3, 3, 5)))


def residual(net: Network) -> None:
    x = net.image()
    c = net.shape(x)[1]
    y = _unit(net, x, net.random.choice(CHANNELS), 3)
    y = _normalised(net, _conv(net, y, c, net.random.choice((1, 3))))
    pair = [x, y] if net.chance(0.5) else [y, x]
    _activated(net, net.node(net.random.choice(("Add", "Add", "Sum")), *pair))


def inverted_bottleneck(net: Network) -> None:
    x = net.image()
    c = net.shape(x)[1]
    wide = c * net.random.choice((1, 2, 3))
    y = _unit(net, _unit(net, x, wide), wide, 3, wide)
    net.node("Add", x, _normalised(net, _conv(net, y, c)))


def squeeze_and_excitation(net: Network) -> None:
    x = net.image()
    c = net.shape(x)[1]
    if net.chance(0.5):
        y = net.node("GlobalAveragePool", x)
    else:
        axes = list(range(2, len(net.shape(x))))
        axes_input = [net.ints(*axes)] if net.opset >= 18 else []
        y = net.node("ReduceMean", x, *axes_input, **({} if axes_input else {"axes": axes}))
    y = net.node("Relu", _conv(net, y, net.random.choice((1, 4, 17))))
    gate = net.node(net.random.choice(("Sigmoid", "HardSigmoid")), _conv(net, y, c))
    net.node("Mul", *((x, gate) if net.chance(0.5) else (gate, x)))


def shuffle(net: Network) -> None:
    """Split, convolve one half, concatenate, shuffle (ShuffleNetV2)."""
    x = net.pick(lambda shape: len(shape) == 4 and shape[1] % 2 == 0)
    n, c, h, w = net.shape(x)
    even = {"num_outputs": 2} if net.opset >= 18 else {}
    left, right = net.nodes_of("Split", [x], 2, axis=1, **even)
    right = _unit(net, right, c // 2, net.random.choice((1, 3)))
    both = net.node("Concat", left, right, axis=1)
    parts = net.node("Reshape", both, net.ints(n, 2, c // 2, h, w))
    net.node("Reshape", net.node("Transpose", parts, perm=[0, 2, 1, 3, 4]), net.ints(n, -1, h, w))


def dense_block(net: Network) -> None:
    """Every convolution sees all that came before (DenseNet)."""
    x = net.image()
    for _ in range(net.random.randint(2, 3)):
        grown = _unit(net, x, net.random.choice((3, 5, 16)), 3)
        x = net.node("Concat", x, grown, axis=1)


def inception(net: Network) -> None:
    x = net.image()
    rank = len(net.shape(x)) - 2
    branches = [_unit(net, x, net.random.choice(CHANNELS)), _unit(net, x, 8, 3)]
    if net.chance(0.5):
        pool = {"kernel_shape": [3] * rank, "pads": [1] * (2 * rank)}
        branches.append(net.node("MaxPool", x, **pool))
    branches += [x] if net.chance(0.3) else []
    branches += branches[:1] if net.chance(0.15) else []
    net.node("Concat", *branches, axis=1)


def channels_last(net: Network) -> None:
    """A few nodes between transposes, as TensorFlow exporters leave them."""
    x = net.image()
    rank = len(net.shape(x))
    y = net.node("Transpose", x, perm=[0, *range(2, rank), 1])
    c = net.shape(y)[-1]
    y = net.node("Add", y, net.normal(c)) if net.chance(0.5) else y
    y = _activated(net, y)
    if net.chance(0.3):
        pads = [0, *([1] * (rank - 2)), 0] * 2
        pads_input = [net.ints(*pads)] if net.opset >= 11 else []
        y = net.node("Pad", y, *pads_input, **({} if pads_input else {"pads": pads}))
    y = net.node("Transpose", y, perm=[0, rank - 1, *range(1, rank - 1)])
    if net.chance(0.5):
        _unit(net, y, net.random.choice(CHANNELS), 3)


def head(net: Network) -> None:
    """Pooling, a view whose shape is computed from the input's, dense, softmax."""
    x = net.image()
    c = net.shape(x)[1]
    y = net.node("GlobalAveragePool", x) if net.chance(0.7) else x
    first = net.constant(np.int64(0)) if net.chance(0.5) else net.ints(0)
    if net.chance(0.5):
        y = net.node("Flatten", y)
    else:
        size = net.node_of_integers("Gather", net.node_of_integers("Shape", y), first, axis=0)
        if not net.constants[first].ndim:
            if net.opset >= 13:
                size = net.node_of_integers("Unsqueeze", size, net.ints(0))
            else:
                size = net.node_of_integers("Unsqueeze", size, axes=[0])
        shape = net.node_of_integers("Concat", size, net.ints(-1), axis=0)
        y = net.node("Reshape", y, shape)
    features, classes = net.shape(y)[1], net.random.choice((1, 2, 10, c))
    w = net.normal(features, classes, scale=features**-0.5)
    y = net.node("Gemm", y, w, net.normal(classes))
    if net.chance(0.5):
        net.node("Softmax", y, axis=1)


def pyramid(net: Network) -> None:
    """Down, up again, joined with what was there (U-Net, FPN)."""
    x = net.pick(lambda shape: len(shape) == 4 and shape[2] % 2 == 0 and shape[3] % 2 == 0)
    c = net.shape(x)[1]
    down = net.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    down = _unit(net, down, c, 3)
    scales = net.constant(np.array([1, 1, 2, 2], np.float32))
    if net.opset < 10:
        raise UnfitError
    roi = [net.constant(np.zeros(0, np.float32))] if net.opset >= 11 else []
    up = net.node("Resize", down, *roi, scales, mode="nearest")
    if net.chance(0.5):
        net.node("Concat", up, x, axis=1)
    else:
        net.node("Add", up, x)


BLOCKS = {
    convolution: 6,
    residual: 3,
    inverted_bottleneck: 2,
    squeeze_and_excitation: 2,
    shuffle: 2,
    dense_block: 1,
    inception: 2,
    channels_last: 2,
    head: 2,
    pyramid: 1,
}


def random_network(seed: int, nodes: int = 0) -> onnx.ModelProto:
    """A network of ``nodes`` nodes or a few more; of up to two dozen without it.

    The same seed gives the same network for one version of ONNX Runtime, which has a say in what
    is left out, and which refuses a few models although it runs each of their nodes.
    """
    while True:
        net = Network(seed)
        ways = COMPUTING | MOVING | BLOCKS
        wanted = nodes or net.random.choice((1, 2, 4, 8, 12, 16, 24))
        while len(net.nodes) < wanted:
            way = net.random.choices(list(ways), list(ways.values()))[0]
            with suppress(UnfitError):
                way(net)
        with suppress(UnfitError):
            return net.finished()
        seed += 1_000_000


def main() -> None:
    """Write one network, as a failing test asks for it."""
    parser = argparse.ArgumentParser(description="Write a random network to a file.")
    parser.add_argument("seed", type=int)
    parser.add_argument("nodes", type=int, help="0: up to two dozen")
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    onnx.save(random_network(arguments.seed, arguments.nodes), arguments.file)


if __name__ == "__main__":
    main()
