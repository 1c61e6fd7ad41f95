"""The rows, by ISA: the tile of strips (``ec_tile``), then what multiplies packed panels."""

from __future__ import annotations

from edgeconv.target.micro_kernels.base import Interleave, Lies, MicroKernel, Tile

STRIDED, PACKED, EITHER = Lies.STRIDED, Lies.PACKED, Lies.EITHER


def _tiles(*shapes: tuple[int, int]) -> tuple[Tile, ...]:
    return tuple(Tile(rows, vectors) for rows, vectors in shapes)


def _int8(
    isa: str,
    lies: Lies,
    tiles: tuple[Tile, ...],
    *,
    prefix: str = "s8",
    latency: int = 8,
    rate: float = 1.0,
    k: int = 4,
    row_multiple: int = 1,
    unsigned: bool = False,
    largest_pair: int = 0,
    pack: float = 1.0,
    two_fit: bool = False,
    interleaves: tuple[Interleave, ...] = (),
    header: str = "",
    feature: str = "",
    flags: tuple[str, ...] = (),
    cpu_flags: tuple[str, ...] = (),
    groups_per_load: int = 1,
) -> MicroKernel:
    """A row of int8, which is widened where ``k`` is 2, summed in int32; of ``header``, if not the
    ISA's own of int8.  ``pack``: counted; bytes are copied by vectors, if nothing else is said."""
    stored = "int8" if k == 4 else "int16"
    return MicroKernel(
        isa,
        prefix,
        lies,
        tiles,
        latency,
        stored,
        stored,
        "int32",
        k,
        row_multiple,
        rate,
        unsigned=unsigned,
        largest_pair=largest_pair,
        pack=pack,
        two_fit=two_fit,
        interleaves=interleaves,
        header=f"../isa/ec_int8_{header or isa}.h",
        feature=feature,
        flags=flags,
        cpu_flags=cpu_flags,
        groups_per_load=groups_per_load,
    )


_PORTABLE = (
    MicroKernel(
        *("portable", "tile", STRIDED), _tiles((4, 4), (4, 3), (6, 2), (8, 1), (1, 8)), latency=4
    ),
    MicroKernel(
        *("portable", "f32", EITHER),
        _tiles((4, 4), (4, 2), (2, 8), (8, 2), (1, 8)),
        latency=4,
        rate=2.0,  # compilers vectorise the products of packed panels
        # Measured against strips with GCC 12 on Zen 4, convolutions of ResNet-8 and MobileNet of
        # MLPerf Tiny: 0.58 to 0.97 of what slots say, 0.66 in the middle.
        vectorised=0.66,
    ),
    _int8("portable", STRIDED, _tiles((4, 4), (4, 2), (8, 2), (1, 8)), latency=4, rate=0.25),
)

# rows * vectors accumulators + vectors filters + rows pixels <= 32 registers of the FPU
_SCALAR = (
    MicroKernel(
        *("scalar", "tile", STRIDED),
        _tiles((4, 4), (5, 3), (8, 2), (12, 1), (2, 8), (1, 8)),
        latency=4,
    ),
    MicroKernel(*("scalar", "f32", EITHER), _tiles((4, 4), (4, 2), (8, 2), (1, 8)), latency=4),
)

# rows * vectors accumulators + vectors filters + 1 pixel <= 32 registers
_AVX512_TILES = _tiles((14, 2), (9, 3), (28, 1), (6, 4), (5, 5), (4, 6), (2, 8), (1, 14))
_AVX512 = (
    MicroKernel(*("avx512", "tile", STRIDED), _AVX512_TILES, latency=8),
    MicroKernel(
        *("avx512", "f32", EITHER),
        _tiles((9, 3), (14, 2), (28, 1), (6, 4), (4, 6), (2, 8)),
        latency=8,
    ),
    MicroKernel(
        *("avx512", "bf16", STRIDED),
        _AVX512_TILES,
        latency=12,  # Zen 5, measured: six cycles, two instructions in each; one and one on Zen 4
        a="bfloat16",
        b="bfloat16",
        k=2,
        header="../isa/ec_bfloat16_avx512.h",
        feature="bfloat16",
        flags=("-mavx512bf16",),
        cpu_flags=("avx512_bf16",),
    ),
    _int8(
        "avx512",
        STRIDED,
        _AVX512_TILES,
        unsigned=True,
        feature="int8_dot",
        flags=("-mavx512vnni",),
        cpu_flags=("avx512_vnni",),
    ),
)

