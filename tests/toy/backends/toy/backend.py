"""Portable C and NEON, with a micro-kernel of float32 that claims to be faster than any other."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.target.backends.neon.backend import TARGET as NEON
from edgeconv.target.backends.portable.backend import TARGET as PORTABLE
from edgeconv.target.micro_kernel import Lies, MicroKernel, tiles
from edgeconv.target.targets import Target


def _target(name: str, own: Target) -> Target:
    kernel = MicroKernel(
        *(name, "toy", Lies.PACKED, tiles((5, 3))),
        latency=1,
        row_multiple=5,
        rate=100.0,
        header="ec_toy.h",
    )
    return replace(own, name=name, runtime=own.name, kernels=(*own.kernels, kernel))


TARGET = (_target("toy", PORTABLE), _target("toy_neon", NEON))
