"""A place of its own for every tensor: after a run, all of them are there to be looked at."""

from __future__ import annotations

from collections.abc import Iterator

from edgeconv.ir.choice import Choice, tensor_bytes
from edgeconv.ir.memory import BankUse, MemoryMap, Place, Region


def own_places(choice: Choice) -> MemoryMap:
    """Layers in the graph's order, no byte shared by two tensors, workspaces on top of each other.

    No alias is granted, so that what is done to one tensor is done to no other.
    """
    graph, steps = choice.graph, len(choice.layers)
    places: dict[str, Place] = {}
    for region, names in ((Region.OUTPUT, graph.outputs), (Region.INPUT, graph.inputs)):
        for index, name in enumerate(names):
            size = tensor_bytes(graph[name])
            places[name] = Place(region, 0, size, -1, steps, index)
    top = 0
    for tensor in graph.activations():
        if tensor.name not in places:
            size = tensor_bytes(tensor)
            places[tensor.name] = Place(Region.ARENA, top, size, -1, steps)
            top += _aligned(size, choice.align)
    workspaces = dict(_workspaces(choice, top))
    top += max((_aligned(place.bytes, choice.align) for place in workspaces.values()), default=0)
    return MemoryMap(
        order=tuple(range(steps)),
        places=places,
        workspaces=workspaces,
        granted=frozenset(),
        arena_bytes=top,
        lower_bound=top,
        align=choice.align,
        optimal=False,
        banks=(BankUse("arena", top, top),),
    )


def _workspaces(choice: Choice, top: int) -> Iterator[tuple[int, Place]]:
    for index, layer in enumerate(choice.layers):
        if layer.workspace_bytes:
            yield index, Place(Region.ARENA, top, layer.workspace_bytes, index, index)


def _aligned(size: int, align: int) -> int:
    return -(-size // align) * align
