"""Trains MobileNetV2 on hand-written digits: a network with ReLU6 and depthwise convolutions whose
accuracy can be told, for `int8_steps.py`.

    pip install torch scikit-learn
    python bench/digits_mobilenet.py FOLDER [--width 1.0] [--size 64] [--epochs 12]

Writes FOLDER/mobilenet-digits.onnx (float32, batch normalisation folded), -calibration.npz (200
images) and -testset.npz (400), none of which it was trained on.  The images are those of
`sklearn.datasets.load_digits`, enlarged, with 10 classes; otherwise the network is that of Sandler
et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks" (2018), table 2.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from onnx import TensorProto, helper, numpy_helper, save
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

BLOCKS = (  # expansion, channels, blocks, stride of the first
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
CLASSES, BATCH, TESTED, CALIBRATING = 10, 64, 400, 200


class Normalised(nn.Module):  # type: ignore[misc]
    """A convolution with batch normalisation, and ReLU6 unless ``linear``."""

    def __init__(
        self, c: int, m: int, k: int, stride: int = 1, groups: int = 1, linear: bool = False
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(c, m, k, stride, k // 2, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(m, momentum=0.05)
        self.linear = linear

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.conv(x))
        return y if self.linear else functional.relu6(y)


class Block(nn.Module):  # type: ignore[misc]
    """An inverted residual."""

    def __init__(self, c: int, m: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = c * expansion
        layers = [Normalised(c, wide, 1)] if expansion > 1 else []
        layers.append(Normalised(wide, wide, 3, stride, wide))
        layers.append(Normalised(wide, m, 1, linear=True))
        self.layers = nn.Sequential(*layers)
        self.adds = stride == 1 and c == m

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.layers(x)
        return x + y if self.adds else y


class MobileNet(nn.Module):  # type: ignore[misc]
    """Scores (N, 10) of images (N, 1, H, W)."""

    def __init__(self, width: float) -> None:
        super().__init__()

        def scaled(channels: int) -> int:
            return max(8, int(channels * width + 4) // 8 * 8)

        c = scaled(32)
        self.stem = Normalised(1, c, 3, 2)
        blocks = []
        for expansion, channels, count, first in BLOCKS:
            for i in range(count):
                blocks.append(Block(c, scaled(channels), first if i == 0 else 1, expansion))
                c = scaled(channels)
        self.blocks = nn.Sequential(*blocks)
        self.last = Normalised(c, max(1280, scaled(1280)), 1)
        self.dropout = nn.Dropout(0.2)
        self.dense = nn.Linear(max(1280, scaled(1280)), CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.last(self.blocks(self.stem(x))).mean((2, 3))
        scores: torch.Tensor = self.dense(self.dropout(y))
        return scores


class Writer:
    """The network as ONNX nodes."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name: str, value: torch.Tensor) -> str:
        array = value.detach().numpy().astype(np.float32)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def convolution(self, x: str, layer: Normalised, name: str) -> str:
        conv, norm = layer.conv, layer.norm
        scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
        weights = self.constant(f"{name}.w", conv.weight * scale[:, None, None, None])
        bias = self.constant(f"{name}.b", norm.bias - norm.running_mean * scale)
        pads, strides = [int(conv.padding[0])] * 4, list(conv.stride)
        y = self.node(
            "Conv", [x, weights, bias], name, group=conv.groups, pads=pads, strides=strides
        )
        return y if layer.linear else self.node("Clip", [y, "zero", "six"], f"{name}.relu6")

    def network(self, net: MobileNet, size: int) -> Any:
        self.constant("zero", torch.tensor(0.0))
        self.constant("six", torch.tensor(6.0))
        x = self.convolution("image", net.stem, "stem")
        for i, block in enumerate(net.blocks):
            y = x
            for j, layer in enumerate(block.layers):
                y = self.convolution(y, layer, f"block{i}.{j}")
            x = self.node("Add", [x, y], f"block{i}.sum") if block.adds else y
        x = self.convolution(x, net.last, "last")
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x], "pool")], "flat")
        weights = self.constant("dense.w", net.dense.weight)
        bias = self.constant("dense.b", net.dense.bias)
        self.node("Gemm", [x, weights, bias], "scores", transB=1)
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, size, size])
        scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, CLASSES])
        graph = helper.make_graph(self.nodes, "mobilenet", [image], [scores], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def images(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Every image of the set, (N, 1, size, size), in a seeded order, and the digits."""
    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    small = torch.tensor(found.images[order], dtype=torch.float32)[:, None] / 16
    large = functional.interpolate(small, (size, size), mode="bilinear")
    return large, torch.tensor(found.target[order])


def train(net: MobileNet, x: torch.Tensor, label: torch.Tensor, epochs: int) -> None:
    """By stochastic gradient descent, images moved and made noisy."""
    batches = len(x) // BATCH
    descent = torch.optim.SGD(net.parameters(), 0.05, 0.9, nesterov=True, weight_decay=1e-3)
    rate = torch.optim.lr_scheduler.OneCycleLR(descent, 0.1, epochs * batches)
    for epoch in range(epochs):
        net.train()
        order = torch.randperm(len(x))
        for i in range(batches):
            at = order[i * BATCH : (i + 1) * BATCH]
            shift = [int(v) for v in torch.randint(-6, 7, (2,))]
            batch = torch.roll(x[at], shift, (2, 3)) + 0.1 * torch.randn(1)
            loss = functional.cross_entropy(net(batch), label[at], label_smoothing=0.05)
            descent.zero_grad()
            loss.backward()
            descent.step()
            rate.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=12)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x, label = images(args.size)
    net = MobileNet(args.width)
    kept = TESTED + CALIBRATING
    train(net, x[kept:], label[kept:], args.epochs)
    net.eval()
    with torch.no_grad():
        right = (net(x[:TESTED]).argmax(1) == label[:TESTED]).float().mean()
    print(f"right of {TESTED} images not seen: {100 * right:.1f} %")
    args.folder.mkdir(parents=True, exist_ok=True)
    stem = args.folder / "mobilenet-digits"
    save(Writer().network(net, args.size), f"{stem}.onnx")
    parts = {"testset": slice(0, TESTED), "calibration": slice(TESTED, kept)}
    for name, part in parts.items():
        np.savez(f"{stem}-{name}.npz", image=x[part].numpy(), label=label[part].numpy())


if __name__ == "__main__":
    main()
