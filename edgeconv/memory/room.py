"""What an arena of a given size leaves for the workspace of each layer."""

from __future__ import annotations

from collections.abc import Iterable

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap, Place, Region


def room_for_workspaces(choice: Choice, memory: MemoryMap, size: int) -> dict[str, int]:
    """By name, the layers whose workspace has no room in ``size`` bytes beside the tensors that
    live at their step of ``memory``, and the bytes that there is room for."""
    places = [place for place in memory.places.values() if place.region is Region.ARENA]
    found = {}
    for index, own in memory.workspaces.items():
        step = own.first
        live = _covered(place for place in places if place.first <= step <= place.last)
        room = max(0, size - live) // memory.align * memory.align
        if own.bytes > room:
            found[choice.layers[index].node.name] = room
    return found


def _covered(places: Iterable[Place]) -> int:
    """Bytes that these take, those that several share counted once."""
    total, end, bank = 0, 0, -1
    for place in sorted(places, key=lambda place: (place.bank, place.offset)):
        if place.bank != bank:
            bank, end = place.bank, 0
        total += max(0, place.offset + place.bytes - max(end, place.offset))
        end = max(end, place.offset + place.bytes)
    return total
