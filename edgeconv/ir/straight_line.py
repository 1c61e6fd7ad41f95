"""Linear functions of vectors as straight-line code: what generated kernels are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

Terms = tuple[tuple[Fraction, str], ...]  # factors and names of what they multiply
Matrix = tuple[tuple[Fraction, ...], ...]


class Elements(Enum):
    """The element type of the vectors that a routine computes on."""

    FLOAT32 = "float32"
    INT16 = "int16"
    INT32 = "int32"


@dataclass(frozen=True, slots=True)
class Sum:
    """``name`` = the sum of ``terms``, which are in the order in which they are added."""

    name: str
    terms: Terms


@dataclass(frozen=True, slots=True)
class Routine:
    """``outputs`` of ``inputs`` by way of ``sums``, each of which uses inputs and sums before it.

    ``name``: unique among the routines of a program.  ``does``: a line on what it computes.
    Inputs are ``x0``, ``x1`` and so on; an output may be an input, and is one of them or a sum.
    ``of``: what is computed; factors are whole where that is of integers.
    """

    name: str
    does: str
    inputs: int
    sums: tuple[Sum, ...]
    outputs: tuple[str, ...]
    of: Elements = Elements.FLOAT32

    @property
    def enumerator(self) -> str:
        """What C calls it."""
        return f"EC_ROUTINE_{self.name.upper()}"

    @property
    def operations(self) -> int:
        """Vector instructions: additions and multiply-adds, and what begins a sum with a factor."""
        return sum(len(each.terms) - (each.terms[0][0] == 1) for each in self.sums)

    @property
    def roundings(self) -> int:
        """At most so many lie between an input and an output: a sum rounds products, if it has any,
        and then every addition."""
        known = {f"x{i}": 0 for i in range(self.inputs)}
        for each in self.sums:
            multiplied = any(abs(factor) != 1 for factor, _ in each.terms)
            own = len(each.terms) - 1 + multiplied
            known[each.name] = own + max(known[name] for _, name in each.terms)
        return max(known[name] for name in self.outputs)

    def magnitudes(self) -> Matrix:
        """`matrix`, but for magnitudes in place of all factors: what sums are made of before any of
        it cancels."""
        sums = (
            Sum(each.name, tuple((abs(factor), name) for factor, name in each.terms))
            for each in self.sums
        )
        return replace(self, sums=tuple(sums)).matrix()

    def matrix(self) -> Matrix:
        """What it computes, exactly: a row of factors of the inputs for each output."""
        zero = Fraction(0)
        known = {
            f"x{i}": tuple(Fraction(int(i == j)) for j in range(self.inputs))
            for i in range(self.inputs)
        }
        for each in self.sums:
            rows = [[factor * v for v in known[name]] for factor, name in each.terms]
            known[each.name] = tuple(sum(column, zero) for column in zip(*rows, strict=True))
        return tuple(known[name] for name in self.outputs)
