"""NEON with the micro-kernel of the backend beside it."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.target.backends.neon import backend
from edgeconv.target.micro_kernel import Lies, MicroKernel, tiles

_KERNEL = MicroKernel(
    *("toy_neon", "toy", Lies.PACKED, tiles((5, 3))),
    latency=1,
    row_multiple=5,
    rate=100.0,
    header="ec_toy.h",
)
TARGET = replace(
    backend.TARGET, name="toy_neon", runtime="neon", kernels=(*backend.TARGET.kernels, _KERNEL)
)
