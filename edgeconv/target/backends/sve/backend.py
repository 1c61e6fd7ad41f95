"""SVE of 64-bit Arm, the Scalable Vector Extension, at lengths fixed when a program is compiled.

How long vectors are is the core's choice; there is an instruction set for each length.  Look-ups of
bytes are NEON's, which such cores have too.
"""

from __future__ import annotations

from edgeconv.target.backends.neon.backend import TARGET as NEON
from edgeconv.target.dot_row import DotRow
from edgeconv.target.micro_kernel import Lies, MicroKernel, int8_row, int16_row, tiles
from edgeconv.target.targets import PANELS, QUANTISED, STRIPS, Decoding, Target

_LENGTHS = (128, 256, 512)

# rows * vectors accumulators + vectors of filters + one pixel <= 32 registers
_TILES = tiles((14, 2), (9, 3), (6, 4), (28, 1))


def _target(bits: int) -> Target:
    name = f"sve{bits}"
    return Target(
        name=name,
        arch="aarch64",
        lanes=bits // 32,
        align=bits // 8,
        registers=32,
        depthwise_rows=8,
        decodings=(  # instructions
            Decoding("flyte24", 1, 2, 12),
            Decoding("flyte16", 1, 1, 9),
            Decoding("flyte8", 1, 1, 9),
            Decoding("int8", 1, 1, 0),
            Decoding("int4", 8, 4, 0),  # bytes are gathered
            Decoding(QUANTISED, 3, 3, 5),
        ),
        flags=("-march=armv8.2-a+sve", f"-msve-vector-bits={bits}"),
        guard="__ARM_FEATURE_SVE",
        cpu_flags=("sve",),
        emulated=("-cpu", f"max,sve-default-vector-length={bits // 8}"),
        scalable=True,
        kernels=(
            # Of a word two multiply-adds of int32; Arm, Neoverse V1 Software Optimization Guide:
            # one pipeline of two multiplies integers.
            # rows * vectors accumulators + 2 * vectors halves of filters + two of a pixel <= 32
            int16_row(name, Lies.STRIDED, (12, 2), (7, 3), (24, 1), rate=0.25, header="sve"),
            MicroKernel(name, STRIPS, Lies.STRIDED, _TILES, latency=8),
            MicroKernel(name, PANELS, Lies.EITHER, _TILES, latency=8),
            # The same guide: SDOT as often as FMLA
            int8_row(name, Lies.STRIDED, _TILES, header="sve"),
        ),
        byte_rows=NEON.byte_rows,
        # Loads, shifts and unions of four rows, counted; bytes of four vectors are gathered.
        dots=(DotRow("sve", 4, 2.0, 11.0),),
        integers="ec_integers_sve.h",
    )


TARGET = tuple(map(_target, _LENGTHS))
