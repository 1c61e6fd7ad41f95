"""AVX-512, of x86-64."""

from __future__ import annotations

from edgeconv.target.byte_vectors import ByteVectors
from edgeconv.target.dot_row import DotRow
from edgeconv.target.micro_kernel import Lies, MicroKernel, int8_row, int16_row, tiles
from edgeconv.target.targets import PANELS, QUANTISED, STRIPS, Decoding, Target

_NAME = "avx512"
_DOT, _DOT_FLAGS, _DOT_WORDS = "int8_dot", ("-mavx512vnni",), ("avx512_vnni",)

# rows * vectors accumulators + vectors filters + 1 pixel <= 32 registers
_TILES = tiles((14, 2), (9, 3), (28, 1), (6, 4), (5, 5), (4, 6), (2, 8), (1, 14))
_KERNELS = (
    # rows * vectors accumulators + vectors filters + 1 pixel <= 32 registers
    int16_row(
        *(_NAME, Lies.STRIDED, (14, 2), (9, 3), (28, 1), (6, 4)),
        rate=1.0,
        feature=_DOT,
        flags=_DOT_FLAGS,
        cpu_flags=_DOT_WORDS,
    ),
    MicroKernel(_NAME, STRIPS, Lies.STRIDED, _TILES, latency=8),
    MicroKernel(
        *(_NAME, PANELS, Lies.EITHER),
        tiles((9, 3), (14, 2), (28, 1), (6, 4), (4, 6), (2, 8)),
        latency=8,
    ),
    MicroKernel(
        *(_NAME, "bf16", Lies.STRIDED),
        _TILES,
        latency=12,  # Zen 5, measured: six cycles, two instructions in each; one and one on Zen 4
        a="bfloat16",
        b="bfloat16",
        k=2,
        header="ec_bfloat16_avx512.h",
        feature="bfloat16",
        flags=("-mavx512bf16",),
        cpu_flags=("avx512_bf16",),
    ),
    int8_row(
        *(_NAME, Lies.STRIDED, _TILES),
        unsigned=True,
        feature=_DOT,
        flags=_DOT_FLAGS,
        cpu_flags=_DOT_WORDS,
    ),
)

TARGET = Target(
    name=_NAME,
    arch="x86_64",
    lanes=16,
    align=64,
    registers=32,
    depthwise_rows=14,
    # Timed on Zen 5, whose shuffles and shifts have units of their own.  Where they share those of
    # multiply-adds, llvm-mca 19 has 2.3 slots for a vector of any format (Skylake).
    decodings=(
        Decoding("flyte24", 1.4, 1.1, 11),
        Decoding("flyte16", 0.25, 0.15, 11),
        Decoding("flyte8", 0.25, 0.2, 8),
        Decoding("int8", 0.25, 0, 0),
        Decoding("int4", 0.8, 0, 0),
        Decoding(QUANTISED, 1.2, 1.2, 4),
    ),
    halvable=True,
    flags=("-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma"),
    guard="__AVX512F__",
    cpu_flags=("avx512f", "avx512dq", "avx512vl", "avx512bw", "fma"),
    kernels=_KERNELS,
    byte_rows=(ByteVectors(_NAME, 64, 27),),
    dots=(
        DotRow("vnni", 4, 2.0, 4.5, shift=128, feature=_DOT),
        DotRow(_NAME, 2, 3.0, 4.0),
    ),
    integers="ec_integers_avx512.h",
)
