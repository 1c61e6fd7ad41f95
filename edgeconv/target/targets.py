"""The instruction sets that kernels exist for: one frozen row each.

A row says what the emitter and the chooser must know of ``runtime_c/isa/ec_isa_<name>.h``; what a
*board* adds (compiler, clock, caches, memory) is in its TOML file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from edgeconv.ir.encoding import Encoding
from edgeconv.target.cache import ASSUMED_LINE, Cache
from edgeconv.target.micro_kernels import of_isa
from edgeconv.target.micro_kernels.base import MicroKernel, Tile

STRIPS, PANELS = "tile", "f32"  # the rows that every ISA has, over strips and over packed panels
SCALAR = "scalar"  # the row of microcontrollers
DSP = "dsp"  # of `features`: products of pairs of int16, and sums of them (Armv7E-M and later)
DUAL_ISSUE = "dual issue"  # two instructions in a cycle, in order
# The same: instructions of 16 bits alone, which reach eight registers; float32 in functions
THUMB_1, SOFT_FLOAT = "thumb-1", "soft float"
HELIUM = (
    "helium"  # of `features`: vectors of integers of Armv8.1-M, from which the rest gains nothing
)
# of `features`, and a key of board files: a vector is computed in two halves, of which kernels
# leave out the upper one
HALVES = "halves"
_HALF_VECTORS = "-DEC_HALF_VECTORS"  # what ISA headers call it
_SOFT_RATE = 0.00377  # of `__aeabi_fmul` and `__aeabi_fadd` on a Cortex-M0: boards/microbit.toml
QUANTISED = "quantised"  # the int8 of quantised results, whatever their scale and zero point


@dataclass(frozen=True, slots=True)
class Decoding:
    """Slots (the time of a vector multiply-add) that ``storage`` takes more than float32.

    ``vector``: to read a vector, as of filters.  ``element``: to read one element for all lanes, as
    register tiles read inputs.  ``write``: to round a vector and store it.
    """

    storage: str
    vector: float
    element: float
    write: float


@dataclass(frozen=True, slots=True)
class Target:
    """One instruction set.

    ``lanes``: float32 per vector, and the channel block x of NCHW[x]c.  ``registers``: vector
    registers, of ``lanes`` float32 each; portable C, whose machine is not known, is taken to have
    the words of NEON's.
    ``runtime``: the row whose ISA header it uses, where that is not its own; ``in_order_runtime``:
    the ending of its name for cores in order, whose register tiles differ.
    ``halvable``: its header has kernels for cores that compute a vector in two halves.
    ``flags``: what GCC and Clang need.  ``guard``: the macro they then define.
    ``cpu_flags``: words of /proc/cpuinfo that tell that the running CPU has it.
    ``flushes_subnormals``: its vector instructions may read a subnormal number as zero of its sign
    and write zero for a subnormal result; what the scalar unit does stays exact.
    ``caches``: those of the board, by level; ``line_bytes``: a line of the nearest, 0 of a core
    without a data cache, which has all of a memory equally near.  The rows below have no caches,
    and none of what else a board states: ``clock_hz``, ``macs_per_cycle`` at its best, vectors and
    broadcasts that register tiles load meanwhile (``loads_per_cycle``; of a machine that was
    measured, in the time of a vector multiply-add: ``loads_per_multiply_add``), ``load_cycles``
    of a vector in which no multiply-add begins (None where they go on beside loads), bytes per
    second out of the memory behind the caches (``ram_bandwidth``) and out of that of constants
    (``constants_bandwidth``), each None where the board does not say.  ``memory_cycles``: core
    cycles of an access to the memory behind them, None where the board does not say;
    ``memory_bytes_per_cycle``: what was measured of one that states no bandwidth.  ``in_order``:
    the board's core waits at the first use of a load that missed.  ``prefetch``: it wants to be
    told what will be read next; ``prefetch_far``: where memory brings it more slowly than it is
    multiplied, too.  ``features``: what it has beyond its
    ISA, as rows of the table of micro-kernels name it.  ``decodings``: what storage formats cost;
    one that is not there costs nothing.  ``workspaces``: kernels may take some for speed.
    ``workspace_price``: the part of a kernel's time that its workspace must save, beside one that
    does without: where the ISA is that of microcontrollers, RAM is worth more than a little time.
    ``slack``: so much longer than its fastest plan, in parts of its time, a kernel that decodes
    element by element may take for less memory, code included.
    """

    name: str
    arch: str  # as uname -m prints it; "any" for portable C
    lanes: int
    align: int  # bytes
    registers: int
    depthwise_rows: int  # output pixels of the depthwise tile
    runtime: str = ""
    in_order_runtime: str = ""
    halvable: bool = False
    flags: tuple[str, ...] = ()
    guard: str = ""
    cpu_flags: tuple[str, ...] = ()
    flushes_subnormals: bool = False
    caches: tuple[Cache, ...] = ()
    line_bytes: int = ASSUMED_LINE
    clock_hz: int | None = None
    macs_per_cycle: float | None = None
    loads_per_cycle: float | None = None
    loads_per_multiply_add: float | None = None
    load_cycles: float | None = None
    ram_bandwidth: float | None = None
    constants_bandwidth: float | None = None
    memory_cycles: int | None = None
    memory_bytes_per_cycle: float | None = None
    in_order: bool = False
    prefetch: bool = False
    prefetch_far: bool = False
    decodings: tuple[Decoding, ...] = ()
    workspaces: bool = True
    workspace_price: float = 0.0
    slack: float = 0.0
    features: frozenset[str] = frozenset()

    def decoding(self, encoding: Encoding) -> Decoding:
        """What an encoding costs; nothing if the row does not say."""
        kind = QUANTISED if encoding.scale else str(encoding)
        found = (entry for entry in self.decodings if entry.storage == kind)
        return next(found, Decoding(kind, 0, 0, 0))

    @property
    def micro_kernels(self) -> tuple[MicroKernel, ...]:
        """The rows of the table that the core runs."""
        return tuple(
            row for row in of_isa(self.name) if not row.feature or row.feature in self.features
        )

    def kernel(self, prefix: str) -> MicroKernel:
        """The row of this name; KeyError where its ISA has none."""
        return _by_prefix(self.name)[prefix]

    def multiplying(self, elements: str) -> tuple[MicroKernel, ...]:
        """The rows for panels of these elements."""
        rows = (row for row in self.micro_kernels if row.prefix != STRIPS)
        return tuple(row for row in rows if row.a == row.b == elements)

    @property
    def feature_flags(self) -> tuple[str, ...]:
        """What compilers need for its features, beside ``flags``."""
        rows = (row for row in self.micro_kernels if row.feature)
        halves = (_HALF_VECTORS,) if self.halvable and HALVES in self.features else ()
        return (*dict.fromkeys(flag for row in rows for flag in row.flags), *halves)

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """The register tiles of strips, output pixels by vectors of filters."""
        return self.kernel(STRIPS).tiles

    @property
    def peak(self) -> float:
        """Float32 multiply-adds per lane and slot, at its best: more than one in a matrix unit."""
        return self.kernel(PANELS).rate

    @property
    def load_slots(self) -> float:
        """Slots that a vector or broadcast takes to load beside multiply-adds; one where the board
        does not say otherwise."""
        if self.loads_per_multiply_add is not None:
            return 1 / self.loads_per_multiply_add
        if self.loads_per_cycle is None or self.macs_per_cycle is None:
            return 1.0
        return self.macs_per_cycle / (self.lanes * self.peak) / self.loads_per_cycle

    @property
    def lone_load_slots(self) -> float:
        """Slots of a vector load in which no multiply-add begins; 0 where they go on beside it."""
        return (self.load_cycles or 0.0) * self.rate / (self.lanes * self.peak)

    def tile_slots(
        self,
        kernel: MicroKernel,
        rows: int,
        vectors: int,
        decoding: float = 0.0,
        *,
        together: bool = True,
        halved: bool = False,
    ) -> float:
        """Slots of a step of a register tile: its products and what decodes for them (``decoding``
        slots), its loads, or the latency of a sum, whichever takes longest; products and loads one
        after the other where the core does not do them side by side.  ``together``: groups of a row
        lie so that one load brings several of them, if the kernel's do.  ``halved``: of the last
        vector one half is computed."""
        groups, computed = -(-rows // kernel.row_multiple), vectors - halved / 2
        products = groups * kernel.row_multiple * computed / kernel.rate
        if self.lone_load_slots:
            loads = groups / (kernel.groups_per_load if together else 1) + vectors
            return max(products + decoding + loads * self.lone_load_slots, kernel.latency)
        return max(products + decoding, (groups + vectors) * self.load_slots, kernel.latency)

    @property
    def is_scalar(self) -> bool:
        """Whether it is the row of microcontrollers: loops run as they are written."""
        return self.name == SCALAR

    @property
    def slot_cycles(self) -> float:
        """Cycles of a slot."""
        return self.lanes * self.peak / self.rate

    @property
    def rate(self) -> float:
        """Float32 multiply-adds in a cycle; where the board does not say one per lane, or those
        that the functions of a core without FPU do."""
        soft = _SOFT_RATE if SOFT_FLOAT in self.features else self.lanes * self.peak
        return self.macs_per_cycle or soft

    @property
    def single_issue(self) -> bool:
        """Whether loads take the place of multiply-adds: nothing is vectorised, one after the
        other."""
        return self.lanes * self.peak == 1

    @property
    def header(self) -> str:
        """File name of the ISA header."""
        ending = self.in_order_runtime if self.in_order else ""
        return f"ec_isa_{self.runtime or self.name}{ending}.h"


@cache
def _by_prefix(isa: str) -> Mapping[str, MicroKernel]:
    return {row.prefix: row for row in of_isa(isa)}


# vector, element, write.  The first two are what the loop of a direct tile takes longer per vector
# or element, in the middle of the tiles:
#   avx512, avx2   timed on Zen 5, whose shuffles and shifts have units of their own.  Where they
#                  share those of multiply-adds, llvm-mca 19 has 2.3 slots for a vector of any
#                  format with AVX-512 (Skylake) and 1 to 1.3 with AVX2 (Haswell)
#   neon           llvm-mca 19: Cortex-A57 and -A72; Neoverse N1 differs little
#   neon_armv7     GCC's cortex-a15-neon.md (by Arm): a multiply-add takes both ports and two of
#                  three places of a cycle's dispatch, a shift or a pair of table look-ups the ports
#                  too; flyte24 reads pixels again for every vector of filters
#   power10        llvm-mca 19
#   portable       instructions of ec_get_as, one a cycle
# Writes are counted: the instructions of bench/storage_formats.py beside the store.  Of those reads
# too: int8's, a subtraction and a multiplication, of which AVX's do not share a port.
_PORTABLE = (
    Decoding("flyte24", 4, 4, 8),
    Decoding("flyte16", 2, 2, 8),
    Decoding("flyte8", 2, 2, 8),
    Decoding("int8", 2, 0, 0),
    Decoding("int4", 4, 0, 0),
    Decoding(QUANTISED, 4, 4, 7),
)
_ROWS = (
    Target(
        name="portable",
        arch="any",
        lanes=1,
        align=16,
        registers=128,
        depthwise_rows=4,
        decodings=_PORTABLE,
        slack=1 / 16,
    ),
    Target(
        name=SCALAR,  # a microcontroller: nothing is vectorised, and RAM is worth more than time
        runtime="portable",
        arch="any",
        lanes=1,
        align=16,
        registers=32,
        depthwise_rows=4,
        decodings=_PORTABLE,
        workspace_price=1 / 8,
        slack=1 / 16,
    ),
    Target(
        name="avx512",
        arch="x86_64",
        lanes=16,
        align=64,
        registers=32,
        depthwise_rows=14,
        decodings=(
            Decoding("flyte24", 1.4, 1.1, 11),
            Decoding("flyte16", 0.25, 0.15, 11),
            Decoding("flyte8", 0.25, 0.2, 8),
            Decoding("int8", 0.25, 0, 0),
            Decoding("int4", 0.8, 0, 0),
            Decoding(QUANTISED, 1.2, 1.2, 4),
        ),
        halvable=True,
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
        depthwise_rows=10,
        decodings=(
            Decoding("flyte24", 0.6, 0.5, 16),
            Decoding("flyte16", 0.2, 0.1, 14),
            Decoding("flyte8", 0.2, 0.1, 11),
            Decoding("int8", 0.2, 0, 0),
            Decoding("int4", 0.4, 0, 0),
            Decoding(QUANTISED, 1.2, 1.2, 6),
        ),
        flags=("-mavx2", "-mfma"),
        guard="__AVX2__",
        cpu_flags=("avx2", "fma"),
    ),
    Target(
        name="neon",
        in_order_runtime="_in_order",
        arch="aarch64",
        lanes=4,
        align=16,
        registers=32,
        depthwise_rows=8,
        decodings=(
            Decoding("flyte24", 2.5, 0.7, 12),
            Decoding("flyte16", 0.6, 0.15, 11),
            Decoding("flyte8", 1.4, 0.3, 8),
            Decoding("int8", 2, 0, 0),
            Decoding("int4", 3, 0, 0),
            Decoding(QUANTISED, 4, 2.5, 4),
        ),
        guard="__ARM_NEON",
        cpu_flags=("asimd",),
    ),
    Target(
        name="neon_armv7",
        arch="armv7l",
        lanes=4,
        align=16,
        registers=16,
        depthwise_rows=6,
        decodings=(
            Decoding("flyte24", 2.7, 1, 15),
            Decoding("flyte16", 1, 0.3, 11),
            Decoding("flyte8", 2, 0.5, 10),
            Decoding("int8", 4, 0, 0),
            Decoding("int4", 5, 0, 0),
            Decoding(QUANTISED, 6, 2, 6),
        ),
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
        depthwise_rows=8,
        decodings=(
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
    ),
)

TARGETS: Mapping[str, Target] = MappingProxyType({row.name: row for row in _ROWS})
