"""Flyte8: sign and upper seven bits of the exponent of a float32, so zero and odd powers of two."""

from __future__ import annotations

from edgeconv.kernels.storage.flyte import flyte

FORMAT = flyte(8)
