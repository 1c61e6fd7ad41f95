"""What takes which bytes, for report.json: of the memory regions of a bare-metal board, and of the
arena."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeconv.board import Board, Memory
from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap, Place, Region
from edgeconv.memory.link import data_region, io_region, kept_free, weights_region

Row = dict[str, Any]
RAM_PARTS = ("arena", "io", "data", "stack", "padding")
FLASH_PARTS = ("weights", "code", "rodata", "padding")


def ram_regions(board: Board, memory: MemoryMap, io_bytes: int) -> list[Row]:
    """As planned: neither variables nor the stack are known yet, for which bytes are kept free.

    Empty for a board with an operating system, which decides where things lie.
    """
    if board.firmware is None:
        return []
    arena = [bank.bytes for bank in memory.banks]
    return [
        _row(
            region,
            {
                "arena": size,
                "io": io_bytes if region == io_region(board, memory) else 0,
                "data": None if region == data_region(board) else 0,
                "stack": None if region == data_region(board) else 0,
                "padding": None,
            },
        )
        | {"kept_free": kept_free(board) if region == data_region(board) else 0}
        for region, size in zip(board.ram, arena, strict=True)
    ]


def flash_regions(board: Board, weights_bytes: int) -> list[Row]:
    """As planned: code and constants are not known yet."""
    if board.firmware is None:
        return []
    home = weights_region(board, weights_bytes)
    return [
        _row(
            region,
            {
                "weights": weights_bytes if region == home else 0,
                "code": None if region == board.flash[0] else 0,
                "rodata": None if region == board.flash[0] else 0,
                "padding": None,
            },
        )
        for region in board.flash
    ]


def placed(
    rows: list[Row], parts: Mapping[str, Mapping[str, int]], kinds: tuple[str, ...]
) -> list[Row]:
    """The same rows as the linker filled the regions: bytes by region and kind of ``parts``."""
    found = []
    for row in rows:
        sizes = {kind: parts[row["name"]].get(kind, 0) for kind in kinds}
        known = {"kept_free": 0} if "kept_free" in row else {}
        found.append({**row, **sizes, "used": sum(sizes.values()), **known})
    return found


def _row(region: Memory, parts: Mapping[str, int | None]) -> Row:
    return {
        "name": region.name,
        "kind": region.kind,
        "base": region.base,
        "size": region.size,
        **parts,
        "used": sum(size or 0 for size in parts.values()),
    }


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
