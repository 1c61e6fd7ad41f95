"""An instruction set that kernels exist for: a frozen row, in the file of its backend.

A row says what the emitter and the chooser must know of its header ``ec_isa_<name>.h``; what a
*board* adds (compiler, clock, caches, memory) is in its TOML file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from edgeconv.ir.encoding import Encoding
from edgeconv.target.byte_vectors import ByteVectors
from edgeconv.target.cache import ASSUMED_LINE, Cache
from edgeconv.target.dot_row import DotRow
from edgeconv.target.micro_kernel import MicroKernel, Tile

STRIPS, PANELS = "tile", "f32"  # the rows that every ISA has, over strips and over packed panels
ANY = "any"  # of `arch`: portable C
DSP = "dsp"  # of `features`: products of pairs of int16, and sums of them (Armv7E-M and later)
DUAL_ISSUE = "dual issue"  # two instructions in a cycle, in order
MAXIMA = "maxima"  # of float32 numbers in an instruction: the FPU of Cortex-M7 and Armv8-M
# The same: instructions of 16 bits alone, which reach eight registers; float32 in functions
THUMB_1, SOFT_FLOAT = "thumb-1", "soft float"
RISCV = "risc-v"  # of `features`: RV32, an instruction a cycle
HELIUM = (
    "helium"  # of `features`: vectors of integers of Armv8.1-M, from which the rest gains nothing
)
# of `features`, and a key of board files: a vector is computed in two halves, of which kernels
# leave out the upper one
HALVES = "halves"
FLOAT16 = "float16"  # of `features`, and a key of board files: vectors of it
# What of a board is the same for all elements.
_OF_CORE = (
    *("clock_hz", "loads_per_cycle", "loads_per_multiply_add", "load_cycles", "memory_cycles"),
    *(
        "in_order",
        "prefetch",
        "prefetch_far",
        "streams",
        "workspaces",
        "workspace_price",
        "features",
    ),
)
# And what counts elements, or bytes, twice as much in words of two bytes.
_IN_WORDS = (
    *("macs_per_cycle", "line_bytes", "ram_bandwidth", "constants_bandwidth"),
    "memory_bytes_per_cycle",
)
_HALF_VECTORS = "-DEC_HALF_VECTORS"  # what ISA headers call it
_SOFT_RATE = 0.00377  # of `__aeabi_fmul` and `__aeabi_fadd` on a Cortex-M0: boards/microbit.toml
C_INTEGERS = "ec_integers_portable.h"  # vectors of int32 in C, of one element
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
    ``cpu_flags``: words of /proc/cpuinfo that tell that the running CPU has it; ``mandatory``: the
    machine, as it calls itself, on which every CPU has it.  ``granted``: whether the operating
    system lets this process have what the CPU has; None where it does without being asked.
    ``fpus``: names of Arm's -mfpu that include it, and those of the same unit without.
    ``emulated``: options of QEMU's user mode under which its CPU has it.  ``scalable``: the core
    decides how long its vectors are, and its header has ``ec_vector_bytes`` to ask; programs refuse
    to run where that is not ``EC_VECTOR_BYTES``.
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
    multiplied, too.  ``streams`` of lines that its prefetchers follow at a time,
    None where the board does not say.  ``features``: what it has beyond its
    ISA, as rows of the table of micro-kernels name it.  ``decodings``: what storage formats cost;
    one that is not there costs nothing.  ``workspaces``: kernels may take some for speed.
    ``workspace_price``: the part of a kernel's time that its workspace must save, beside one that
    does without: where the ISA is that of microcontrollers, RAM is worth more than a little time.
    ``is_scalar``: it is a microcontroller, whose loops run as they are written.
    ``kernels``: its micro-kernels; the tile of strips (``ec_tile``), and what multiplies packed
    panels.  ``byte_rows``, ``dots``: what it does with vectors of int8 and with words of depthwise
    filters, what needs a feature first.  ``integers``: its header of vectors of int32.
    ``element_bytes``: of its vectors of float.
    ``float16``: the row of its vectors of that, whose kernels compute in words of two bytes.
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
    mandatory: str = ""
    granted: Callable[[], bool] | None = None
    fpus: tuple[tuple[str, str], ...] = ()
    emulated: tuple[str, ...] = ()
    scalable: bool = False
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
    streams: int | None = None
    decodings: tuple[Decoding, ...] = ()
    workspaces: bool = True
    workspace_price: float = 0.0
    slack: float = 0.0
    features: frozenset[str] = frozenset()
    is_scalar: bool = False
    element_bytes: int = 4
    # The name stands for these, which are many: they are neither compared nor hashed.
    kernels: tuple[MicroKernel, ...] = field(default=(), compare=False, repr=False)
    byte_rows: tuple[ByteVectors, ...] = field(default=(), compare=False, repr=False)
    dots: tuple[DotRow, ...] = field(default=(), compare=False, repr=False)
    integers: str = field(default=C_INTEGERS, compare=False, repr=False)
    float16: Target | None = field(default=None, compare=False, repr=False)

    @property
    def of_float16(self) -> Target | None:
        """What kernels on vectors of float16 are chosen and priced by, on a core that has them: in
        words of two bytes, of which its caches hold twice as many as of float32."""
        row = self.float16
        if row is None or FLOAT16 not in self.features:
            return None
        return replace(
            row,
            **{name: getattr(self, name) for name in _OF_CORE},
            **{name: (rate := getattr(self, name)) and 2 * rate for name in _IN_WORDS},
            caches=tuple(cache.in_words(2) for cache in self.caches),
        )

    def decoding(self, encoding: Encoding) -> Decoding:
        """What an encoding costs; nothing if the row does not say."""
        kind = QUANTISED if encoding.scale else str(encoding)
        found = (entry for entry in self.decodings if entry.storage == kind)
        return next(found, Decoding(kind, 0, 0, 0))

    @property
    def micro_kernels(self) -> tuple[MicroKernel, ...]:
        """The micro-kernels that the core runs; as counted, where the board states no rates."""
        rated = self.macs_per_cycle is not None
        rows = (row for row in self.kernels if self._able(row.feature))
        return tuple(row if rated else row.counted or row for row in rows)

    @property
    def byte_vectors(self) -> ByteVectors:
        """The first row that the core runs."""
        return next(row for row in self.byte_rows if self._able(row.feature))

    @property
    def dot_row(self) -> DotRow | None:
        """The first row that the core runs; None of a microcontroller, which has none."""
        return next((row for row in self.dots if self._able(row.feature)), None)

    def _able(self, feature: str) -> bool:
        return not feature or feature in self.features

    def kernel(self, prefix: str) -> MicroKernel:
        """The micro-kernel of this name; KeyError where its ISA has none."""
        for row in self.kernels:
            if row.prefix == prefix:
                return row
        raise KeyError(prefix)

    def multiplying(self, elements: str) -> tuple[MicroKernel, ...]:
        """The rows for panels of these elements."""
        rows = (row for row in self.micro_kernels if row.prefix != STRIPS)
        return tuple(row for row in rows if row.a == row.b == elements)

    @property
    def float_rows(self) -> tuple[MicroKernel, ...]:
        """The rows for float32 whose depth is any number of steps."""
        return tuple(row for row in self.multiplying("float32") if row.k_multiple == 1)

    @property
    def all_kernels(self) -> tuple[MicroKernel, ...]:
        """Its micro-kernels, and those of its vectors of float16."""
        return (*self.kernels, *(self.float16.kernels if self.float16 else ()))

    @property
    def feature_flags(self) -> tuple[str, ...]:
        """What compilers need for its features, beside ``flags``."""
        rows = (row for row in self.all_kernels if row.feature and self._able(row.feature))
        halves = (_HALF_VECTORS,) if self.halvable and HALVES in self.features else ()
        return (*_together(dict.fromkeys(flag for row in rows for flag in row.flags)), *halves)

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
        slots), its loads, which a matrix unit has as wide as a group of its rows, or the latency of
        a sum, whichever takes longest; products and loads one after the other where the core does
        not do them side by side.  ``together``: groups of a row
        lie so that one load brings several of them, if the kernel's do.  ``halved``: of the last
        vector one half is computed."""
        groups, computed = -(-rows // kernel.row_multiple), vectors - halved / 2
        products = groups * kernel.row_multiple * computed / kernel.rate
        products += kernel.beside(rows, vectors)
        wide = max(1.0, kernel.row_multiple / self.lanes) if kernel.memory_sums else 1.0
        loads = groups / (kernel.groups_per_load if together else 1) + vectors / wide
        if self.lone_load_slots:
            return max(products + decoding + loads * self.lone_load_slots, kernel.latency)
        if not kernel.memory_sums:  # loads of four words take as long as those of one, or less
            loads = groups + vectors
        return max(products + decoding, loads * self.load_slots, kernel.latency)

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


# Of portable C: instructions of ec_get_as, one a cycle.
C_DECODINGS = (
    Decoding("flyte24", 4, 4, 8),
    Decoding("flyte16", 2, 2, 8),
    Decoding("flyte8", 2, 2, 8),
    Decoding("int8", 2, 0, 0),
    Decoding("int4", 4, 0, 0),
    Decoding(QUANTISED, 4, 4, 7),
)


def _together(flags: Iterable[str]) -> Iterator[str]:
    """``flags`` with what each -march adds to one architecture in a single one: of two, compilers
    heed the last."""
    extensions: dict[str, dict[str, None]] = {}
    others = []
    for flag in flags:
        base, *added = flag.split("+")
        if base.startswith("-march="):
            extensions.setdefault(base, {}).update(dict.fromkeys(added))
        else:
            others.append(flag)
    yield from ("+".join((base, *added)) for base, added in extensions.items())
    yield from others
