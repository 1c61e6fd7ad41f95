"""Microcontrollers: C whose loops run as they are written, and RAM is worth more than time.

Cortex-M cores with products of pairs of int16 (``DSP``) or with vectors of integers (``HELIUM``)
have kernels of their own, of which `kernels.algorithms.integer` knows.
"""

from __future__ import annotations

from edgeconv.target.byte_vectors import ByteVectors
from edgeconv.target.micro_kernel import Lies, MicroKernel, tiles
from edgeconv.target.targets import (
    ANY,
    C_DECODINGS,
    C_INTEGERS,
    DSP,
    HELIUM,
    PANELS,
    STRIPS,
    Target,
)

_NAME = "scalar"

# rows * vectors accumulators + vectors filters + rows pixels <= 32 registers of the FPU
_KERNELS = (
    MicroKernel(
        *(_NAME, STRIPS, Lies.STRIDED),
        tiles((4, 4), (5, 3), (8, 2), (12, 1), (2, 8), (1, 8)),
        latency=4,
    ),
    MicroKernel(_NAME, PANELS, Lies.EITHER, tiles((4, 4), (4, 2), (8, 2), (1, 8)), latency=4),
)

TARGET = Target(
    name=_NAME,
    runtime="portable",
    arch=ANY,
    lanes=1,
    align=16,
    registers=32,
    depthwise_rows=4,
    decodings=C_DECODINGS,
    workspace_price=1 / 8,
    slack=1 / 16,
    is_scalar=True,
    kernels=_KERNELS,
    byte_rows=(
        ByteVectors("helium", 16, 16, feature=HELIUM),  # a gather takes a cycle an element
        ByteVectors("dsp", 4, 13, feature=DSP),
        ByteVectors("portable", 1, 1),
    ),
    integers=C_INTEGERS,
)
