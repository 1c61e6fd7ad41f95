"""Which layers workers share, and how."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.step import Share
from edgeconv.kernels.algorithms import retiled
from edgeconv.kernels.lowering.calls import constants_as_blobs
from edgeconv.kernels.lowering.splits import splits_of
from edgeconv.target.price import Machine
from edgeconv.target.price.operands import between_neighbours
from edgeconv.target.price.sharing import best
from edgeconv.target.targets import Target


def share_out(choice: Choice, target: Target, machine: Machine) -> Choice:
    """``choice`` with the layers shared that are predicted to gain by it, among the team of
    ``machine``; layers that stream rows stay as they are."""
    if machine.team is None:
        return choice
    constants = chain.from_iterable(layer.blobs for layer in choice.layers)
    size = sum(blob.bytes for blob in constants)
    layers, steps = list(choice.layers), []
    for step in choice.steps:
        if step.stream_rows:
            steps.append(step)
            continue
        (index,) = step.layers
        layers[index], shares = _shared(choice, layers[index], target, machine, size)
        steps.append(replace(step, workers=max(1, len(shares)), shares=shares))
    return replace(choice, layers=tuple(layers), steps=tuple(steps))


def _shared(
    choice: Choice, layer: Layer, target: Target, machine: Machine, constants: int
) -> tuple[Layer, tuple[Share, ...]]:
    """The layer, maybe with loops of other lengths, and what workers compute of it."""
    team = machine.team
    assert team is not None
    if layer.free_if_aliased and any(alias.exact for alias in layer.aliases):
        return layer, ()  # mostly nothing is called
    operands = between_neighbours(layer, choice.graph.tensors, constants)
    ways, other = [layer], retiled(layer, choice.graph, target, len(team.speeds))
    ways += [constants_as_blobs(other, choice.graph)] if other else []
    found = [best(way, splits_of(way, choice.isa), operands, machine, team) for way in ways]
    way, least = min(zip(ways, found, strict=True), key=lambda each: each[1].seconds)
    return (_apart(way), least.shares) if least.shares else (layer, ())


def _apart(layer: Layer) -> Layer:
    """A result does not lie over rows of the input that another worker has yet to read."""
    return replace(layer, aliases=tuple(a for a in layer.aliases if not a.overlaps))
