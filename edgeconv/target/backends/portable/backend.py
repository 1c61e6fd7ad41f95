"""Portable C: no vectors but those that compilers make of loops."""

from __future__ import annotations

from edgeconv.target.byte_vectors import ByteVectors
from edgeconv.target.dot_row import DotRow
from edgeconv.target.micro_kernel import Lies, MicroKernel, int8_row, int16_row, tiles
from edgeconv.target.targets import ANY, C_DECODINGS, C_INTEGERS, PANELS, STRIPS, Target

_NAME = "portable"

_KERNELS = (
    int16_row(_NAME, Lies.STRIDED, (4, 4), (4, 2), (8, 2), latency=4, rate=0.5),
    MicroKernel(
        *(_NAME, STRIPS, Lies.STRIDED),
        tiles((4, 4), (4, 3), (6, 2), (8, 1), (1, 8)),
        latency=4,
    ),
    MicroKernel(
        *(_NAME, PANELS, Lies.EITHER),
        tiles((4, 4), (4, 2), (2, 8), (8, 2), (1, 8)),
        latency=4,
        rate=2.0,  # compilers vectorise the products of packed panels
        # Measured against strips with GCC 12 on Zen 4, convolutions of ResNet-8 and MobileNet of
        # MLPerf Tiny: 0.58 to 0.97 of what slots say, 0.66 in the middle.
        vectorised=0.66,
    ),
    int8_row(*(_NAME, Lies.STRIDED, tiles((4, 4), (4, 2), (8, 2), (1, 8))), latency=4, rate=0.25),
)

TARGET = Target(
    name=_NAME,
    arch=ANY,
    lanes=1,
    align=16,
    registers=128,
    depthwise_rows=4,
    decodings=C_DECODINGS,
    slack=1 / 16,
    kernels=_KERNELS,
    byte_rows=(ByteVectors(_NAME, 1, 1),),
    dots=(DotRow(_NAME, 4, 8.0, 12.0),),
    integers=C_INTEGERS,
)
