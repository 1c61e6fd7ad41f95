"""Recurrent networks, and networks of sound."""

from __future__ import annotations

from functools import partial
from typing import Any

from networks.row import Built, Network


def _spotter(kind: str, frames: int) -> Built:
    """Two layers of 128 units over 40 mel bands; the state is an input and an output."""
    import torch  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    several = kind == "LSTM"

    class Spotter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = getattr(nn, kind)(40, 128, 2, batch_first=True)
            self.head = nn.Linear(128, 12)

        def forward(self, sound: Any, *state: Any) -> Any:
            y, after = self.inner(sound, state if several else state[0])
            return self.head(y[:, -1]), *(after if several else (after,))

    states = tuple(torch.full((2, 1, 128), 0.1) for _ in range(1 + several))
    return Spotter(), (torch.randn(1, frames, 40), *states)


def _recogniser(height: int = 32, width: int = 128, units: int = 256, letters: int = 37) -> Built:
    """CRNN of Shi, Bai and Yao (2015): a line of text in, log probabilities out."""
    import torch  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    def block(before: int, after: int, kernel: int = 3, *, norm: bool = False) -> list[nn.Module]:
        layers: list[nn.Module] = [nn.Conv2d(before, after, kernel, padding=kernel // 2 % 2)]
        if kernel == 2:
            layers = [nn.Conv2d(before, after, kernel)]
        return [*layers, *([nn.BatchNorm2d(after)] if norm else []), nn.ReLU(True)]

    tall = partial(nn.MaxPool2d, (2, 2), (2, 1), (0, 1))

    class Recogniser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Sequential(
                *(*block(1, 64), nn.MaxPool2d(2), *block(64, 128), nn.MaxPool2d(2)),
                *(*block(128, 256, norm=True), *block(256, 256), tall()),
                *(*block(256, 512, norm=True), *block(512, 512), tall()),
                *block(512, 512, 2, norm=True),
            )
            self.first = nn.LSTM(512, units, bidirectional=True)
            self.between = nn.Linear(2 * units, units)
            self.second = nn.LSTM(units, units, bidirectional=True)
            self.head = nn.Linear(2 * units, letters)

        def forward(self, line: Any) -> Any:
            x = self.features(line).squeeze(2).permute(2, 0, 1)
            x = self.between(self.first(x)[0])
            return torch.log_softmax(self.head(self.second(x)[0]), 2)

    return Recogniser(), (torch.randn(1, 1, height, width),)


def _rnnoise() -> Built:
    """Valin (2018): gains of 22 bands and speech or none, of 42 features a frame."""
    import torch  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    features = 42
    widths = (24, 48, 96)

    class Gains(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = nn.Linear(features, 24)
            reads = (24, 24 + 24 + features, 24 + 48 + features)
            self.layers = nn.ModuleList(
                nn.GRU(read, width, batch_first=True)
                for read, width in zip(reads, widths, strict=True)
            )
            self.speech, self.head = nn.Linear(24, 1), nn.Linear(96, 22)

        def forward(self, x: Any, *state: Any) -> Any:
            dense = torch.tanh(self.dense(x))
            speech, first = self.layers[0](dense, state[0])
            noise, second = self.layers[1](torch.cat([dense, speech, x], -1), state[1])
            gains, third = self.layers[2](torch.cat([speech, noise, x], -1), state[2])
            said = torch.sigmoid(self.speech(speech))
            return torch.sigmoid(self.head(gains)), said, first, second, third

    states = tuple(torch.zeros(1, 1, width) for width in widths)
    return Gains(), (torch.randn(1, 1, features), *states)


def _conv_tasnet(samples: int = 8000, basis: int = 128, narrow: int = 64, wide: int = 128) -> Built:
    """Luo and Mesgarani (2019), small, of one source: samples in, samples out."""
    import torch  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    window = 16

    class Norm(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.rand(1, channels, 1) + 0.5)
            self.shift = nn.Parameter(torch.randn(1, channels, 1))

        def forward(self, x: Any) -> Any:
            mean = x.mean((1, 2), keepdim=True)
            variance = ((x - mean) ** 2).mean((1, 2), keepdim=True)
            return self.scale * (x - mean) / torch.sqrt(variance + 1e-8) + self.shift

    class Block(nn.Module):
        def __init__(self, dilation: int) -> None:
            super().__init__()
            taps = nn.Conv1d(wide, wide, 3, padding=dilation, dilation=dilation, groups=wide)
            self.body = nn.Sequential(
                *(nn.Conv1d(narrow, wide, 1), nn.PReLU(), Norm(wide)),
                *(taps, nn.PReLU(), Norm(wide)),
            )
            self.on, self.out = nn.Conv1d(wide, narrow, 1), nn.Conv1d(wide, narrow, 1)

        def forward(self, x: Any) -> Any:
            y = self.body(x)
            return x + self.on(y), self.out(y)

    class Separator(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encode = nn.Conv1d(1, basis, window, stride=window // 2, bias=False)
            self.into = nn.Sequential(Norm(basis), nn.Conv1d(basis, narrow, 1))
            self.blocks = nn.ModuleList(Block(2**i) for _ in range(2) for i in range(5))
            self.mask = nn.Sequential(nn.PReLU(), nn.Conv1d(narrow, basis, 1), nn.Sigmoid())
            self.decode = nn.ConvTranspose1d(basis, 1, window, stride=window // 2, bias=False)

        def forward(self, sound: Any) -> Any:
            encoded = torch.relu(self.encode(sound))
            x, total = self.into(encoded), 0
            for block in self.blocks:
                x, out = block(x)
                total = total + out
            return self.decode(encoded * self.mask(total))

    return Separator(), (torch.randn(1, 1, samples),)


def _demucs(width: int = 32, depth: int = 4, steps: int = 31) -> Built:
    """Defossez, Synnaeve and Adi (2020), the causal denoiser: strided convolutions, an LSTM, and
    transposed ones."""
    import torch  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    kernel, stride = 8, 4
    samples = steps
    for _ in range(depth):
        samples = (samples - 1) * stride + kernel

    class Denoiser(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down, self.up = nn.ModuleList(), nn.ModuleList()
            before = 1
            for level in range(depth):
                wide = width << level
                self.down.append(
                    nn.Sequential(
                        *(nn.Conv1d(before, wide, kernel, stride), nn.ReLU()),
                        *(nn.Conv1d(wide, 2 * wide, 1), nn.GLU(1)),
                    )
                )
                self.up.insert(
                    0,
                    nn.Sequential(
                        *(nn.Conv1d(wide, 2 * wide, 1), nn.GLU(1)),
                        nn.ConvTranspose1d(wide, before, kernel, stride),
                        nn.ReLU() if level else nn.Identity(),
                    ),
                )
                before = wide
            self.inner = nn.LSTM(before, before, 2)

        def forward(self, sound: Any) -> Any:
            spread = sound.std(-1, keepdim=True) + 1e-3
            x, kept = sound / spread, []
            for block in self.down:
                x = block(x)
                kept.append(x)
            x = self.inner(x.permute(2, 0, 1))[0].permute(1, 2, 0)
            for block in self.up:
                x = block(x + kept.pop())
            return x * spread

    return Denoiser(), (torch.randn(1, 1, samples),)


_OPSET = 17

NETWORKS: dict[str, Network] = {
    **{
        f"{kind.lower()}-{name}": Network(partial(_spotter, kind, frames), opset=_OPSET)
        for kind in ("GRU", "LSTM")
        for name, frames in (("frame", 1), ("second", 98))
    },
    "crnn": Network(_recogniser, opset=_OPSET),
    "rnnoise": Network(_rnnoise, opset=_OPSET),
    "conv-tasnet": Network(_conv_tasnet, opset=_OPSET),
    "demucs": Network(_demucs, opset=_OPSET),
}
