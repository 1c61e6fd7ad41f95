"""Which layers workers share, and how."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.step import Step
from edgeconv.lowering.splits import splits_of
from edgeconv.price import Machine
from edgeconv.price.operands import between_neighbours
from edgeconv.price.sharing import best


def share_out(choice: Choice, machine: Machine) -> Choice:
    """``choice`` with the layers shared that are predicted to gain by it, among the team of
    ``machine``; layers that take turns are computed by one worker."""
    if machine.team is None:
        return choice
    constants = chain.from_iterable(layer.blobs for layer in choice.layers)
    size = sum(blob.bytes for blob in constants)
    layers, steps = list(choice.layers), []
    for step in choice.steps:
        shared = step if step.turn else _shared(choice, step, machine, size)
        for index in shared.layers if shared.shares else ():
            layers[index] = _apart(layers[index])
        steps.append(shared)
    return replace(choice, layers=tuple(layers), steps=tuple(steps))


def _shared(choice: Choice, whole: Step, machine: Machine, constants: int) -> Step:
    layer, team = choice.layers[whole.layers[0]], machine.team
    assert team is not None
    views = (alias for alias in layer.aliases if alias.exact)
    if layer.free_if_aliased and any(views):
        return whole  # mostly nothing is called
    operands = between_neighbours(layer, choice.graph.tensors, constants)
    found = best(layer, splits_of(layer, choice.isa), operands, machine, team)
    return replace(whole, workers=max(1, len(found.shares)), shares=found.shares)


def _apart(layer: Layer) -> Layer:
    """A result does not lie over rows of the input that another worker has yet to read."""
    return replace(layer, aliases=tuple(a for a in layer.aliases if not a.overlaps))
