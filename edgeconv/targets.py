"""The instruction sets that kernels exist for: one frozen row each.

A row says what the emitter and the chooser must know of ``runtime_c/isa/ec_isa_<name>.h``; what a
*board* adds (compiler, clock, caches, memory) is in its TOML file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from edgeconv.cache import Cache


@dataclass(frozen=True, slots=True)
class Tile:
    """A register tile: ``rows`` that are broadcast by ``vectors`` of ``lanes``.

    In direct convolution rows are output pixels and vectors are of filters; in the outer product of
    SConv rows are filters (N_f) and vectors are of output pixels (N_win).
    """

    rows: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Target:
    """One instruction set.

    ``lanes``: float32 per vector, and the channel block x of NCHW[x]c.  ``tiles``: the largest
    register tile for each number of filter vectors; accumulators and operands together fit the
    register file, so that nothing spills.  ``fma_slots``: multiply-adds in flight that hide the
    latency of one.  ``registers``: vector registers, of ``lanes`` float32 each; portable C, whose
    machine is not known, is taken to have the words of NEON's.  ``outer``: the tiles of the outer
    product over packed panels, whose rows come in multiples of ``outer_step``; it does
    ``outer_rate`` times the multiply-adds of a vector instruction per unit of time (a matrix unit
    more than one).
    ``runtime``: the row whose ISA header it uses, where that is not its own.
    ``flags``: what GCC and Clang need.  ``guard``: the macro they then define.
    ``cpu_flags``: words of /proc/cpuinfo that tell that the running CPU has it.
    ``flushes_subnormals``: its vector instructions may read a subnormal number as zero of its sign
    and write zero for a subnormal result; what the scalar unit does stays exact.
    ``caches``: those of the board, by level; the rows below have none.  ``prefetch``: the board's
    core wants to be told what will be read next.
    """

    name: str
    arch: str  # as uname -m prints it; "any" for portable C
    lanes: int
    align: int  # bytes
    registers: int
    tiles: tuple[Tile, ...]
    outer: tuple[Tile, ...]
    fma_slots: int
    depthwise_rows: int  # output pixels of the depthwise tile
    runtime: str = ""
    flags: tuple[str, ...] = ()
    guard: str = ""
    cpu_flags: tuple[str, ...] = ()
    outer_step: int = 1
    outer_rate: float = 1.0
    flushes_subnormals: bool = False
    caches: tuple[Cache, ...] = ()
    prefetch: bool = False

    @property
    def header(self) -> str:
        """File name of the ISA header."""
        return f"ec_isa_{self.runtime or self.name}.h"


_ROWS = (
    Target(
        name="portable",
        arch="any",
        lanes=1,
        align=16,
        registers=128,
        tiles=(Tile(4, 4), Tile(4, 3), Tile(6, 2), Tile(8, 1), Tile(1, 8)),
        outer=(Tile(4, 4), Tile(4, 2), Tile(2, 8), Tile(8, 2), Tile(1, 8)),
        outer_rate=2.0,  # compilers vectorise the products of packed panels
        fma_slots=4,
        depthwise_rows=4,
    ),
    Target(
        name="scalar",  # a microcontroller: nothing is vectorised, and RAM is worth more than time
        runtime="portable",
        arch="any",
        lanes=1,
        align=16,
        registers=32,
        # rows * vectors accumulators + vectors filters + rows pixels <= 32 registers of the FPU
        tiles=(Tile(4, 4), Tile(5, 3), Tile(8, 2), Tile(12, 1), Tile(2, 8), Tile(1, 8)),
        outer=(Tile(4, 4), Tile(4, 2), Tile(8, 2), Tile(1, 8)),
        fma_slots=4,
        depthwise_rows=4,
    ),
    Target(
        name="avx512",
        arch="x86_64",
        lanes=16,
        align=64,
        registers=32,
        # rows * vectors accumulators + vectors filters + 1 pixel <= 32 registers
        tiles=(
            *(Tile(14, 2), Tile(9, 3), Tile(28, 1), Tile(6, 4), Tile(5, 5)),
            *(Tile(4, 6), Tile(2, 8), Tile(1, 14)),
        ),
        outer=(Tile(9, 3), Tile(14, 2), Tile(28, 1), Tile(6, 4), Tile(4, 6), Tile(2, 8)),
        fma_slots=8,
        depthwise_rows=14,
        flags=("-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mfma"),
        guard="__AVX512F__",
        cpu_flags=("avx512f", "avx512dq", "avx512vl", "avx512bw", "fma"),
    ),
    Target(
        name="avx2",
        arch="x86_64",
        lanes=8,
        align=32,
        registers=16,
        # rows * vectors accumulators + vectors filters + 1 pixel <= 15 of 16 registers: with none
        # free, compilers spill one; the filters of a single row are operands in memory
        tiles=(Tile(6, 2), Tile(3, 3), Tile(12, 1), Tile(2, 4), Tile(1, 12)),
        outer=(Tile(6, 2), Tile(3, 3), Tile(12, 1), Tile(2, 4)),
        fma_slots=8,
        depthwise_rows=10,
        flags=("-mavx2", "-mfma"),
        guard="__AVX2__",
        cpu_flags=("avx2", "fma"),
    ),
    Target(
        name="neon",
        arch="aarch64",
        lanes=4,
        align=16,
        registers=32,
        # rows * vectors accumulators + rows pixels + vectors filters <= 32 registers
        tiles=(Tile(8, 2), Tile(7, 3), Tile(5, 4), Tile(14, 1), Tile(2, 8)),
        # rows * vectors accumulators + vectors of pixels + one vector of filters <= 32 registers
        outer=(Tile(8, 3), Tile(12, 2), Tile(16, 1), Tile(4, 5)),
        outer_step=4,  # filters are loaded four at a time and multiplied by lane
        fma_slots=8,
        depthwise_rows=8,
        guard="__ARM_NEON",
        cpu_flags=("asimd",),
    ),
    Target(
        name="neon_armv7",
        arch="armv7l",
        lanes=4,
        align=16,
        registers=16,
        # rows * vectors accumulators + rows / 2 of pixels + one vector of filters <= 16 registers
        tiles=(Tile(6, 2), Tile(4, 3), Tile(3, 4), Tile(10, 1), Tile(2, 6), Tile(1, 12)),
        # rows * vectors accumulators + rows / 4 of filters + one vector of pixels <= 16 registers
        outer=(Tile(4, 3), Tile(12, 1), Tile(4, 2), Tile(8, 1)),
        outer_step=4,  # filters are loaded four at a time and multiplied by lane
        fma_slots=8,
        depthwise_rows=6,
        flags=("-march=armv7-a", "-mfpu=neon-vfpv4", "-mfloat-abi=hard"),
        guard="__ARM_FEATURE_FMA",
        cpu_flags=("neon", "vfpv4"),
        flushes_subnormals=True,
    ),
    Target(
        name="power10",
        arch="ppc64le",
        lanes=4,
        align=16,
        registers=64,
        # VSX has 64 registers, of which half hold sums and the others operands and addresses
        tiles=(Tile(8, 4), Tile(16, 2), Tile(10, 3), Tile(32, 1), Tile(4, 8)),
        outer=(Tile(8, 4), Tile(16, 2), Tile(4, 8)),  # all eight accumulators of 4 x 4
        outer_step=4,
        outer_rate=2.0,  # two outer products of 4 x 4 per cycle, or four vector multiply-adds
        fma_slots=8,
        depthwise_rows=8,
        flags=("-mcpu=power10",),
        guard="__MMA__",
        cpu_flags=("power10",),
    ),
)

TARGETS: Mapping[str, Target] = MappingProxyType({row.name: row for row in _ROWS})
