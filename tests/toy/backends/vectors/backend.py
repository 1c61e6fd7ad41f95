"""Vectors of 128, 256 and 512 bits in C, as GCC and Clang have them for any processor."""

from __future__ import annotations

from edgeconv.target.byte_vectors import ByteVectors
from edgeconv.target.dot_row import DotRow
from edgeconv.target.micro_kernel import Lies, MicroKernel, int8_row, int16_row, tiles
from edgeconv.target.targets import ANY, C_DECODINGS, PANELS, STRIPS, Target

_TILES = tiles((4, 2), (2, 4), (8, 1))


def _target(bits: int) -> Target:
    name = f"vectors{bits}"
    return Target(
        name=name,
        arch=ANY,
        lanes=bits // 32,
        align=bits // 8,
        registers=32,
        depthwise_rows=4,
        decodings=C_DECODINGS,
        flags=("-Wno-psabi",),  # no vector is passed between separately compiled functions
        kernels=(
            int16_row(name, Lies.STRIDED, (4, 2), (8, 1), rate=0.5, header="vectors"),
            MicroKernel(name, STRIPS, Lies.STRIDED, _TILES, latency=4),
            MicroKernel(name, PANELS, Lies.EITHER, _TILES, latency=4),
            int8_row(name, Lies.STRIDED, _TILES, rate=0.5, header="vectors"),
        ),
        byte_rows=(ByteVectors("portable", 1, 1),),
        dots=(DotRow("vectors", 4, 8.0, 12.0),),
        integers="ec_integers_vectors.h",
    )


TARGET = tuple(map(_target, (128, 256, 512)))
