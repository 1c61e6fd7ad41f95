"""Layers stream rows where that makes the arena smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from edgeconv.ir.candidate import EXACTLY
from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.memory import MemoryMap, Place, Region
from edgeconv.ir.step import Step
from edgeconv.search.choose import joins, stream_rows_of
from edgeconv.target.targets import Target

# Rows of the last result per round: with one there are more calls, and little is saved, but where
# all rows are short.
STREAM_ROWS = 2

# The step that so many layers from the first on may be; None where they may not.
StepOf = Callable[[int, int], Step | None]


def streamed_for_memory(
    choice: Choice,
    target: Target,
    place: Callable[[Choice], MemoryMap],
    step_of: StepOf | None = None,
) -> tuple[Choice, MemoryMap]:
    """``choice`` with layers joined to steps one pair after the other, as ``place`` places it.

    Each time it is the pair that leaves the smallest arena, and of equal ones the fewest bytes in
    use at the steps that need most; none where all would leave more.  Steps of integers may also
    stream row by row.  Only what lies in memory where most of it is in use is looked at, so
    that few plans are made.

    ``step_of``: the step of so many layers from the first on, None where it is to be none; by
    default one of few rows per round, whatever time that takes.
    """
    memory = place(choice)
    least = _loads(choice, memory)
    while True:
        found: list[tuple[tuple[int, ...], int, Choice, MemoryMap]] = []
        for first, step in _at_the_peak(choice, memory, step_of):
            made = stream_rows_of(
                choice, target, first, len(step.layers), step.stream_rows, step.shares
            )
            if made:
                planned = place(made)
                found.append((_loads(made, planned), len(found), made, planned))
        if not found or min(found)[0] >= least:
            return choice, memory
        least, _, choice, memory = min(found)


def _at_the_peak(
    choice: Choice, memory: MemoryMap, step_of: StepOf | None
) -> Iterator[tuple[int, Step]]:
    """The joins of layers between which lies what is in use where most bytes are: the first layer,
    and the step."""
    loads = _by_position(choice, memory)
    peak = max(loads)
    for first, count, name in (*joins(choice), *(() if step_of else _slower(choice))):
        place = memory.places[name]
        if place.region is Region.ARENA and peak in loads[place.first : place.last + 1]:
            few = Step(
                tuple(range(first, first + count)), 1 if choice.graph[name].ring else STREAM_ROWS
            )
            step = step_of(first, count) if step_of else few
            if step:
                yield first, step


def _slower(choice: Choice) -> Iterator[tuple[int, int, str]]:
    """As `joins`: the steps of layers of integers that stream rows with more than one row."""
    for step in choice.steps:
        if step.stream_rows > 1 and all(_by_any_row(choice.layers[i]) for i in step.layers):
            name = choice.layers[step.layers[0]].node.output  # lives as long as all rings
            yield step.layers[0], len(step.layers), name


def _by_any_row(layer: Layer) -> bool:
    """A row costs as much alone as with others: it is computed in integers, or copied."""
    candidate = layer.candidate
    return candidate.compute in EXACTLY if candidate else layer.node.op == "Convert"


def _loads(choice: Choice, memory: MemoryMap) -> tuple[int, ...]:
    """What does not fit, the arena, then the bytes in use at every position, the most first."""
    excess = sum(bank.excess for bank in memory.banks)
    return excess, memory.arena_bytes, *sorted(_by_position(choice, memory), reverse=True)


def _by_position(choice: Choice, memory: MemoryMap) -> list[int]:
    """Bytes of the arena in use at every position of the order, those shared counted twice."""
    loads = [0] * len(memory.order)
    everything: tuple[Place, ...] = (*memory.places.values(), *memory.workspaces.values())
    for place in everything:
        if place.region is Region.ARENA:
            for position in range(max(place.first, 0), min(place.last + 1, len(loads))):
                loads[position] += -(-place.bytes // choice.align) * choice.align
    return loads
