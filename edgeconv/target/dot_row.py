"""How an instruction set multiplies the words of a depthwise convolution: a frozen row.

A word has ``rows`` neighbouring elements of one channel (`kernels.algorithms.int8_depthwise`).
What the functions do is in ``ec_dot_portable.h``, beside the portable backend.
"""

from __future__ import annotations

from dataclasses import dataclass

WORD_BYTES = 4
_PAIR = 2


@dataclass(frozen=True, slots=True)
class DotRow:
    """How an instruction set multiplies words of a depthwise convolution.  ``name``: of its header,
    as ``ec_dot_<name>.h``.  ``element``: type of a word's ``rows`` elements.  ``shift``: so much
    more is stored of inputs than they are.  ``pairs``: a vector has the first two elements of all
    its words, then the last two, and products of two elements are added in 16 bits, for which -128
    must not stand twice in a filter.  ``apart``: a vector has the first elements of all its words,
    then the second ones, and so on.  ``grouped``: four vectors that are taken together are one that
    is four times as long.  ``feature``: what a core must
    have beyond its ISA.  Slots of a vector: ``add``, to multiply words and add; ``pack``, to make
    them of bytes.  Slots are instructions of the kernel, counted (`python
    bench/depthwise_windows.py`): a product, or two, and its share of loads of a word and a filter;
    to pack, loads, interleaving and stores, of four vectors together."""

    name: str
    rows: int
    add: float
    pack: float
    shift: int = 0
    pairs: bool = False
    apart: bool = False
    grouped: bool = False
    feature: str = ""

    @property
    def together(self) -> int:
        """Elements of a word that lie together in a vector."""
        return 1 if self.apart else _PAIR if self.pairs else self.rows

    @property
    def element(self) -> str:
        """The numpy type of an element."""
        return "int8" if self.rows == WORD_BYTES else "int16"

    @property
    def header(self) -> str:
        """As kernels include it."""
        return f"ec_dot_{self.name}.h"
