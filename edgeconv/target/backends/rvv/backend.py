"""RVV 1.0 of 64-bit RISC-V, its vector extension, at lengths fixed when a program is compiled.

How long vectors are is the core's choice; there is an instruction set for each length.
"""

from __future__ import annotations

from edgeconv.target.byte_vectors import ByteVectors
from edgeconv.target.dot_row import DotRow
from edgeconv.target.micro_kernel import Lies, MicroKernel, int8_row, int16_row, tiles
from edgeconv.target.targets import PANELS, QUANTISED, STRIPS, Decoding, Target

_LENGTHS = (128, 256, 512, 1024)
_HEADER = "rvv"

# rows * vectors accumulators + a group of filters <= 32 registers; a group has 1, 2, 4 or 8, as
# many as vectors are a multiple of.  One vector alone has no more rows than hide latency: more
# would not spare instructions, of which larger groups take fewer for as many products.
_TILES = tiles((6, 4), (2, 8), (12, 2), (9, 3), (12, 1))
# rows * vectors accumulators + a group of words, and halves of these as they are used <= 32
_INTEGERS = ((6, 4), (12, 2), (7, 3), (24, 1))


def _target(bits: int) -> Target:
    name, lanes = f"rvv{bits}", bits // 32
    return Target(
        name=name,
        arch="riscv64",
        lanes=lanes,
        align=bits // 8,
        registers=32,
        depthwise_rows=8,
        decodings=(  # instructions
            Decoding("flyte24", 8, 2, 13),
            Decoding("flyte16", 2, 1, 9),
            Decoding("flyte8", 2, 1, 9),
            Decoding("int8", 2, 1, 0),
            Decoding("int4", 8, 4, 0),
            Decoding(QUANTISED, 4, 3, 6),
        ),
        flags=(f"-march=rv64gcv_zvl{bits}b", "-mrvv-vector-bits=zvl"),
        guard="__riscv_v_fixed_vlen",
        cpu_flags=("rv64v",),
        emulated=("-cpu", f"rv64,v=true,vlen={bits},vext_spec=v1.0"),
        scalable=True,
        kernels=(
            # A widening multiply-add has as many products as it writes lanes of int32, as one of
            # float32 has; a word holds two channels or four.
            int16_row(name, Lies.STRIDED, *_INTEGERS, rate=0.5, header=_HEADER),
            MicroKernel(name, STRIPS, Lies.STRIDED, _TILES, latency=8),
            MicroKernel(name, PANELS, Lies.EITHER, _TILES, latency=8),
            int8_row(name, Lies.STRIDED, tiles(*_INTEGERS), rate=0.25, header=_HEADER),
            int8_row(
                *(name, Lies.STRIDED, tiles(*_INTEGERS)),
                prefix="s8_wide",
                k=2,
                rate=0.5,
                header="rvv_wide",
            ),
        ),
        byte_rows=(ByteVectors(_HEADER, bits // 8, bits // 8),),  # gathered, byte by byte
        # Two products; loads and stores go on beside them, as in LLVM's model of SpacemiT's X60.
        # To pack a group: twice a load of one register and a store of two.
        dots=(DotRow(_HEADER, 2, 2.0, 1.5, apart=True, grouped=True),),
        integers="ec_integers_rvv.h",
    )


TARGET = tuple(map(_target, _LENGTHS))
