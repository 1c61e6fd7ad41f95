"""Linear functions of vectors as straight-line code: what generated kernels are made of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Terms = tuple[tuple[Fraction, str], ...]  # factors and names of what they multiply


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
    """

    name: str
    does: str
    inputs: int
    sums: tuple[Sum, ...]
    outputs: tuple[str, ...]

    @property
    def enumerator(self) -> str:
        """What C calls it."""
        return f"EC_ROUTINE_{self.name.upper()}"

    @property
    def operations(self) -> int:
        """Vector instructions: additions and multiply-adds, and what begins a sum with a factor."""
        return sum(len(each.terms) - (each.terms[0][0] == 1) for each in self.sums)

    def matrix(self) -> tuple[tuple[Fraction, ...], ...]:
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
