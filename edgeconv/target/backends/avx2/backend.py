"""AVX2 with multiply-adds, of x86-64."""

from __future__ import annotations

from edgeconv.target.byte_vectors import ByteVectors
from edgeconv.target.dot_row import DotRow
from edgeconv.target.micro_kernel import Lies, MicroKernel, int8_row, int16_row, tiles
from edgeconv.target.targets import PANELS, QUANTISED, STRIPS, Decoding, Target

_NAME = "avx2"

# rows * vectors accumulators + vectors filters + 1 pixel <= 15 of 16 registers: with none free,
# compilers spill one; the filters of a single row are operands in memory
_INT8 = tiles((3, 4), (4, 3), (6, 2), (12, 1))
_KERNELS = (
    # As the row s8, which widens int8 to what this one is given.
    int16_row(_NAME, Lies.STRIDED, (3, 4), (4, 3), (6, 2), (12, 1), rate=0.8),
    MicroKernel(
        *(_NAME, STRIPS, Lies.STRIDED),
        tiles((6, 2), (3, 3), (12, 1), (2, 4), (1, 12)),
        latency=8,
    ),
    MicroKernel(_NAME, PANELS, Lies.EITHER, tiles((6, 2), (3, 3), (12, 1), (2, 4)), latency=8),
    # int8: rows * vectors accumulators + 1 pixel + 1 product + ones, filters in memory.
    # vpmaddwd and vpaddd share four ports, multiply-adds of float32 have two: 1.6 times as many
    # products (measured on Zen 4), two to a group
    int8_row(_NAME, Lies.STRIDED, _INT8, k=2, rate=0.8),
    # vpmaddubsw, vpmaddwd, vpaddd: llvm-mca 14, a group in 1.16 slots (Skylake) or 1.01 (Zen 3)
    int8_row(
        *(_NAME, Lies.STRIDED, _INT8),
        prefix="s8_pairs",
        rate=0.5,
        unsigned=True,
        largest_pair=128,
    ),
    # Intel's manual, Golden Cove: two vpdpbusd a cycle, as multiply-adds of float32
    int8_row(
        *(_NAME, Lies.STRIDED, _INT8),
        prefix="s8_vnni",
        unsigned=True,
        header="avxvnni",
        feature="int8_dot",
        flags=("-mavxvnni",),
        cpu_flags=("avx_vnni",),
    ),
)

TARGET = Target(
    name=_NAME,
    arch="x86_64",
    lanes=8,
    align=32,
    registers=16,
    depthwise_rows=10,
    # Timed on Zen 5, whose shuffles and shifts have units of their own.  Where they share those of
    # multiply-adds, llvm-mca 19 has 1 to 1.3 slots for a vector of any format (Haswell).
    decodings=(
        Decoding("flyte24", 0.6, 0.5, 16),
        Decoding("flyte16", 0.2, 0.1, 14),
        Decoding("flyte8", 0.2, 0.1, 11),
        Decoding("int8", 0.2, 0, 0),
        Decoding("int4", 0.4, 0, 0),
        Decoding(QUANTISED, 1.2, 1.2, 6),
    ),
    flags=("-mavx2", "-mfma"),
    guard="__AVX2__",
    cpu_flags=("avx2", "fma"),
    kernels=_KERNELS,
    byte_rows=(ByteVectors(_NAME, 32, 35),),
    dots=(DotRow(_NAME, 2, 2.5, 4.0),),
    integers="ec_integers_avx2.h",
)