# rows * vectors accumulators + vectors filters + 1 pixel <= 15 of 16 registers: with none free,
# compilers spill one; the filters of a single row are operands in memory
_AVX2_INT8 = _tiles((3, 4), (4, 3), (6, 2), (12, 1))
_AVX2 = (
    MicroKernel(
        *("avx2", "tile", STRIDED), _tiles((6, 2), (3, 3), (12, 1), (2, 4), (1, 12)), latency=8
    ),
    MicroKernel(*("avx2", "f32", EITHER), _tiles((6, 2), (3, 3), (12, 1), (2, 4)), latency=8),
    # int8: rows * vectors accumulators + 1 pixel + 1 product + ones, filters in memory.
    # vpmaddwd and vpaddd share four ports, multiply-adds of float32 have two: 1.6 times as many
    # products (measured on Zen 4), two to a group
    _int8("avx2", STRIDED, _AVX2_INT8, k=2, rate=0.8),
    # vpmaddubsw, vpmaddwd, vpaddd: llvm-mca 14, a group in 1.16 slots (Skylake) or 1.01 (Zen 3)
    _int8(
        *("avx2", STRIDED, _AVX2_INT8),
        prefix="s8_pairs",
        rate=0.5,
        unsigned=True,
        largest_pair=128,
    ),
    # Intel's manual, Golden Cove: two vpdpbusd a cycle, as multiply-adds of float32
    _int8(
        *("avx2", STRIDED, _AVX2_INT8),
        prefix="s8_vnni",
        unsigned=True,
        header="avxvnni",
        feature="int8_dot",
        flags=("-mavxvnni",),
        cpu_flags=("avx_vnni",),
    ),
)

# Of NEON without dot products (ec_int8_neon_pairs.h), which multiplies the pairs of a vector of
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


def _pairs(isa: str, tiles: tuple[Tile, ...], rate: float) -> MicroKernel:
    """The row of NEON without dot products: three instructions (SMULL, SMLAL, SADALP) multiply the
    word of a pixel by those of four filters."""
    return _int8(
        *(isa, STRIDED, tiles),
        prefix="s8_pairs",
        rate=rate,
        two_fit=True,
        interleaves=(_ROTATED, _SWAPPED),
        header="neon_pairs",
    )


# Of Arm's products of matrices, two filters of eight elements each (ec_int8_neon_matrix.h).
_BY_TWOS = Interleave(2, tuple((lane, element) for lane in range(4) for element in range(8)))

