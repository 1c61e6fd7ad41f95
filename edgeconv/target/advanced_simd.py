"""Advanced SIMD of Arm, vectors of 128 bits: what its backends for 64 and 32 bits share."""

from __future__ import annotations

from edgeconv.target.micro_kernel import Interleave, Lies, MicroKernel, Tile, int8_row

# Of cores without dot products (ec_int8_neon_pairs.h), which multiply the pairs of a vector of
# pixels, rotated by a pair three times, with the pair of each filter that it then lies over; a word
# alone is repeated, its halves swapped in the upper half of the vector.
_ROTATED = Interleave(
    4,
    tuple(
        (lane, 2 * ((lane + 4 * half + turn) % 8) + element)
        for turn in range(4)
        for half in range(2)
        for lane in range(4)
        for element in range(2)
    ),
)
_SWAPPED = Interleave(
    1,
    tuple(
        (lane, 2 * ((lane + half) % 2) + element)
        for half in range(2)
        for lane in range(4)
        for element in range(2)
    ),
)
# SMLAL multiplies four filters by one channel: of a word those of its first, then of its second.
BY_CHANNEL = Interleave(1, tuple((lane, element) for element in range(2) for lane in range(4)))


def pairs(
    isa: str, largest: tuple[Tile, ...], rate: float, *, whole_windows: bool = False
) -> MicroKernel:
    """The row of int8 without dot products: three instructions (SMULL, SMLAL, SADALP) multiply the
    word of a pixel by those of four filters."""
    return int8_row(
        *(isa, Lies.STRIDED, largest),
        prefix="s8_pairs",
        rate=rate,
        two_fit=True,
        interleaves=(_ROTATED, _SWAPPED),
        header="neon_pairs",
        whole_windows=whole_windows,
    )
