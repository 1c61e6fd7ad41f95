"""Which bytes lie where the user has them: for report.json, and as notes."""

from __future__ import annotations

from typing import Any

from edgeconv.base.names import shortened
from edgeconv.codegen.image_parts import named_parts
from edgeconv.codegen.weights import WeightImage
from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.placement import ANYWHERE
from edgeconv.search.memory.link import io_region, part_region
from edgeconv.search.memory.program import caller_bytes
from edgeconv.target.board import Board

_NAMED = 3  # layers


def placement_document(
    name: str, choice: Choice, board: Board, image: WeightImage
) -> dict[str, Any]:
    """The key ``placement`` of the report of network ``name``; nothing where all is the plan's.

    ``parts``: of the weight image, each with its symbol, section, memory and bytes; ``copied``:
    start-up code brings it there.
    """
    if choice.placement == ANYWHERE:
        return {}
    parts = []
    for part, named in zip(image.parts, named_parts(name, image.parts), strict=True):
        region = part_region(board, part)
        parts.append(
            {
                "symbol": named.symbol,
                "section": named.section,
                "memory": region.name,
                "bytes": part.bytes,
                "copied": not region.is_flash,
            }
        )
    return {"placement": {**choice.placement.to_json(), "parts": parts}}


def placement_notes(
    choice: Choice, memory: MemoryMap, board: Board, image: WeightImage
) -> tuple[str, ...]:
    """What the user has placed, with its bytes."""
    placement = choice.placement
    if placement == ANYWHERE:
        return ()
    found = []
    for part in image.parts if placement.weights else ():
        region = part_region(board, part)
        whose = [name for name, each in placement.layers.items() if each == part.memory]
        words = f"weights{_of(whose)}: {part.bytes:,} bytes in {region.name}"
        found.append(words if region.is_flash else f"{words}, copied there at start")
    by_memory = dict(zip((each.name for each in board.ram), memory.banks, strict=True))
    apart = choice.io == "arena" and placement.io not in ("", placement.arena)
    if placement.arena:
        size = by_memory[placement.arena].bytes
        found.append(f"arena: {size:,} bytes in {placement.arena}")
    if placement.io and choice.io != "arena":
        where = io_region(board, memory).name
        found.append(f"inputs and outputs: {caller_bytes(choice):,} bytes in {where}")
    elif apart:
        size = by_memory[placement.io].bytes
        found.append(f"inputs and outputs: in {size:,} bytes of the arena in {placement.io}")
    return tuple(found)


def _of(layers: list[str]) -> str:
    if not layers:
        return ""
    more = f" and {len(layers) - _NAMED} more" if len(layers) > _NAMED else ""
    return f" of {', '.join(map(shortened, layers[:_NAMED]))}{more}"
