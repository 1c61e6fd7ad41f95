"""The rows that multiply pairs of int16, summed modulo 2^32, by ISA: a word holds two channels.

Rows of the same name that multiply int8 have their own module, ``rows.py``.
"""

from __future__ import annotations

from edgeconv.target.micro_kernels.base import Interleave, Lies, MicroKernel, Tile

PREFIX = "s16"


def _int16(
    isa: str,
    lies: Lies,
    *shapes: tuple[int, int],
    rate: float,
    latency: int = 8,
    row_multiple: int = 1,
    interleaves: tuple[Interleave, ...] = (),
    feature: str = "",
    flags: tuple[str, ...] = (),
    cpu_flags: tuple[str, ...] = (),
) -> MicroKernel:
    """A row whose largest register tiles have these rows and vectors."""
    return MicroKernel(
        isa,
        PREFIX,
        lies,
        tuple(Tile(rows, vectors) for rows, vectors in shapes),
        latency,
        "int16",
        "int16",
        "int32",
        2,
        row_multiple,
        rate,
        interleaves=interleaves,
        header=f"../isa/ec_int16_{'neon' if isa == 'neon_armv7' else isa}.h",
        feature=feature,
        flags=flags,
        cpu_flags=cpu_flags,
    )


# SMLAL multiplies four filters by one channel: of a word those of its first, then of its second.
_BY_CHANNEL = Interleave(1, tuple((lane, element) for element in range(2) for lane in range(4)))

MICRO_KERNELS = (
    _int16("portable", Lies.STRIDED, (4, 4), (4, 2), (8, 2), latency=4, rate=0.5),
    # rows * vectors accumulators + vectors filters + 1 pixel <= 32 registers
    _int16(
        *("avx512", Lies.STRIDED, (14, 2), (9, 3), (28, 1), (6, 4)),
        rate=1.0,
        feature="int8_dot",
        flags=("-mavx512vnni",),
        cpu_flags=("avx512_vnni",),
    ),
    # As the row s8, which widens int8 to what this one is given.
    _int16("avx2", Lies.STRIDED, (3, 4), (4, 3), (6, 2), (12, 1), rate=0.8),
    # rows * vectors accumulators + rows pixels + two vectors of filters <= 32 registers.
    # llvm-mca 19, Cortex-A57 and -A72: two cycles of their one multiplier, where float32 has one
    _int16(
        *("neon", Lies.STRIDED, (7, 3), (8, 2), (5, 4)),  # Clang 14 spills (12, 1)
        rate=0.5,
        interleaves=(_BY_CHANNEL,),
    ),
    # rows * vectors accumulators + rows pixels, of the lower four + one vector of filters <= 16
    _int16(
        *("neon_armv7", Lies.STRIDED, (3, 3), (4, 2), (2, 4)),
        rate=0.5,
        interleaves=(_BY_CHANNEL,),
    ),
    _int16("power10", Lies.PACKED, (8, 4), (16, 2), rate=2.0, row_multiple=4),
)
