"""A micro-kernel of float32 that claims to be faster than any other."""

from __future__ import annotations

from edgeconv.target.micro_kernels.base import Lies, MicroKernel, Tile

MICRO_KERNELS = tuple(
    MicroKernel(
        isa,
        "toy",
        Lies.PACKED,
        (Tile(5, 3),),
        latency=1,
        row_multiple=5,
        rate=100.0,
        header="../isa/ec_toy.h",
    )
    for isa in ("portable", "neon")
)
