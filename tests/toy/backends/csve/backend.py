"""SVE of 64-bit Arm at lengths that are fixed when a program is compiled, 256 and 512 bits.

GCC makes SVE instructions of the vectors in C that the backend beside it has.
"""

from __future__ import annotations

from edgeconv.target.byte_vectors import ByteVectors
from edgeconv.target.dot_row import DotRow
from edgeconv.target.micro_kernel import Lies, MicroKernel, int8_row, int16_row, tiles
from edgeconv.target.targets import C_DECODINGS, PANELS, STRIPS, Target

_TILES = tiles((8, 2), (4, 4), (14, 1))


def _target(bits: int) -> Target:
    name = f"csve{bits}"
    return Target(
        name=name,
        arch="aarch64",
        lanes=bits // 32,
        align=bits // 8,
        registers=32,
        depthwise_rows=4,
        decodings=C_DECODINGS,
        flags=("-march=armv8.2-a+sve", f"-msve-vector-bits={bits}"),
        guard="__ARM_FEATURE_SVE",
        cpu_flags=("sve",),
        emulated=("-cpu", f"max,sve-default-vector-length={bits // 8}"),
        scalable=True,
        kernels=(
            int16_row(name, Lies.STRIDED, (4, 2), (8, 1), rate=0.5, header="vectors"),
            MicroKernel(name, STRIPS, Lies.STRIDED, _TILES, latency=8),
            MicroKernel(name, PANELS, Lies.EITHER, _TILES, latency=8),
            int8_row(name, Lies.STRIDED, tiles((4, 2), (8, 1)), rate=0.5, header="vectors"),
        ),
        byte_rows=(ByteVectors("portable", 1, 1),),
        dots=(DotRow("vectors", 4, 8.0, 12.0),),
        integers="ec_integers_vectors.h",
    )


TARGET = (_target(256), _target(512))
