"""Advanced SIMD of 32-bit Arm, with the multiply-adds of VFPv4."""

from __future__ import annotations

from edgeconv.target.advanced_simd import BY_CHANNEL, pairs
from edgeconv.target.byte_vectors import ByteVectors
from edgeconv.target.dot_row import DotRow
from edgeconv.target.micro_kernel import Lies, MicroKernel, int16_row, tiles
from edgeconv.target.targets import PANELS, QUANTISED, STRIPS, Decoding, Target

_NAME = "neon_armv7"

_KERNELS = (
    # rows * vectors accumulators + rows pixels, of the lower four + one vector of filters <= 16
    int16_row(
        *(_NAME, Lies.STRIDED, (3, 3), (4, 2), (2, 4)),
        rate=0.5,
        interleaves=(BY_CHANNEL,),
        header="neon",
    ),
    # rows * vectors accumulators + rows / 2 of pixels + one vector of filters <= 16 registers
    MicroKernel(
        *(_NAME, STRIPS, Lies.STRIDED),
        tiles((6, 2), (4, 3), (3, 4), (10, 1), (2, 6), (1, 12)),
        latency=8,
    ),
    # rows * vectors accumulators + rows / 4 of filters + one vector of pixels <= 16 registers
    MicroKernel(
        *(_NAME, PANELS, Lies.PACKED),
        tiles((4, 3), (12, 1), (4, 2), (8, 1)),
        latency=8,
        row_multiple=4,  # filters are loaded four at a time and multiplied by lane
    ),
    # rows * vectors accumulators + rows pixels + two vectors of filters + four of products <= 16
    # Counted: there is no model of the cores in question.
    pairs(_NAME, tiles((2, 4), (3, 2)), rate=1 / 3),
)

TARGET = Target(
    name=_NAME,
    arch="armv7l",
    lanes=4,
    align=16,
    registers=16,
    depthwise_rows=6,
    # GCC's cortex-a15-neon.md (by Arm): a multiply-add takes both ports and two of three places of
    # a cycle's dispatch, a shift or a pair of table look-ups the ports too; flyte24 reads pixels
    # again for every vector of filters.
    decodings=(
        Decoding("flyte24", 2.7, 1, 15),
        Decoding("flyte16", 1, 0.3, 11),
        Decoding("flyte8", 2, 0.5, 10),
        Decoding("int8", 4, 0, 0),
        Decoding("int4", 5, 0, 0),
        Decoding(QUANTISED, 6, 2, 6),
    ),
    flags=("-march=armv7-a", "-mfpu=neon-vfpv4", "-mfloat-abi=hard"),
    guard="__ARM_FEATURE_FMA",
    cpu_flags=("neon", "vfpv4"),
    mandatory="armv8l",
    fpus=(("neon", "vfpv3"), ("neon-vfpv4", "vfpv4"), ("neon-fp-armv8", "fp-armv8")),
    emulated=("-cpu", "cortex-a15"),
    flushes_subnormals=True,
    kernels=_KERNELS,
    byte_rows=(ByteVectors("neon", 16, 40),),
    dots=(DotRow("neon", 4, 5.5, 9.0, pairs=True),),
    integers="ec_integers_neon.h",
)
