"""NEON, of 64-bit Arm: Advanced SIMD."""

from __future__ import annotations

from edgeconv.target.advanced_simd import BY_CHANNEL, pairs
from edgeconv.target.byte_vectors import ByteVectors
from edgeconv.target.dot_row import DotRow
from edgeconv.target.micro_kernel import (
    Interleave,
    Lies,
    MicroKernel,
    Tile,
    int8_row,
    int16_row,
    tiles,
)
from edgeconv.target.targets import FLOAT16, PANELS, QUANTISED, STRIPS, Decoding, Target

_NAME = "neon"

# Products of matrices are of two filters of eight elements each (ec_int8_neon_matrix.h).
_BY_TWOS = Interleave(2, tuple((lane, element) for lane in range(4) for element in range(8)))
_DOT = ("-march=armv8.2-a+dotprod",)
_MATRIX = ("-march=armv8.2-a+dotprod+i8mm",)  # of two -march compilers heed the last
_KERNELS = (
    # rows * vectors accumulators + rows pixels + two vectors of filters <= 32 registers.
    # llvm-mca 19, Cortex-A57 and -A72: two cycles of their one multiplier, where float32 has one
    int16_row(
        *(_NAME, Lies.STRIDED, (7, 3), (8, 2), (5, 4)),  # Clang 14 spills (12, 1)
        rate=0.5,
        interleaves=(BY_CHANNEL,),
    ),
    # rows * vectors accumulators + rows pixels + vectors filters <= 32 registers
    MicroKernel(
        *(_NAME, STRIPS, Lies.STRIDED),
        tiles((8, 2), (7, 3), (5, 4), (14, 1), (2, 8)),
        latency=8,
        groups_per_load=4,
    ),
    # rows * vectors accumulators + vectors of pixels + one vector of filters <= 32 registers
    MicroKernel(
        *(_NAME, PANELS, Lies.PACKED),
        tiles((8, 3), (12, 2), (16, 1), (4, 5)),
        latency=8,
        row_multiple=4,  # filters are loaded four at a time and multiplied by lane
    ),
    # rows * vectors accumulators + rows pixels + four vectors of filters <= 32 registers; of 6 by 4
    # two: llvm-mca 19, Cortex-A76, has 12.75 cycles for its 24 products in place of 12
    int8_row(
        *(_NAME, Lies.STRIDED),
        # of one vector Clang 14 spills the steps that are left over
        (*tiles((7, 3), (5, 4), (8, 2)), Tile(6, 4, beside=1.5)),
        groups_per_load=4,
        sliding_groups=4,
        apart=0.5,  # counted, of vectors with offsets: 84 for 21 sums of 7 by 3, 14 for 4 together
        whole_windows=True,
        feature="int8_dot",
        flags=_DOT,
        cpu_flags=("asimddp",),
    ),
    int8_row(
        *(_NAME, Lies.PACKED),
        tiles((8, 3), (12, 2), (16, 1)),
        prefix="s8_packed",
        row_multiple=4,
        pack=4.0,  # word by word
        feature="int8_dot",
        flags=_DOT,
        cpu_flags=("asimddp",),
    ),
    # rows * vectors accumulators + rows pixels + two vectors of filters <= 32 registers
    int8_row(
        *(_NAME, Lies.STRIDED),
        tiles((4, 6), (4, 5), (6, 3), (8, 2), (12, 1)),
        prefix="s8_matrix",
        row_multiple=2,
        rate=2.0,  # Arm's Software Optimization Guides, Neoverse N2: as often as multiply-adds
        interleaves=(_BY_TWOS,),
        header="neon_matrix",
        feature="int8_matrix",
        flags=_MATRIX,
        cpu_flags=("i8mm",),
    ),
    # rows * vectors accumulators + rows pixels + two vectors of filters + four of products <= 32
    # llvm-mca 19, Cortex-A57 and -A72: two cycles of their one multiplier, where float32 has one
    pairs(_NAME, tiles((5, 4), (6, 3), (8, 2), (12, 1)), rate=1 / 2, whole_windows=True),
)

# Of float16, in words of two bytes: a vector has eight lanes, and so many channels are a block.
# rows * vectors accumulators + rows pixels + vectors filters <= 30 registers: two hold the bounds
# of a clip.  Pixels take some of the first sixteen alone.
_FLOAT16 = ("-march=armv8.2-a+fp16",)
_FLOAT16_CPU = ("fphp", "asimdhp")
_HALVES = Target(
    name="neon_float16",
    arch="aarch64",
    lanes=8,
    align=16,
    registers=32,
    depthwise_rows=8,
    element_bytes=2,
    runtime="neon_float16",
    decodings=(Decoding("float32 of two words", 3, 2, 3),),
    guard="__ARM_NEON",
    kernels=(
        MicroKernel(
            *(_NAME, STRIPS, Lies.STRIDED),
            tiles((8, 2), (5, 4), (6, 3), (8, 1), (2, 6)),
            latency=8,
            groups_per_load=8,
            feature=FLOAT16,
            flags=_FLOAT16,
            cpu_flags=_FLOAT16_CPU,
        ),
        MicroKernel(
            *(_NAME, PANELS, Lies.PACKED),
            tiles((8, 3), (16, 1)),
            latency=8,
            row_multiple=8,
            feature=FLOAT16,
            flags=_FLOAT16,
            cpu_flags=_FLOAT16_CPU,
        ),
    ),
)

TARGET = Target(
    name=_NAME,
    float16=_HALVES,
    in_order_runtime="_in_order",
    arch="aarch64",
    lanes=4,
    align=16,
    registers=32,
    depthwise_rows=8,
    # llvm-mca 19: Cortex-A57 and -A72; Neoverse N1 differs little.
    decodings=(
        Decoding("flyte24", 2.5, 0.7, 12),
        Decoding("flyte16", 0.6, 0.15, 11),
        Decoding("flyte8", 1.4, 0.3, 8),
        Decoding("int8", 2, 0, 0),
        Decoding("int4", 3, 0, 0),
        Decoding(QUANTISED, 4, 2.5, 4),
    ),
    guard="__ARM_NEON",
    cpu_flags=("asimd",),
    mandatory="aarch64",
    kernels=_KERNELS,
    byte_rows=(ByteVectors(_NAME, 16, 7),),
    dots=(
        DotRow("sdot", 4, 2.0, 4.0, feature="int8_dot"),
        DotRow(_NAME, 4, 4.0, 4.0, pairs=True),
    ),
    integers="ec_integers_neon.h",
)
