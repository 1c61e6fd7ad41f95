"""Settings of pre-processing, as a file would say them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from edgeconv.model.preprocessing import Settings
from edgeconv.model.preprocessing.formats import FORMATS

_PLAIN = Settings(
    path=Path("camera.toml"),
    format="rgb",
    width=8,
    height=6,
    stride=0,
    flip="none",
    mode="linear",
    fit="stretch",
    fill=(0.0,),
    mean=(127.0,),
    std=(128.0,),
    input="",
    channels="rgb",
    layout="",
)


def settings_of(*, padding: int = 0, **changed: Any) -> Settings:
    """Settings with rows of ``padding`` bytes more than their pixels, but for what is changed."""
    found = replace(_PLAIN, **changed)
    return replace(found, stride=found.width * FORMATS[found.format].pixel_bytes + padding)
