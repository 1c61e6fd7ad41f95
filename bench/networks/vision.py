"""Detectors, segmenters, super-resolution, classifiers."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

from networks.row import Built, Network
from networks.ssd_resnet50 import ssd_resnet50

_IMAGE = 224


def _image(*shape: int) -> tuple[Any, ...]:
    import torch  # noqa: PLC0415

    return (torch.rand(1, *shape),)


def _classifier(name: str, size: int = _IMAGE, **options: Any) -> Built:
    import torchvision  # noqa: PLC0415

    return torchvision.models.get_model(name, weights=None, **options), _image(3, size, size)


def _timm(name: str, size: int) -> Built:
    import timm  # noqa: PLC0415

    return timm.create_model(name, pretrained=False), _image(3, size, size)


def _detector(name: str, size: int, **options: Any) -> Built:
    """Of torchvision: a list of images in, boxes, scores and labels out."""
    from torch import nn  # noqa: PLC0415
    from torchvision.models import detection  # noqa: PLC0415

    inner = getattr(detection, name)(weights=None, weights_backbone=None, **options)
    for scores in (m.cls_logits for m in inner.modules() if hasattr(m, "cls_logits")):
        nn.init.normal_(scores.weight, std=0.05)  # as they are made, none is above the threshold
        nn.init.constant_(scores.bias, -1.0)

    class One(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, image: Any) -> Any:
            found = self.inner([image])[0]
            return found["boxes"], found["scores"], found["labels"]

    import torch  # noqa: PLC0415

    return One(), (torch.rand(3, size, size),)


def _segmenter(name: str, size: int) -> Built:
    import torchvision  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    inner = torchvision.models.get_model(name, weights=None, weights_backbone=None)

    class Classes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, image: Any) -> Any:
            return self.inner(image)["out"]

    return Classes(), _image(3, size, size)


def _smp(kind: str, encoder: str, size: int) -> Built:
    import segmentation_models_pytorch as smp  # noqa: PLC0415

    make = getattr(smp, kind)
    return make(encoder_name=encoder, encoder_weights=None, classes=3), _image(3, size, size)


def _plain_unet(size: int, width: int = 32) -> Built:
    """Ronneberger et al. 2015, with padding: up by transposed convolutions."""
    import torch  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    def twice(before: int, after: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for count in (before, after):
            layers += [nn.Conv2d(count, after, 3, padding=1, bias=False)]
            layers += [nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
        return nn.Sequential(*layers)

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = [width << level for level in range(5)]
            self.down = nn.ModuleList(map(twice, [3, *widths], widths))
            self.rise = nn.ModuleList(
                nn.ConvTranspose2d(2 * w, w, 2, stride=2) for w in reversed(widths[:-1])
            )
            self.up = nn.ModuleList(twice(2 * w, w) for w in reversed(widths[:-1]))
            self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(width, 2, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for block in self.down[:-1]:
                x = block(x)
                kept.append(x)
                x = self.pool(x)
            x = self.down[-1](x)
            for rise, block in zip(self.rise, self.up, strict=True):
                x = block(torch.cat([kept.pop(), rise(x)], 1))
            return self.head(x)

    return UNet(), _image(3, size, size)


def _espcn(size: int, factor: int = 3) -> Built:
    """Shi et al. 2016: DepthToSpace at the end."""
    from torch import nn  # noqa: PLC0415

    network = nn.Sequential(
        *(nn.Conv2d(1, 64, 5, padding=2), nn.Tanh()),
        *(nn.Conv2d(64, 32, 3, padding=1), nn.Tanh()),
        *(nn.Conv2d(32, factor * factor, 3, padding=1), nn.PixelShuffle(factor), nn.Sigmoid()),
    )
    return network, _image(1, size, size)


def _edsr(size: int, width: int = 64, blocks: int = 16) -> Built:
    """Lim et al. 2017, the baseline: residual blocks without normalisation, twice as large."""
    from torch import nn  # noqa: PLC0415

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(width, width, 3, padding=1),
                nn.ReLU(True),
                nn.Conv2d(width, width, 3, padding=1),
            )

        def forward(self, x: Any) -> Any:
            return x + self.body(x)

    class Edsr(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Conv2d(3, width, 3, padding=1)
            inner = [Block() for _ in range(blocks)]
            self.body = nn.Sequential(*inner, nn.Conv2d(width, width, 3, padding=1))
            self.tail = nn.Sequential(
                nn.Conv2d(width, 4 * width, 3, padding=1),
                nn.PixelShuffle(2),
                nn.Conv2d(width, 3, 3, padding=1),
            )

        def forward(self, x: Any) -> Any:
            x = self.head(x)
            return self.tail(x + self.body(x))

    return Edsr(), _image(3, size, size)


def _yolo(path: str, name: str, size: int, **options: Any) -> None:
    """By ultralytics' own exporter."""
    from settle import settle  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415
    from ultralytics import YOLO  # noqa: PLC0415

    model = YOLO(f"{name}.yaml")
    settle(model.model, _image(3, size, size))
    for branch in ("cv3", "one2one_cv3"):  # scores: as they are made, all next to zero
        for level in getattr(model.model.model[-1], branch, None) or ():
            nn.init.normal_(level[-1].weight, std=0.2)
            nn.init.constant_(level[-1].bias, -2.0)
    written = model.export(format="onnx", imgsz=size, simplify=False, **options)
    shutil.move(written, Path(path))


