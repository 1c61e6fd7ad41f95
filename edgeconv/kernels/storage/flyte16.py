"""Flyte16: the upper half of a float32, which is the bits of bfloat16."""

from __future__ import annotations

from edgeconv.kernels.storage.flyte import flyte

FORMAT = flyte(16)
