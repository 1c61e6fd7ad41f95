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
        step = own.last
        beside = (place for place in places if place.first <= step <= place.last)
        live = covered(beside, memory.align)
        room = max(0, size - live) // memory.align * memory.align
        if own.bytes > room:
            found[choice.layers[index].node.name] = room
    return found


def covered(places: Iterable[Place], align: int) -> int:
    """Bytes of the arena that ``places`` take, in units of ``align``; what several share counts
    once."""
    total = reached = bank = 0
    for place in sorted(places, key=lambda place: (place.bank, place.offset)):
        if place.bank != bank:
            reached, bank = 0, place.bank
        low = place.offset // align * align
        high = -(-(place.offset + place.bytes) // align) * align
        total += max(0, high - max(low, reached))
        reached = max(reached, high)
    return total
