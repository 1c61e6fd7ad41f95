"""Lines between boxes that stand below each other, one per row.

A line to the next row is straight.  What goes further runs down a lane on the left, one for all
the rows that read it, so that it crosses no box.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Reads = Sequence[Sequence[int]]  # by row, the rows above that it reads

GAP = 10  # pixels between boxes
_WIDEST, _LANE, _LEAST_LANE = 170, 12, 5  # pixels: all lanes; from one to the next, and at least
MOST_LANES = _WIDEST // _LEAST_LANE
_ARROW = 26  # from the left of a box to the arrow into its top
_BEND, _OFF_CENTRE = 4, 4  # radius of corners; ends of lines from the middle of a box
_HEAD = 5  # length of an arrowhead
_MARGIN = 14  # from the nearest lane to the boxes


@dataclass(frozen=True, slots=True)
class Wire:
    """What row ``source`` writes, down a lane to ``readers``.  ``path``: in SVG's words."""

    source: int
    readers: tuple[int, ...]
    path: str


@dataclass(frozen=True, slots=True)
class Routes:
    """The routed lines.  ``left``: of the boxes, in pixels.  ``straight``: the path of all lines to
    the next row, and ``heads`` of all arrowheads.  ``wires``: those that others cross first."""

    left: int
    straight: str
    wires: tuple[Wire, ...]
    heads: str


def routes(reads: Reads, top: int, pitch: int) -> Routes:
    """Lines between boxes whose upper edges lie ``pitch`` pixels apart, from ``top`` on."""
    readers: dict[int, list[int]] = {}
    for row, sources in enumerate(reads):
        for source in dict.fromkeys(sources):
            readers.setdefault(source, []).append(row)
    far = {source: [r for r in rows if r > source + 1] for source, rows in readers.items()}
    found = lanes({source: rows[-1] for source, rows in far.items() if rows}, MOST_LANES)
    count = 1 + max(found.values(), default=-1)
    wide = min(_LANE, _WIDEST // max(count, 1))
    left = _MARGIN + wide * count
    middle = top + (pitch - GAP) // 2
    straight, heads, wires = [], [], []
    for source, rows in readers.items():
        if rows[0] == source + 1:
            edge = top + rows[0] * pitch
            straight.append(f"M{left + _ARROW} {edge - GAP}v{GAP - _HEAD}")
            heads.append(f"M{left + _ARROW} {edge}l-3 -{_HEAD}h6z")
    for source, lane in sorted(found.items(), key=lambda item: -item[1]):
        x, start = left - _MARGIN - wide * lane, middle + source * pitch + _OFF_CENTRE
        ends = [middle + row * pitch - _OFF_CENTRE for row in far[source]]
        path = f"M{left} {start}H{x + _BEND}q-{_BEND} 0 -{_BEND} {_BEND}V{ends[-1] - _BEND}"
        for end in ends:
            path += f"M{x} {end - _BEND}q0 {_BEND} {_BEND} {_BEND}H{left - _HEAD}"
            heads.append(f"M{left} {end}l-{_HEAD} -3v6z")
        wires.append(Wire(source, tuple(far[source]), path))
    return Routes(left, "".join(straight), tuple(wires), "".join(heads))


def lanes(last: Mapping[int, int], most: int) -> dict[int, int]:
    """A lane for each row, which it has to itself until the row that reads it ``last``.  Short
    lives come first and lie nearest; nothing for those that ``most`` lanes have no room for."""
    taken: list[list[tuple[int, int]]] = []
    found = {}
    for begin, end in sorted(last.items(), key=lambda life: (life[1] - life[0], life[0])):
        for lane in range(most):
            if lane == len(taken):
                taken.append([])
            if all(end <= first or final <= begin for first, final in taken[lane]):
                taken[lane].append((begin, end))
                found[begin] = lane
                break
    return found
