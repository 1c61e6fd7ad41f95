"""The arena for report.json: one entry per tensor or workspace that lies in it."""

from __future__ import annotations

from typing import Any

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap, Place, Region


def arena_map(choice: Choice, memory: MemoryMap) -> list[dict[str, Any]]:
    """By bank, offset and first step.

    ``offset`` and ``bytes`` in bytes; ``first`` and ``last`` are steps, both inclusive: -1 is
    before the run and the number of layers after it.  ``layer`` writes the tensor; None for what
    the caller writes.
    """
    written = {layer.node.output: layer.node.name for layer in choice.layers}
    rows = [
        _row(memory, name, place, written.get(name))
        for name, place in memory.places.items()
        if place.region is Region.ARENA and place.bytes
    ]
    for index, place in memory.workspaces.items():
        name = choice.layers[index].node.name
        rows.append(_row(memory, f"workspace of {name}", place, name))
    order = {bank.name: number for number, bank in enumerate(memory.banks)}
    return sorted(
        rows, key=lambda row: (order[row["bank"]], row["offset"], row["first"], row["name"])
    )


def _row(memory: MemoryMap, name: str, place: Place, layer: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "bank": memory.banks[place.bank].name,
        "offset": place.offset,
        "bytes": place.bytes,
        "first": place.first,
        "last": place.last,
        "layer": layer,
    }
