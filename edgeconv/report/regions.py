"""What takes which bytes, for report.json: of the memory regions of a bare-metal board, and of the
arena."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap, Place, Region
from edgeconv.search.memory.sizes import MemoryUse, RegionUse, Sizes
from edgeconv.target.board import Board

Row = dict[str, Any]


def region_rows(use: MemoryUse, *, keeps_free: bool = False) -> list[Row]:
    """A row for each region, with its parts; ``keeps_free``: and what is kept free of it."""
    return [
        {
            "name": region.name,
            "kind": region.kind,
            "base": region.base,
            "size": region.size,
            **region.parts,
            "used": region.used,
            **({"kept_free": region.kept_free} if keeps_free else {}),
        }
        for region in use.regions
    ]


def sizes_of(report: Mapping[str, Any]) -> Sizes:
    """What a report says of them."""
    ram, flash = (
        MemoryUse(
            {"all": report[kind]["total"]},
            report["budget"][kind],
            tuple(
                RegionUse(
                    row["name"],
                    row["kind"],
                    row["base"],
                    row["size"],
                    {"all": row["used"]},
                    row.get("kept_free", 0),
                )
                for row in report[kind].get("regions", ())
            ),
        )
        for kind in ("ram", "flash")
    )
    return Sizes(ram, flash)


def placed(
    rows: list[Row], parts: Mapping[str, Mapping[str, int]], kinds: tuple[str, ...]
) -> list[Row]:
    """The rows as the linker filled the regions: bytes by region and kind of ``parts``."""
    found = []
    for row in rows:
        own = parts[row["name"]]
        sizes = {kind: own.get(kind, 0) for kind in kinds if kind in row or own.get(kind)}
        known = {"kept_free": 0} if "kept_free" in row else {}
        found.append({**row, **sizes, "used": sum(sizes.values()), **known})
    return found


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
        _entry(names, name, place, written.get(name))
        for name, place in memory.places.items()
        if place.region is Region.ARENA and place.bytes
    ]
    for index, place in memory.workspaces.items():
        name = choice.layers[index].node.name
        rows.append(_entry(names, f"workspace of {name}", place, name))
    return sorted(
        rows, key=lambda row: (names.index(row["bank"]), row["offset"], row["first"], row["name"])
    )


def _entry(banks: list[str], name: str, place: Place, layer: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "bank": banks[place.bank],
        **extent(place),
        "layer": layer,
    }


def extent(place: Place) -> Row:
    """Where something lies, in bytes, and from which step to which it is live."""
    return {key: getattr(place, key) for key in ("offset", "bytes", "first", "last")}
