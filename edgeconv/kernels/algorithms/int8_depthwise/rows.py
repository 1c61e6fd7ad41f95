"""How each instruction set multiplies the words of a depthwise convolution: a frozen row each.

A word has ``rows`` neighbouring elements of one channel (`words.WordShape`).
What the functions do is in ``runtime_c/isa/ec_dot_portable.h``.
"""

from __future__ import annotations

from dataclasses import dataclass

from edgeconv.target.targets import Target

WORD_BYTES = 4
FOUR = 4  # vectors that are packed, summed and written together
_LANE = 4  # words of 16 bytes, within which the bytes of four vectors are brought together


@dataclass(frozen=True, slots=True)
class DotRow:
    """``name``: of its header, as ``ec_dot_<name>.h``; ``integers``: of that of vectors of integers
    which it needs.  ``element``: type of a word's ``rows`` elements.  ``shift``: so much more is
    stored of inputs than they are.  ``pairs``: a vector has the first two elements of all its
    words, then the last two, and products of two elements are added in 16 bits, for which -128 must
    not stand twice in a filter.  ``feature``: what a core must have beyond its ISA.  Slots of a
    vector: ``add``, to multiply words and add; ``pack``, to make them of bytes."""

    isa: str
    name: str
    integers: str
    rows: int
    add: float
    pack: float
    shift: int = 0
    pairs: bool = False
    feature: str = ""

    @property
    def element(self) -> str:
        """The numpy type of an element."""
        return "int8" if self.rows == WORD_BYTES else "int16"

    @property
    def headers(self) -> tuple[str, str]:
        """As kernels include them."""
        return f"../isa/ec_integers_{self.integers}.h", f"../isa/ec_dot_{self.name}.h"


# Those that need a feature first.  Slots are instructions of the kernel, counted (`python
# bench/depthwise_windows.py`): a product, or two, and its share of loads of a word and a filter;
# to pack, loads, interleaving and stores, of four vectors together.
ROWS = (
    DotRow(*("avx512", "vnni", "avx512"), 4, 2.0, 4.5, shift=128, feature="int8_dot"),
    DotRow(*("avx512", "avx512", "avx512"), 2, 3.0, 4.0),
    DotRow(*("avx2", "avx2", "avx2"), 2, 2.5, 4.0),
    DotRow(*("neon", "sdot", "neon"), 4, 2.0, 4.0, feature="int8_dot"),
    DotRow(*("neon", "neon", "neon"), 4, 4.0, 4.0, pairs=True),
    DotRow(*("neon_armv7", "neon", "neon"), 4, 5.5, 9.0, pairs=True),
    DotRow(*("power10", "power10", "power10"), 4, 2.0, 4.5, shift=128),
    DotRow(*("portable", "portable", "portable"), 4, 8.0, 12.0),
)


def integers_header(target: Target) -> str:
    """That of a target's vectors of integers, as kernels include it."""
    found = row_of(target)
    return found.headers[0] if found else ROWS[-1].headers[0]


def row_of(target: Target) -> DotRow | None:
    """The row of a target; None where it has none."""
    able = (row for row in ROWS if row.isa == target.name)
    return next((row for row in able if not row.feature or row.feature in target.features), None)


def together(channels: int, lanes: int, *, four: bool) -> list[int]:
    """The channels of each stretch that the kernel takes at once: four vectors as often as they
    fit, if it takes ``four`` at all, then one, which the last may not fill."""
    fit = channels // (FOUR * lanes) if four else 0
    return [FOUR * lanes] * fit + [lanes] * -(-(channels - fit * FOUR * lanes) // lanes)


def channel_order(stretch: int, lanes: int) -> list[int]:
    """The channels of a stretch in the order of its vectors (``ec_istore_s8_four``)."""
    if stretch == lanes:
        return list(range(lanes))
    side = min(_LANE, lanes)
    return [
        FOUR * side * block + side * vector + lane
        for vector in range(FOUR)
        for block in range(lanes // side)
        for lane in range(side)
    ]
