"""What planners and the emitter must know of a micro-kernel: a frozen row, in its backend's file.

A micro-kernel sums products into a register tile of ``mr`` rows by ``nv`` vectors.  What its
functions do is in ``runtime_c/kernels/ec_micro_kernel.h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Tile:
    """A register tile: ``rows`` that are broadcast by ``vectors`` of the target's lanes.

    Where pixels are strided rows, vectors are of filters; in the outer product of SConv rows are
    filters (N_f) and vectors are of output pixels (N_win).  ``beside``: slots of a step in which it
    multiplies nothing, as where it leaves too few registers to load ahead.
    """

    rows: int
    vectors: int
    beside: float = 0.0


class Lies(Enum):
    """How the operand of the tile's rows lies in memory.

    ``PACKED``: a step's groups of all rows side by side.  ``STRIDED``: each row on its own, its
    steps side by side.  ``EITHER``: the kernel takes both.
    """

    PACKED = "packed"
    STRIDED = "strided"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class Interleave:
    """How words of filters that follow each other lie in memory, of every four filters.

    ``elements``: of each byte in turn, the filter and the element.  There are 16 for each of the
    ``words``; those 16 of all vectors of a tile lie before the next.
    """

    words: int
    elements: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Outer:
    """Whole convolutions in the mode of a matrix unit (``backends/sme/ec_outer.h``), by
    ``header``.  In slots, for as many results as a vector of the target has lanes: ``result`` to
    bring them to memory, ``function`` for each of an epilogue's before that."""

    header: str
    result: float
    function: float


