"""Pre-processing of camera frames: what a file asks for, in front of a network, and what it means.

The operator is `ir.preprocessing`; its kernel, `kernels.ops.preprocess`.
"""

from __future__ import annotations

from edgeconv.model.preprocessing.apply import (
    about_frames,
    network_inputs,
    preprocessing,
    with_frames,
)
from edgeconv.model.preprocessing.definition import preprocessed
from edgeconv.model.preprocessing.settings import Settings, read

__all__ = [
    "Settings",
    "about_frames",
    "network_inputs",
    "preprocessed",
    "preprocessing",
    "read",
    "with_frames",
]
