"""SSD on ResNet-50, 1200 x 1200 in MLPerf and smaller here, with its suppression."""

from __future__ import annotations

import math
from typing import Any

_SIZE = 300
_CLASSES = 81
_WIDTHS = ((256, 512), (256, 512), (128, 256), (128, 256), (128, 256))
_KEPT, _OVERLAP, _SCORE = 200, 0.5, 0.05
_LARGEST = 5.0  # of what heads give, as trained ones do: boxes are exponentials of it
_STEPS = ((38, 4), (19, 6), (10, 6), (5, 6), (3, 4), (1, 4))  # cells, boxes of each


def _boxes() -> list[list[float]]:
    """Default boxes of Liu et al. 2016, centre and size, as shares of the image."""
    scales = [0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05]
    found = []
    for level, (cells, count) in enumerate(_STEPS):
        scale, between = scales[level], math.sqrt(scales[level] * scales[level + 1])
        sizes = [(scale, scale), (between, between)]
        for ratio in (2, 3)[: (count - 2) // 2]:
            root = math.sqrt(ratio)
            sizes += [(scale * root, scale / root), (scale / root, scale * root)]
        for y in range(cells):
            for x in range(cells):
                found += [[(x + 0.5) / cells, (y + 0.5) / cells, w, h] for w, h in sizes]
    return found


def ssd_resnet50() -> Any:
    """ResNet-50 up to its third stage at stride 1, five further stages, heads, decoding, and
    suppression of all classes at once by torchvision."""
    import torch  # noqa: PLC0415
    import torchvision  # noqa: PLC0415
    from settle import settle  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    base = torchvision.models.resnet50(weights=None)
    for block in base.layer3:
        for part in (block.conv1, block.conv2, *(block.downsample or [])[:1]):
            part.stride = (1, 1)

    class Ssd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.base = nn.Sequential(
                *(base.conv1, base.bn1, base.relu, base.maxpool),
                *(base.layer1, base.layer2, base.layer3),
            )
            widths = [1024]
            self.more = nn.ModuleList()
            for index, (inner, outer) in enumerate(_WIDTHS):
                halved = index < 3
                self.more.append(
                    nn.Sequential(
                        *(nn.Conv2d(widths[-1], inner, 1, bias=False), nn.BatchNorm2d(inner)),
                        nn.ReLU(),
                        nn.Conv2d(
                            *(inner, outer, 3),
                            padding=int(halved),
                            stride=2 if halved else 1,
                            bias=False,
                        ),
                        *(nn.BatchNorm2d(outer), nn.ReLU()),
                    )
                )
                widths.append(outer)
            counts = [count for _, count in _STEPS]
            self.place = nn.ModuleList(
                nn.Conv2d(w, 4 * n, 3, padding=1) for w, n in zip(widths, counts, strict=True)
            )
            self.score = nn.ModuleList(
                nn.Conv2d(w, _CLASSES * n, 3, padding=1)
                for w, n in zip(widths, counts, strict=True)
            )
            self.register_buffer("boxes", torch.tensor(_boxes()))

        def levels(self, image: Any) -> list[Any]:
            x = self.base(image)
            found = [x]
            for part in self.more:
                x = part(x)
                found.append(x)
            return found

        def forward(self, image: Any) -> Any:
            levels = self.levels(image)
            places = [m(x).view(1, 4, -1) for m, x in zip(self.place, levels, strict=True)]
            scores = [m(x).view(1, _CLASSES, -1) for m, x in zip(self.score, levels, strict=True)]
            place = torch.cat(places, 2)[0].T
            score = torch.cat(scores, 2)[0].softmax(0)
            centre = place[:, :2] * 0.1 * self.boxes[:, 2:] + self.boxes[:, :2]
            half = torch.exp(place[:, 2:] * 0.2) * self.boxes[:, 2:] / 2
            boxes = torch.cat([centre - half, centre + half], 1)
            best, label = score[1:].max(0)
            kept = torch.nonzero(best > _SCORE).squeeze(1)
            boxes, best, label = boxes[kept], best[kept], label[kept]
            picked = torchvision.ops.batched_nms(boxes, best, label, _OVERLAP)[:_KEPT]
            return boxes[picked], best[picked], label[picked] + 1

    inputs = (torch.rand(1, 3, _SIZE, _SIZE),)
    network = Ssd()
    settle(network, inputs)
    with torch.no_grad():
        levels = network.levels(*inputs)
        for heads in (network.place, network.score):
            for head, x in zip(heads, levels, strict=True):
                head.weight /= head(x).abs().max() / _LARGEST
    return network, inputs