@dataclass(frozen=True, slots=True)
class MicroKernel:
    """A row of the table.

    ``prefix``: of its functions in C, as ``ec_<prefix>_mac``.  ``a``, ``b``: element types of rows
    and vectors, where they are read; ``sums``: of the accumulators.  ``k``: elements of a
    group, which a step multiplies at once and which take a word of four bytes.  ``tiles``: the
    largest register tile for each number of vectors; accumulators and operands together fit the
    register file, so that nothing spills.  ``row_multiple``: their rows come in multiples of this.
    ``rate``: so often is the group of a row multiplied by a vector of groups in a slot, the time of
    a vector multiply-add of float32.  ``latency``: slots until a sum can be added to.
    ``groups_per_load``: so many groups of a strided row are one load where they lie side by side.
    ``sliding_groups``: of strided rows so many groups apart, each the one before from these groups
    on, what rows share is loaded once; 0: it makes no difference.  ``whole_windows``: windows of
    few channels may be packed as rows of it.
    ``vectorised``: the share of the slots so reckoned that remains where compilers make vectors of
    scalars.  ``unsigned``: rows are int8 that are packed as bytes 128 more; what that adds, sums
    must start without.  ``largest_pair``: what two neighbouring filters of the same sign may be
    together in magnitude, or the sum of their products does not fit; 0: whatever there is.
    ``pack``: slots to bring as many int8 of a pixel to the panel as a vector has floats.
    ``apart``: slots that a vector of sums takes longer to bytes where the tile's vectors are no
    multiple of four, which are stored together.
    ``two_fit``: any two products are added in 16 bits, for which -128 must not stand twice in a
    filter.  ``interleaves``: of steps that follow each other as many as fit the first are
    interleaved so, then the next; others are words of one filter after the other.
    ``memory_sums``: its sums are memory, not C values in registers, and it has a mode of its own,
    which takes ``enter`` slots to enter and leave; meanwhile the sums of convolutions wait in
    ``waiting`` bytes at most, or in as many as a line of pixels under a tile of filters takes;
    ``through``: slots to bring a vector of sums to memory and back, and ``through_far`` besides
    where more bytes wait than that.  ``permission``: its unit is not there for every process, and
    init asks for it: ``ec_permission`` of its header.  ``at_once``: so many steps that follow
    each other are one product, and fewer take as long.  ``even_rows``: to change the number of rows
    takes long, so that strips of a line have the same, one beyond its last pixel where need be.
    ``k_multiple``: steps of channels come in multiples of this.  ``outer``: what its unit has for
    direct convolution, beside jobs.  ``counted``: the same row in instructions, for boards that
    state no rates: a slot is an instruction there.
    ``header``: beside the ISA's own, as kernels include it.  ``feature``: what
    a core must have beyond its ISA, by its name in a board's file; ``flags`` and ``cpu_flags`` are
    then what compilers need and the words of /proc/cpuinfo that tell that the running CPU has it.
    """

    isa: str
    prefix: str
    lies: Lies
    tiles: tuple[Tile, ...]
    latency: int
    a: str = "float32"
    b: str = "float32"
    sums: str = "float32"
    k: int = 1
    row_multiple: int = 1
    rate: float = 1.0
    vectorised: float = 1.0
    unsigned: bool = False
    largest_pair: int = 0
    pack: float = 0.0
    apart: float = 0.0
    two_fit: bool = False
    interleaves: tuple[Interleave, ...] = ()
    header: str = ""
    feature: str = ""
    flags: tuple[str, ...] = ()
    cpu_flags: tuple[str, ...] = ()
    groups_per_load: int = 1
    sliding_groups: int = 0
    whole_windows: bool = False
    memory_sums: bool = False
    enter: float = 0.0
    through: float = 0.0
    through_far: float = 0.0
    waiting: int = 0
    k_multiple: int = 1
    permission: bool = False
    at_once: int = 1
    even_rows: bool = False
    outer: Outer | None = None
    counted: MicroKernel | None = None

    def beside(self, rows: int, vectors: int) -> float:
        """Slots of a step of so many in which nothing is multiplied."""
        same = (t.beside for t in self.tiles if (t.rows, t.vectors) == (rows, vectors))
        return next(same, 0.0)

    @property
    def name(self) -> str:
        """Unique in the table."""
        return f"{self.isa} {self.prefix}"

    @property
    def enumerator(self) -> str:
        """What C calls it."""
        return f"EC_ROW_{self.prefix.upper()}"

    def groups(self, channels: int) -> int:
        """Groups that so many channels make, those that fill up ``k_multiple`` included."""
        groups = -(-channels // self.k)
        return -(-groups // self.k_multiple) * self.k_multiple

    def depth_taken(self, run: int) -> int:
        """Steps that a run of so many takes the time of."""
        return -(-run // self.at_once) * self.at_once

    @property
    def element_bytes(self) -> int:
        """The bytes of int8 as rows of it are packed; 0 of other types."""
        return 4 // self.k if self.sums == "int32" else 0

    @property
    def any_int16(self) -> bool:
        """Whether it multiplies pairs of any int16, summed modulo 2^32, not of widened int8 alone:
        it is called s16, or something that begins so and an underscore."""
        return self.prefix.partition("_")[0] == "s16"

    @property
    def shift(self) -> int:
        """What rows of it are packed more."""
        return 128 if self.unsigned else 0


def tiles(*shapes: tuple[int, int]) -> tuple[Tile, ...]:
    """Register tiles of these rows and vectors."""
    return tuple(Tile(rows, vectors) for rows, vectors in shapes)


def int8_row(
    isa: str,
    lies: Lies,
    largest: tuple[Tile, ...],
    *,
    prefix: str = "s8",
    latency: int = 8,
    rate: float = 1.0,
    k: int = 4,
    row_multiple: int = 1,
    unsigned: bool = False,
    largest_pair: int = 0,
    pack: float = 1.0,
    apart: float = 0.0,
    two_fit: bool = False,
    interleaves: tuple[Interleave, ...] = (),
    header: str = "",
    feature: str = "",
    flags: tuple[str, ...] = (),
    cpu_flags: tuple[str, ...] = (),
    groups_per_load: int = 1,
    sliding_groups: int = 0,
    whole_windows: bool = False,
) -> MicroKernel:
    """A row of int8, which is widened where ``k`` is 2, summed in int32; of ``header``, if not the
    ISA's own of int8.  ``pack``: counted; bytes are copied by vectors, if nothing else is said."""
    stored = "int8" if k == 4 else "int16"
    return MicroKernel(
        isa,
        prefix,
        lies,
        largest,
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
        apart=apart,
        two_fit=two_fit,
        interleaves=interleaves,
        header=f"ec_int8_{header or isa}.h",
        feature=feature,
        flags=flags,
        cpu_flags=cpu_flags,
        groups_per_load=groups_per_load,
        sliding_groups=sliding_groups,
        whole_windows=whole_windows,
    )


INT16_PREFIX = "s16"  # of the rows that multiply pairs of int16; those of int8 may have it, too


def int16_row(
    isa: str,
    lies: Lies,
    *shapes: tuple[int, int],
    rate: float,
    latency: int = 8,
    row_multiple: int = 1,
    interleaves: tuple[Interleave, ...] = (),
    header: str = "",
    feature: str = "",
    flags: tuple[str, ...] = (),
    cpu_flags: tuple[str, ...] = (),
) -> MicroKernel:
    """A row that multiplies pairs of int16, summed modulo 2^32: a word holds two channels.  Its
    largest register tiles have these rows and vectors."""
    return MicroKernel(
        isa,
        INT16_PREFIX,
        lies,
        tiles(*shapes),
        latency,
        "int16",
        "int16",
        "int32",
        2,
        row_multiple,
        rate,
        interleaves=interleaves,
        header=f"ec_int16_{header or isa}.h",
        feature=feature,
        flags=flags,
        cpu_flags=cpu_flags,
    )
