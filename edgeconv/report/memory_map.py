"""The arena for report.json: one entry per tensor or workspace that lies in it."""

from __future__ import annotations

from typing import Any

from edgeconv.board import Board
from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap, Place, Region


def arena_map(choice: Choice, memory: MemoryMap, board: Board) -> list[dict[str, Any]]:
    """By bank, offset and first step.

    ``bank``: the board's name of the memory, or "arena" where it names none.  ``offset`` and
    ``bytes`` in bytes; ``first`` and ``last`` are steps, both inclusive: -1 is before the run and
    the number of layers after it.  ``layer`` writes the tensor; None for what the caller writes.
    """
    written = {layer.node.output: layer.node.name for layer in choice.layers}
    names = [bank.name for bank in memory.banks]
    if board.bare_metal:  # one bank for each region, in their order
        names = [region.name for region in board.ram]
    rows = [
        _row(names, name, place, written.get(name))
        for name, place in memory.places.items()
        if place.region is Region.ARENA and place.bytes
    ]
    for index, place in memory.workspaces.items():
        name = choice.layers[index].node.name
        rows.append(_row(names, f"workspace of {name}", place, name))
    return sorted(
        rows, key=lambda row: (names.index(row["bank"]), row["offset"], row["first"], row["name"])
    )


def _row(banks: list[str], name: str, place: Place, layer: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "bank": banks[place.bank],
        "offset": place.offset,
        "bytes": place.bytes,
        "first": place.first,
        "last": place.last,
        "layer": layer,
    }
