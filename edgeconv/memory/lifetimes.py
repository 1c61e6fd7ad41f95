"""Lifetimes: from the step that writes a tensor to the last one that reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from edgeconv.memory.program import Program


class Span(NamedTuple):
    """Steps ``first`` to ``last``, both inclusive.

    -1 is before the first step, where the caller fills the inputs; ``len(order)`` is after the
    last, where the caller reads the outputs.
    """

    first: int
    last: int

    def overlaps(self, other: Span) -> bool:
        return self.first <= other.last and other.first <= self.last


def lifetimes(program: Program, order: Sequence[int]) -> dict[str, Span]:
    """The lifetime of every tensor when the layers run in ``order``.

    A tensor that nothing reads still needs its place at the step that writes it.  Two tensors of
    which one is last read at the step that writes the other are live together at that step.
    """
    first = dict.fromkeys(program.inputs, -1)
    last: dict[str, int] = dict(first)
    for step, layer in enumerate(order):
        for name in program.reads[layer]:
            last[name] = step
        for name in program.writes[layer]:
            first[name] = last[name] = step
    for name in program.outputs:
        last[name] = len(order)
    return {name: Span(first[name], last[name]) for name in program.sizes}
