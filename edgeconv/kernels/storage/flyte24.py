"""Flyte24: float32 without the lower eight bits of its mantissa."""

from __future__ import annotations

from edgeconv.kernels.storage.flyte import flyte

FORMAT = flyte(24)
