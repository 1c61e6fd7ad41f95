"""Micro-kernels whose sums are memory, as a matrix unit's, of a toy that claims to be fast.

Of each instruction set another kind: rows that are packed or not, wide and narrow tiles, bytes that
are 128 more or as they are, any depth or multiples of a few steps.
"""

from __future__ import annotations

from dataclasses import replace

from edgeconv.target.backends.avx2.backend import TARGET as AVX2
from edgeconv.target.backends.avx512.backend import TARGET as AVX512
from edgeconv.target.backends.portable.backend import TARGET as PORTABLE
from edgeconv.target.backends.power10.backend import TARGET as POWER10
from edgeconv.target.micro_kernel import INT16_PREFIX, Lies, MicroKernel, Tile
from edgeconv.target.targets import STRIPS, Target

_OF_ISAS = {"portable": PORTABLE, "avx2": AVX2, "avx512": AVX512}
# Rows of float32 come in multiples of; how they lie and the tile; the same of int8, and then its
# multiple of depth and whether bytes are 128 more.
_KINDS = {
    "portable": ((4, Lies.PACKED, Tile(12, 4)), (2, Lies.STRIDED, Tile(6, 5), 1, False)),
    "avx2": ((1, Lies.STRIDED, Tile(40, 3)), (1, Lies.STRIDED, Tile(24, 3), 4, True)),
    "avx512": ((16, Lies.PACKED, Tile(32, 2)), (4, Lies.PACKED, Tile(16, 5), 6, False)),
}


def _float32(isa: str) -> MicroKernel:
    multiple, lies, tile = _KINDS[isa][0]
    return MicroKernel(
        *(isa, "f32_toy", lies, (tile,)),
        latency=1,
        row_multiple=multiple,
        rate=100.0,
        memory_sums=True,
        enter=50.0,
        through=2.0,
        waiting=4096,
        header="ec_toy_f32.h",
    )


def _int8(isa: str) -> MicroKernel:
    multiple, lies, tile, k_multiple, unsigned = _KINDS[isa][1]
    own = _OF_ISAS[isa].kernel("s8")
    return MicroKernel(
        *(isa, "s8_toy", lies, (tile,)),
        latency=1,
        a="int8",
        b="int8",
        sums="int32",
        k=4,
        row_multiple=multiple,
        rate=100.0,
        unsigned=unsigned,
        memory_sums=True,
        enter=50.0,
        through=2.0,
        waiting=4096,
        k_multiple=k_multiple,
        permission=True,
        header=f"ec_toy_s8_{isa}.h",
        feature=own.feature,
        flags=own.flags,
        cpu_flags=own.cpu_flags,
    )


def _int16(isa: str) -> MicroKernel:
    tile = _KINDS[isa][0][2]
    own = _OF_ISAS[isa].kernel(INT16_PREFIX)
    return replace(
        _float32(isa),
        prefix="s16_toy",
        tiles=(Tile(min(tile.rows, 16), tile.vectors),),
        a="int16",
        b="int16",
        sums="int32",
        k=2,
        header=f"ec_toy_s16_{isa}.h",
        feature=own.feature,
        flags=own.flags,
        cpu_flags=own.cpu_flags,
    )


def _slow(row: MicroKernel) -> MicroKernel:
    """So slow that any other is chosen that multiplies."""
    return row if row.prefix == STRIPS else replace(row, latency=10**6)


def _target(isa: str) -> Target:
    own = _OF_ISAS[isa]
    toys = (_float32(isa), _int8(isa), _int16(isa))
    kernels = (*map(_slow, own.kernels), *toys)
    return replace(own, name=f"{isa}_memory", runtime=isa, kernels=kernels)


# Of pairs, which POWER10 has instructions to pack for.
_BFLOAT16 = MicroKernel(
    *("power10", "bf16_toy", Lies.PACKED, (Tile(20, 3),)),
    latency=1,
    a="bfloat16",
    b="bfloat16",
    k=2,
    row_multiple=4,
    rate=100.0,
    memory_sums=True,
    enter=50.0,
    through=2.0,
    waiting=4096,
    k_multiple=3,
    header="ec_toy_bf16_power10.h",
    feature="bfloat16",
    cpu_flags=("power10",),
)
_OF_PAIRS = replace(
    POWER10,
    name="power10_memory",
    runtime="power10",
    kernels=(*map(_slow, POWER10.kernels), _BFLOAT16),
)

TARGET = (*map(_target, _KINDS), _OF_PAIRS)