def _yolo_row(name: str, size: int, **options: Any) -> Network:
    return Network(
        write=partial(_yolo, name=name, size=size, **options),
        exporters=("ultralytics",),
        needs=("ultralytics",),
    )


_VISION = ("torchvision",)
_SCRIPT = ("torchscript",)  # torch.export refuses a size that is found at run time

NETWORKS: dict[str, Network] = {
    "yolov8n": _yolo_row("yolov8n", 320),
    "yolov8n-nms": _yolo_row("yolov8n", 320, nms=True),
    "yolo11n": _yolo_row("yolo11n", 320),
    "yolo26n": _yolo_row("yolo26n", 320),
    "ssdlite320": Network(
        partial(_detector, "ssdlite320_mobilenet_v3_large", 320), needs=_VISION, exporters=_SCRIPT
    ),
    "ssd300-vgg16": Network(
        partial(_detector, "ssd300_vgg16", 300), needs=_VISION, exporters=_SCRIPT
    ),
    "retinanet": Network(
        partial(_detector, "retinanet_resnet50_fpn", 320, min_size=320, max_size=320),
        needs=_VISION,
        exporters=_SCRIPT,
    ),
    "fcos": Network(
        partial(_detector, "fcos_resnet50_fpn", 320, min_size=320, max_size=320),
        needs=_VISION,
        exporters=_SCRIPT,
    ),
    "fasterrcnn": Network(
        partial(
            _detector, "fasterrcnn_mobilenet_v3_large_320_fpn", 320, min_size=320, max_size=320
        ),
        needs=_VISION,
        exporters=_SCRIPT,
    ),
    "ssd-resnet50": Network(ssd_resnet50, needs=_VISION, exporters=_SCRIPT),
    "unet": Network(partial(_plain_unet, 128)),
    "smp-unet": Network(
        partial(_smp, "Unet", "resnet18", 128), needs=("segmentation_models_pytorch",)
    ),
    "deeplabv3": Network(partial(_segmenter, "deeplabv3_mobilenet_v3_large", 224), needs=_VISION),
    "lraspp": Network(partial(_segmenter, "lraspp_mobilenet_v3_large", 224), needs=_VISION),
    "linknet": Network(
        partial(_smp, "Linknet", "resnet18", 128),
        needs=("segmentation_models_pytorch",),
        exporters=_SCRIPT,
    ),
    "espcn": Network(partial(_espcn, 96)),
    "edsr": Network(partial(_edsr, 48)),
    "inception-v4": Network(partial(_timm, "inception_v4", 299), needs=("timm",)),
    "mobilenetv4-small": Network(
        partial(_timm, "mobilenetv4_conv_small", _IMAGE), needs=("timm",), exporters=_SCRIPT
    ),
    **{
        name: Network(partial(_classifier, name), needs=_VISION)
        for name in ("vgg11", "vgg13", "vgg16", "vgg19")
    },
}