_DOT = ("-march=armv8.2-a+dotprod",)
_MATRIX = ("-march=armv8.2-a+dotprod+i8mm",)  # of two -march compilers heed the last
_NEON = (
    # rows * vectors accumulators + rows pixels + vectors filters <= 32 registers
    MicroKernel(
        *("neon", "tile", STRIDED),
        _tiles((8, 2), (7, 3), (5, 4), (14, 1), (2, 8)),
        latency=8,
        groups_per_load=4,
    ),
    # rows * vectors accumulators + vectors of pixels + one vector of filters <= 32 registers
    MicroKernel(
        *("neon", "f32", PACKED),
        _tiles((8, 3), (12, 2), (16, 1), (4, 5)),
        latency=8,
        row_multiple=4,  # filters are loaded four at a time and multiplied by lane
    ),
    # rows * vectors accumulators + rows pixels + one vector of filters <= 32 registers
    _int8(
        "neon",
        STRIDED,
        _tiles((7, 3), (8, 2)),  # of one vector Clang 14 spills the steps that are left over
        groups_per_load=4,
        feature="int8_dot",
        flags=_DOT,
        cpu_flags=("asimddp",),
    ),
    _int8(
        *("neon", PACKED),
        _tiles((8, 3), (12, 2), (16, 1)),
        prefix="s8_packed",
        row_multiple=4,
        pack=4.0,  # word by word
        feature="int8_dot",
        flags=_DOT,
        cpu_flags=("asimddp",),
    ),
    # rows * vectors accumulators + rows pixels + two vectors of filters <= 32 registers
    _int8(
        *("neon", STRIDED),
        _tiles((4, 6), (4, 5), (6, 3), (8, 2), (12, 1)),
        prefix="s8_matrix",
        row_multiple=2,
        rate=2.0,  # Arm's Software Optimization Guides, Neoverse N2: as often as multiply-adds
        interleaves=(_BY_TWOS,),
        header="neon_matrix",
        feature="int8_matrix",
        flags=_MATRIX,
        cpu_flags=("i8mm",),
    ),
    # rows * vectors accumulators + rows pixels + two vectors of filters + four of products <= 32
    # llvm-mca 19, Cortex-A57 and -A72: two cycles of their one multiplier, where float32 has one
    _pairs("neon", _tiles((5, 4), (6, 3), (8, 2), (12, 1)), rate=1 / 2),
)

_NEON_ARMV7 = (
    # rows * vectors accumulators + rows / 2 of pixels + one vector of filters <= 16 registers
    MicroKernel(
        *("neon_armv7", "tile", STRIDED),
        _tiles((6, 2), (4, 3), (3, 4), (10, 1), (2, 6), (1, 12)),
        latency=8,
    ),
    # rows * vectors accumulators + rows / 4 of filters + one vector of pixels <= 16 registers
    MicroKernel(
        *("neon_armv7", "f32", PACKED),
        _tiles((4, 3), (12, 1), (4, 2), (8, 1)),
        latency=8,
        row_multiple=4,  # filters are loaded four at a time and multiplied by lane
    ),
    # rows * vectors accumulators + rows pixels + two vectors of filters + four of products <= 16
    # Counted: there is no model of the cores in question.
    _pairs("neon_armv7", _tiles((2, 4), (3, 2)), rate=1 / 3),
)

_MMA_TILES = _tiles((8, 4), (16, 2), (4, 8))  # all eight accumulators of 4 x 4
_POWER10 = (
    # VSX has 64 registers, of which half hold sums and the others operands and addresses
    MicroKernel(
        *("power10", "tile", STRIDED), _tiles((8, 4), (16, 2), (10, 3), (32, 1), (4, 8)), latency=8
    ),
    MicroKernel(
        *("power10", "f32", PACKED),
        _MMA_TILES,
        latency=8,
        row_multiple=4,
        rate=2.0,  # two outer products of 4 x 4 per cycle, or four vector multiply-adds
    ),
    MicroKernel(
        *("power10", "bf16", PACKED),
        _MMA_TILES,
        latency=8,
        a="bfloat16",
        b="bfloat16",
        k=2,
        row_multiple=4,
        rate=2.0,  # as many outer products per cycle as of float32 (POWER ISA 3.1, MMA)
        header="../isa/ec_bfloat16_power10.h",
        feature="bfloat16",
        cpu_flags=("power10",),
    ),
    _int8(
        *("power10", PACKED, _MMA_TILES),
        row_multiple=4,
        rate=2.0,
        unsigned=True,
        pack=1.5,  # sixteen words are transposed in 24 instructions
    ),
)

MICRO_KERNELS = (*_PORTABLE, *_SCALAR, *_AVX512, *_AVX2, *_NEON, *_NEON_ARMV7, *_POWER10)
