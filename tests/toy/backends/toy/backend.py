"""Portable C with a micro-kernel of float32 that claims to be faster than any other."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.target.backends.portable import backend
from edgeconv.target.micro_kernel import Lies, MicroKernel, tiles

_KERNEL = MicroKernel(
    *("toy", "toy", Lies.PACKED, tiles((5, 3))),
    latency=1,
    row_multiple=5,
    rate=100.0,
    header="ec_toy.h",
)
TARGET = replace(
    backend.TARGET, name="toy", runtime="portable", kernels=(*backend.TARGET.kernels, _KERNEL)
)
