"""Layers that take turns, so that memory holds some rows of what lies between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, pairwise

from edgeconv.choose.select import lowered
from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.step import Step, least_rings
from edgeconv.targets import Target


def joins(choice: Choice) -> Iterator[tuple[int, int, str]]:
    """Neighbouring steps that can be one: the first layer, how many there are, and what lies
    between the two steps."""
    graph, layers = choice.graph, choice.layers
    reads = Counter(chain.from_iterable(layer.node.reads() for layer in layers))
    reads.update(graph.outputs)
    for step, after in pairwise(choice.steps):
        maker, reader = layers[step.layers[-1]], layers[after.layers[0]]
        name = maker.node.output
        if (
            maker.divides
            and reader.divides
            and reader.node.inputs[0] == name
            and reads[name] == 1
            and not maker.node.epilogue.residual  # whose rows are not those of a ring
        ):
            yield step.layers[0], len(step.layers) + len(after.layers), name


def take_turns(choice: Choice, target: Target, first: int, count: int, turn: int) -> Choice | None:
    """``choice`` with ``count`` layers from ``first`` on as one step of ``turn`` rows per turn.

    Each must read the one before (`joins`).  None where one of them computes all rows at once, or
    a kernel for rings other sums.
    """
    numbers = range(first, first + count)
    own = [choice.layers[i] for i in numbers]
    divides = [layer.divides for layer in own if layer.divides]
    if len(divides) < count:
        return None
    turn = min(turn, divides[-1].rows)
    rings = least_rings(divides, turn)
    held = {
        layer.node.output: replace(choice.graph[layer.node.output], ring=rows)
        for layer, rows in zip(own, rings, strict=False)
    }
    graph = choice.graph.with_tensors(held)
    reads = Counter(chain.from_iterable(layer.node.reads() for layer in own))
    made = [
        _in_turn(lowered(layer.node, graph, target), reads if layer is own[-1] else {})
        for layer in own
    ]
    if any(_sums(new) != _sums(old) for new, old in zip(made, own, strict=True)):
        return None
    layers = (*choice.layers[:first], *made, *choice.layers[first + count :])
    alone = {i: Step((i,)) for i in range(len(layers))}
    others = (step for step in choice.steps if step.turn and step.layers[0] not in numbers)
    several = {step.layers[0]: step for step in others}
    several[first] = Step(tuple(numbers), turn)
    inside = set(chain.from_iterable(step.layers for step in several.values()))
    steps = tuple(several.get(i, alone[i]) for i in alone if i in several or i not in inside)
    return replace(choice, graph=graph, layers=layers, steps=steps)


def _in_turn(layer: Layer, reads: Mapping[str, int]) -> Layer:
    """``layer`` without permissions to overwrite what a later turn reads again.

    ``reads``: of the last layer how often its step reads a tensor.  What only that one reads, and
    not as its first input, is the residual: rows that it also writes.
    """
    mine = [
        alias
        for alias in layer.aliases
        if not alias.exact and reads.get(alias.input) == 1 and alias.input != layer.node.inputs[0]
    ]
    return replace(layer, aliases=tuple(mine))


def _sums(layer: Layer) -> tuple[str, int]:
    """What decides in which order a kernel adds up."""
    return layer.algorithm, layer.candidate.summed_apart if layer.candidate else 0
