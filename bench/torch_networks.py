"""Small networks as users of PyTorch write them: `bench/torch_files.py` has litert-torch convert
them.  Needs torch, and no edgeconv."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Network = tuple[nn.Module, tuple[torch.Tensor, ...]]  # and inputs of its shapes
NETWORKS: dict[str, Callable[[], Network]] = {}


def network(build: Callable[[], Network]) -> Callable[[], Network]:
    NETWORKS[build.__name__] = build
    return build


class Called(nn.Module):
    """A function of modules, which it holds by name."""

    def __init__(self, function: Callable[..., Any], **modules: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self, *inputs)


def convolution(inside: int, outside: int, kernel: int = 3, **options: Any) -> nn.Module:
    """Padded to the same size, normalised and rectified."""
    options = {"padding": kernel // 2, "bias": False, **options}
    layers = (nn.Conv2d(inside, outside, kernel, **options), nn.BatchNorm2d(outside), nn.ReLU())
    return nn.Sequential(*layers)


@network
def mlp() -> Network:
    layers = (nn.Linear(96, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(), nn.Linear(64, 10))
    return nn.Sequential(*layers), (torch.randn(1, 96),)


@network
def batch_norm_1d() -> Network:
    layers = (nn.Conv1d(6, 12, 5, padding=2), nn.BatchNorm1d(12), nn.ReLU(), nn.MaxPool1d(2))
    head = (nn.Conv1d(12, 8, 3), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 4))
    return nn.Sequential(*layers, *head), (torch.randn(1, 6, 64),)


@network
def ds_cnn() -> Network:
    def separable() -> nn.Module:
        return nn.Sequential(convolution(32, 32, groups=32), convolution(32, 32, 1))

    first = convolution(1, 32, 3, stride=2)
    blocks = (separable(), separable(), separable())
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 12), nn.Softmax(-1))
    return nn.Sequential(first, *blocks, *head), (torch.randn(1, 1, 49, 10),)


@network
def residual() -> Network:
    def block(m: Any, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(m.shortcut(x) + m.second(m.first(x)))

    def made(inside: int, outside: int, stride: int) -> nn.Module:
        second = nn.Sequential(nn.Conv2d(outside, outside, 3, padding=1), nn.BatchNorm2d(outside))
        shortcut = nn.Conv2d(inside, outside, 1, stride=stride)
        first = convolution(inside, outside, stride=stride)
        return Called(block, first=first, second=second, shortcut=shortcut)

    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    layers = (convolution(3, 16), made(16, 16, 1), made(16, 32, 2), *head)
    return nn.Sequential(*layers), (torch.randn(1, 3, 32, 32),)


@network
def mobilenet_v2() -> Network:
    def bottleneck(m: Any, x: torch.Tensor) -> torch.Tensor:
        return x + m.layers(x)

    def layers(inside: int, outside: int, stride: int) -> nn.Module:
        wide = 4 * inside
        expand = nn.Sequential(nn.Conv2d(inside, wide, 1), nn.BatchNorm2d(wide), nn.ReLU6())
        by_channel = nn.Conv2d(wide, wide, 3, stride=stride, padding=1, groups=wide)
        depthwise = nn.Sequential(by_channel, nn.BatchNorm2d(wide), nn.ReLU6())
        return nn.Sequential(expand, depthwise, nn.Conv2d(wide, outside, 1))

    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))
    blocks = (layers(8, 16, 2), Called(bottleneck, layers=layers(16, 16, 1)))
    return nn.Sequential(convolution(3, 8, stride=2), *blocks, *head), (torch.randn(1, 3, 32, 32),)


@network
def mobilenet_v3() -> Network:
    def squeezed(m: Any, x: torch.Tensor) -> torch.Tensor:
        x = m.depthwise(m.expand(x))
        return m.project(x * m.excite(x))

    squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(32, 8, 1), nn.ReLU())
    block = Called(
        squeezed,
        expand=nn.Sequential(nn.Conv2d(8, 32, 1), nn.Hardswish()),
        depthwise=nn.Sequential(nn.Conv2d(32, 32, 5, padding=2, groups=32), nn.Hardswish()),
        excite=nn.Sequential(squeeze, nn.Conv2d(8, 32, 1), nn.Hardsigmoid()),
        project=nn.Conv2d(32, 8, 1),
    )
    first = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Hardswish())
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
    return nn.Sequential(first, block, *head), (torch.randn(1, 3, 32, 32),)


@network
def unet() -> Network:
    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        a = m.down(x)
        b = m.middle(functional.max_pool2d(a, 2))
        return m.head(m.up(torch.cat([a, m.bigger(b)], 1)))

    parts = {
        "down": convolution(2, 8),
        "middle": convolution(8, 16),
        "bigger": nn.ConvTranspose2d(16, 8, 2, stride=2),
        "up": convolution(16, 8),
        "head": nn.Sequential(nn.Conv2d(8, 2, 1), nn.Sigmoid()),
    }
    return Called(run, **parts), (torch.randn(1, 2, 32, 32),)


@network
def transposed_convolutions() -> Network:
    layers = (
        nn.ConvTranspose2d(4, 8, 3, stride=2),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 8, 4, stride=2, padding=1),
        nn.LeakyReLU(0.1),
        nn.Conv2d(8, 3, 3, padding=1),
        nn.Tanh(),
    )
    return nn.Sequential(*layers), (torch.randn(1, 4, 8, 8),)


@network
def tcn() -> Network:
    def causal(m: Any, x: torch.Tensor) -> torch.Tensor:
        (reach,) = m.layer.dilation
        return x + functional.relu(m.layer(functional.pad(x, (2 * reach, 0))))

    layers = [Called(causal, layer=nn.Conv1d(16, 16, 3, dilation=d)) for d in (1, 2, 4)]
    return nn.Sequential(nn.Conv1d(4, 16, 1), *layers, nn.Conv1d(16, 3, 1)), (
        torch.randn(1, 4, 48),
    )


@network
def dilated() -> Network:
    layers = (nn.Conv2d(3, 8, 3, padding=2, dilation=2), nn.ReLU(), nn.Conv2d(8, 8, 3, dilation=3))
    return nn.Sequential(*layers), (torch.randn(1, 3, 20, 20),)


def _recurrent(layer: nn.Module, width: int) -> Network:
    def last(m: Any, x: torch.Tensor) -> torch.Tensor:
        return m.head(m.layer(x)[0][:, -1])

    return Called(last, layer=layer, head=nn.Linear(width, 4)), (torch.randn(1, 20, 12),)


@network
def gru() -> Network:
    return _recurrent(nn.GRU(12, 32, batch_first=True), 32)


@network
def lstm() -> Network:
    return _recurrent(nn.LSTM(12, 32, batch_first=True), 32)


@network
def lstm_two_layers() -> Network:
    return _recurrent(nn.LSTM(12, 24, num_layers=2, batch_first=True), 24)


@network
def gru_bidirectional() -> Network:
    return _recurrent(nn.GRU(12, 16, batch_first=True, bidirectional=True), 32)


@network
def rnn() -> Network:
    return _recurrent(nn.RNN(12, 24, batch_first=True), 24)


@network
def gru_cell_looped() -> Network:
    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(1, 24)
        for step in range(12):
            state = m.cell(x[:, step], state)
        return m.head(state)

    return Called(run, cell=nn.GRUCell(10, 24), head=nn.Linear(24, 3)), (torch.randn(1, 12, 10),)


@network
def lstm_cell_looped() -> Network:
    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        state = (torch.zeros(1, 24), torch.zeros(1, 24))
        for step in range(12):
            state = m.cell(x[:, step], state)
        return m.head(state[0])

    return Called(run, cell=nn.LSTMCell(10, 24), head=nn.Linear(24, 3)), (torch.randn(1, 12, 10),)


@network
def gru_cell_step() -> Network:
    def run(m: Any, x: torch.Tensor, state: torch.Tensor) -> Any:
        state = m.cell(x, state)
        return m.head(state), state

    modules = {"cell": nn.GRUCell(10, 24), "head": nn.Linear(24, 3)}
    return Called(run, **modules), (torch.randn(1, 10), torch.randn(1, 24))


@network
def attention() -> Network:
    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        return m.norm(x + m.inner(x, x, x, need_weights=False)[0])

    inner = nn.MultiheadAttention(32, 4, batch_first=True)
    return Called(run, inner=inner, norm=nn.LayerNorm(32)), (torch.randn(1, 16, 32),)


@network
def encoder_layer() -> Network:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")
    return layer, (torch.randn(1, 16, 32),)


@network
def vit() -> Network:
    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        patches = m.patches(x).flatten(2).transpose(1, 2)
        rows = torch.cat([m.token.weight[None], patches], 1) + m.places.weight[None]
        y = m.before(rows)
        q, k, v = m.qkv(y).reshape(1, 17, 3, 4, 8).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 17, 32)
        rows = rows + m.project(y)
        return m.head((rows + m.mlp(rows))[:, 0])

    mlp = (nn.LayerNorm(32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
    parts: dict[str, nn.Module] = {
        "patches": nn.Conv2d(3, 32, 8, stride=8),
        "token": nn.Embedding(1, 32),
        "places": nn.Embedding(17, 32),
        "before": nn.LayerNorm(32),
        "qkv": nn.Linear(32, 96),
        "project": nn.Linear(32, 32),
        "mlp": nn.Sequential(*mlp),
        "head": nn.Linear(32, 10),
    }
    return Called(run, **parts), (torch.randn(1, 3, 32, 32),)


@network
def embedding() -> Network:
    def run(m: Any, words: torch.Tensor) -> torch.Tensor:
        return m.head(m.table(words).mean(1))

    modules = {"table": nn.Embedding(50, 16), "head": nn.Linear(16, 3)}
    return Called(run, **modules), (torch.randint(0, 50, (1, 12)),)


@network
def group_norm() -> Network:
    layers = (nn.Conv2d(3, 16, 3), nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 8, 3))
    tail = (nn.InstanceNorm2d(8, affine=True), nn.ReLU())
    return nn.Sequential(*layers, *tail), (torch.randn(1, 3, 20, 20),)


@network
def interpolation() -> Network:
    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        y = functional.interpolate(m.first(x), scale_factor=2, mode="nearest")
        y = functional.interpolate(
            m.second(y), scale_factor=2, mode="bilinear", align_corners=False
        )
        return functional.interpolate(
            m.third(y), size=(40, 40), mode="bilinear", align_corners=True
        )

    modules = {name: nn.Conv2d(4, 4, 3, padding=1) for name in ("first", "second", "third")}
    return Called(run, **modules), (torch.randn(1, 4, 8, 8),)


@network
def pooling() -> Network:
    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        y = m.first(x)
        padded = functional.avg_pool2d(y, 3, 2, padding=1)
        return torch.cat([padded, functional.max_pool2d(y, 3, 2, padding=1)], 1)

    return Called(run, first=nn.Conv2d(3, 8, 3)), (torch.randn(1, 3, 21, 21),)


@network
def activations() -> Network:
    kinds: tuple[nn.Module, ...] = (
        *(nn.ELU(), nn.SELU(), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Softplus()),
        *(nn.Hardtanh(), nn.LeakyReLU(), nn.PReLU(4), nn.Sigmoid(), nn.Softsign(), nn.LogSigmoid()),
    )

    def run(m: Any, x: torch.Tensor) -> torch.Tensor:
        y = m.first(x)
        return torch.cat([getattr(m, str(number))(y) for number in range(len(kinds))], 1)

    named = {str(number): kind for number, kind in enumerate(kinds)}
    return Called(run, first=nn.Conv2d(3, 4, 3), **named), (torch.randn(1, 3, 10, 10),)


@network
def tensor_functions() -> Network:
    def run(m: Any, x: torch.Tensor) -> Any:
        a = torch.einsum("bij,jk->bik", x, m.w.weight)
        b = torch.where(a > 0, a, a * a)
        c = (b - b.mean((1, 2), keepdim=True)) * torch.rsqrt(b.var((1, 2), keepdim=True) + 1e-3)
        d = torch.roll(c, 1, 1) + torch.flip(c, [2]) + torch.cumsum(c, 1)
        top, places = torch.topk(d[:, 0], 2)
        return d.clamp(-1, 1), top, places, torch.linalg.vector_norm(d, dim=-1), d.argmax(-1)

    return Called(run, w=nn.Linear(6, 6, bias=False)), (torch.randn(1, 4, 6),)


@network
def pixel_shuffle() -> Network:
    layers = (nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.PixelShuffle(2), nn.PixelUnshuffle(4))
    return nn.Sequential(*layers, nn.ReflectionPad2d(1), nn.Conv2d(64, 4, 3)), (
        torch.randn(1, 3, 16, 16),
    )


@network
def conv3d() -> Network:
    layers = (nn.Conv3d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 4 * 6 * 6, 3))
    return nn.Sequential(*layers), (torch.randn(1, 2, 6, 8, 8),)


@network
def several_inputs() -> Network:
    def run(m: Any, image: torch.Tensor, numbers: torch.Tensor) -> Any:
        a, b = m.image(image), torch.tanh(m.numbers(numbers))
        joined = torch.cat([a + b, a - b, a * b, torch.maximum(a, b)], 1)
        return functional.softmax(m.kind(joined), -1), torch.sigmoid(m.score(a * b))

    pooled = (nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    parts: dict[str, nn.Module] = {
        "image": nn.Sequential(*pooled),
        "numbers": nn.Linear(4, 8),
        "kind": nn.Linear(32, 3),
        "score": nn.Linear(8, 1),
    }
    return Called(run, **parts), (torch.randn(1, 3, 8, 8), torch.randn(1, 4))
