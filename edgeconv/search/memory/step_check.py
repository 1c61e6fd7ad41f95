"""What steps of several layers must be for their layers to stream rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import Choice, divides_of
from edgeconv.ir.step import Divides, Step, is_path, least_rings, patches_of


def check_steps(choice: Choice) -> None:
    """Raises InvariantError where steps or rings are not what they say they are."""
    if [*chain.from_iterable(step.layers for step in choice.steps)] != [*range(len(choice.layers))]:
        raise InvariantError("memory: every layer must be in one step, in the model's order")
    inside = set(chain.from_iterable(_results(choice, step) for step in choice.steps))
    for name, tensor in choice.graph.tensors.items():
        if bool(tensor.ring) != (name in inside):
            raise InvariantError(f"memory: {name!r} must be a ring between two layers of a step")
        if tensor.ring_columns and not tensor.ring:
            raise InvariantError(f"memory: {name!r} has columns of a patch and is no ring")
    reads = Counter(chain.from_iterable(layer.node.reads() for layer in choice.layers))
    reads.update(choice.graph.outputs)
    for step in choice.steps:
        if step.workers < 1 or bool(step.stream_rows) != (len(step.layers) > 1):
            raise InvariantError(f"memory: {step} streams no rows or has no workers")
        if step.stream_rows:
            _check_streaming(choice, step, reads)


def _results(choice: Choice, step: Step) -> list[str]:
    """The results of all layers but the last."""
    return [name for i in step.layers[:-1] for name in choice.layers[i].node.outputs if name]


def _check_streaming(choice: Choice, step: Step, reads: Counter[str]) -> None:
    layers, graph = [choice.layers[i] for i in step.layers], choice.graph
    by_rows = Counter(
        name for layer in layers for name in (layer.node.inputs[0], layer.node.epilogue.residual)
    )
    inside = set(_results(choice, step))
    for maker in layers[:-1]:
        name = maker.node.output
        if by_rows[name] != reads[name]:
            raise InvariantError(f"memory: {name!r} must be read by rows in its step only")
        if maker.accumulates:
            raise InvariantError(f"memory: {name!r} is there when {maker.node.name!r} ends")
    if step.shares and layers[-1].accumulates:
        raise InvariantError(f"memory: workers of {step} would add up sums of their own")
    if step.shares and sum(bool(layer.workspace_bytes) for layer in layers) > 1:
        raise InvariantError(f"memory: {step} has workers whose workspaces may share bytes")
    divides = divides_of(layers)
    if len(divides) < len(layers):
        raise InvariantError(f"memory: {step} has a layer that computes all at once")
    if step.shares and not is_path(divides):
        raise InvariantError(f"memory: workers share {step}, which is no path")
    for share in (None, *step.shares):
        least = least_rings(divides, step.stream_rows, share)
        for name, rows in zip(_results(choice, step), least, strict=True):
            if graph[name].ring < rows:
                raise InvariantError(f"memory: the ring of {name!r} must have {rows} rows")
    _check_patches(choice, step, divides)
    read = Counter(chain.from_iterable(layer.node.reads() for layer in layers))
    for layer in layers:
        last = layer is layers[-1]
        residual = layer.node.epilogue.residual
        rings = {graph[name].ring for name in (residual, layer.node.output) if name}
        if residual and len(rings) > 1 and not (layer.divides and layer.divides.adds_apart):
            raise InvariantError(f"memory: {layer.node.name!r} adds a residual of another ring")
        for alias in layer.aliases:  # later rounds read again what is no ring, but for residuals
            alone = read[alias.input] == 1 and alias.input != layer.node.inputs[0]
            alone = alone and alias.input not in inside
            follows = alias.overlaps and alias.input == layers[0].node.inputs[0]
            follows = follows and not step.shares and step.patches == 1
            if alias.exact or not (last and (alone or follows)):
                raise InvariantError(f"memory: {layer.node.name!r} streams rows: no {alias}")


def _check_patches(choice: Choice, step: Step, divides: Sequence[Divides]) -> None:
    rings = [choice.graph[name].ring_columns for name in _results(choice, step)]
    if step.patches == 1:
        if any(rings):
            raise InvariantError(f"memory: {step} has rings of patches and no patches")
        return
    patches = patches_of(divides, step.patches)
    if not patches or step.shares:
        raise InvariantError(f"memory: {step} cannot be computed in patches")
    most = (max(each.width for each in layer) for layer in zip(*patches, strict=True))
    for name, columns, needed in zip(_results(choice, step), rings, most, strict=False):
        if columns < needed:
            raise InvariantError(f"memory: a row of {name!r} must have {needed} columns")
