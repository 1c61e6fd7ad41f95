"""Transformers: of images, of text, of keywords."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from networks.row import Built, Network

_WORDS = 30522


def _image(name: str, size: int = 224) -> Built:
    import timm  # noqa: PLC0415
    import torch  # noqa: PLC0415

    return timm.create_model(name, pretrained=False), (torch.rand(1, 3, size, size),)


def _transformers() -> Any:
    """The package, which needs torchaudio for sound alone, and is not imported where one is
    installed that torch does not go with."""
    try:
        import_module("torchaudio")
    except Exception:  # whatever it makes of another torch
        absent = ModuleType("torchaudio")
        absent.__spec__ = ModuleSpec("torchaudio", None)
        absent.__dict__["__version__"] = "0"
        sys.modules["torchaudio"] = absent
    import transformers  # noqa: PLC0415

    return transformers


def _text(length: int, **options: Any) -> Built:
    """BERT with a mask: a quarter of the words is padding."""
    import torch  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    transformers = _transformers()
    inner = transformers.BertModel(transformers.BertConfig(vocab_size=_WORDS, **options))

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, words: Any, mask: Any) -> Any:
            return self.inner(input_ids=words, attention_mask=mask).last_hidden_state

    mask = torch.ones(1, length, dtype=torch.int64)
    mask[:, length * 3 // 4 :] = 0
    return Encoder(), (torch.randint(0, _WORDS, (1, length)), mask)


def _keywords(width: int = 64, depth: int = 12, heads: int = 1) -> Built:
    """KWT-1 of Berg, O'Connor and Cruz (2021): a second of 40 coefficients, 35 words."""
    import torch  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    frames, coefficients = 98, 40

    class Keywords(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(coefficients, width)
            self.first = nn.Parameter(torch.randn(1, 1, width))
            self.places = nn.Parameter(torch.randn(1, frames + 1, width))
            layer = nn.TransformerEncoderLayer(
                width, heads, 4 * width, 0.0, "gelu", batch_first=True
            )
            self.layers = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
            self.head = nn.Linear(width, 35)

        def forward(self, sound: Any) -> Any:
            x = torch.cat([self.first, self.embed(sound)], 1) + self.places
            return self.head(self.layers(x)[:, 0])

    return Keywords(), (torch.randn(1, frames, coefficients),)


_TIMM = ("timm",)
_OPSET = 17  # of the TorchScript exporter, whose default has no LayerNormalization


def _images(name: str, model: str, size: int = 224) -> dict[str, Network]:
    return {name: Network(partial(_image, model, size), needs=_TIMM, opset=_OPSET)}


_BERT_TINY = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 512,
}
_BERT_MINI = {
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
}

NETWORKS: dict[str, Network] = {
    **_images("vit-tiny", "vit_tiny_patch16_224"),
    **_images("deit-tiny", "deit_tiny_distilled_patch16_224"),
    **_images("swin-tiny", "swin_tiny_patch4_window7_224"),
    **_images("mobilevit-xs", "mobilevit_xs", 256),
    **_images("mobilevitv2-050", "mobilevitv2_050", 256),
    **_images("efficientformer-l1", "efficientformer_l1"),
    **_images("fastvit-t8", "fastvit_t8", 256),
    **_images("convnext-atto", "convnext_atto"),
    **_images("levit-128s", "levit_128s"),
    "bert-tiny": Network(partial(_text, 128, **_BERT_TINY), needs=("transformers",), opset=_OPSET),
    "bert-mini": Network(partial(_text, 64, **_BERT_MINI), needs=("transformers",), opset=_OPSET),
    "kwt-1": Network(_keywords, opset=_OPSET),
}
