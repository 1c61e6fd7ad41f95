"""POWER10: VSX, and the matrix unit MMA."""

from __future__ import annotations

from edgeconv.target.byte_vectors import ByteVectors
from edgeconv.target.dot_row import DotRow
from edgeconv.target.micro_kernel import Lies, MicroKernel, int8_row, int16_row, tiles
from edgeconv.target.targets import PANELS, QUANTISED, STRIPS, Decoding, Target

_NAME = "power10"

_MMA_TILES = tiles((8, 4), (16, 2), (4, 8))  # all eight accumulators of 4 x 4
_KERNELS = (
    int16_row(_NAME, Lies.PACKED, (8, 4), (16, 2), rate=2.0, row_multiple=4),
    # VSX has 64 registers, of which half hold sums and the others operands and addresses
    MicroKernel(
        *(_NAME, STRIPS, Lies.STRIDED),
        tiles((8, 4), (16, 2), (10, 3), (32, 1), (4, 8)),
        latency=8,
    ),
    MicroKernel(
        *(_NAME, PANELS, Lies.PACKED),
        _MMA_TILES,
        latency=8,
        row_multiple=4,
        rate=2.0,  # two outer products of 4 x 4 per cycle, or four vector multiply-adds
    ),
    MicroKernel(
        *(_NAME, "bf16", Lies.PACKED),
        _MMA_TILES,
        latency=8,
        a="bfloat16",
        b="bfloat16",
        k=2,
        row_multiple=4,
        rate=2.0,  # as many outer products per cycle as of float32 (POWER ISA 3.1, MMA)
        header="ec_bfloat16_power10.h",
        feature="bfloat16",
        cpu_flags=("power10",),
    ),
    int8_row(
        *(_NAME, Lies.PACKED, _MMA_TILES),
        row_multiple=4,
        rate=2.0,
        unsigned=True,
        pack=1.5,  # sixteen words are transposed in 24 instructions
    ),
)

TARGET = Target(
    name=_NAME,
    arch="ppc64le",
    lanes=4,
    align=16,
    registers=64,
    depthwise_rows=8,
    decodings=(  # llvm-mca 19
        Decoding("flyte24", 2, 4.5, 11),
        Decoding("flyte16", 2.5, 4, 11),
        Decoding("flyte8", 2.5, 4, 8),
        Decoding("int8", 5, 0, 0),
        Decoding("int4", 6.5, 0, 0),
        Decoding(QUANTISED, 7, 6, 3),
    ),
    flags=("-mcpu=power10",),
    guard="__MMA__",
    cpu_flags=("power10",),
    emulated=("-cpu", "power10"),
    kernels=_KERNELS,
    byte_rows=(ByteVectors(_NAME, 16, 17),),
    dots=(DotRow(_NAME, 4, 2.0, 4.5, shift=128),),
    integers="ec_integers_power10.h",
)
