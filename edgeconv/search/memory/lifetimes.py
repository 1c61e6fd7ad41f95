"""Lifetimes: from the step that writes a tensor to the last one that reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from edgeconv.ir.check import InvariantError
from edgeconv.search.memory.program import Program


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
    which one is last read at the step that writes the other are live together at that step.  What
    layers that stream rows read and write is in use from the first of them to the last.
    """
    first = dict.fromkeys(program.inputs, -1)
    last: dict[str, int] = dict(first)
    spans = step_spans(program, order)
    for layer in order:
        start, end = spans[layer]
        for name in program.reads[layer]:
            last[name] = end
        for name in program.writes[layer]:
            first[name], last[name] = start, end
    for name in program.outputs:
        last[name] = len(order)
    return {name: Span(first[name], last[name]) for name in program.sizes}


def workspace_spans(program: Program, order: Sequence[int]) -> Mapping[int, Span]:
    """Layer -> when its workspace is in use, if it has one: while it runs, or all of its step."""
    spans = step_spans(program, order)
    return {
        layer: spans[layer] if layer in program.lasting else Span(position, position)
        for position, layer in enumerate(order)
        if program.workspaces[layer]
    }


def step_spans(program: Program, order: Sequence[int]) -> Mapping[int, Span]:
    """Layer -> where in ``order`` the step begins and ends that it is part of.

    Raises InvariantError when ``order`` puts something between the layers of a step.
    """
    at = {layer: position for position, layer in enumerate(order)}
    found: dict[int, Span] = {}
    for layers in program.steps:
        start = at[layers[0]]
        if [at[layer] for layer in layers] != list(range(start, start + len(layers))):
            raise InvariantError(f"memory: step {layers} is torn in the order")
        found |= dict.fromkeys(layers, Span(start, start + len(layers) - 1))
    return found
