"""What lies in memory around each layer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from edgeconv.search.memory.lifetimes import Span
from edgeconv.search.memory.program import Program


def bytes_around(
    program: Program, spans: Mapping[str, Span], blocks: Iterable[Mapping[str, int]]
) -> list[int]:
    """By layer: bytes of the ``blocks`` (`alias.Sharing`) that were written before it and are still
    read, by it or later, where the layers run in the model's order, as ``spans`` are."""
    found = [0] * len(program.writes)
    for block in blocks:
        live: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for name, offset in block.items():
            for index in range(spans[name].first + 1, min(spans[name].last + 1, len(found))):
                live[index].append((offset, offset + program.sizes[name]))
        for index, ranges in live.items():
            found[index] += program.round_up(_covered(ranges))
    return found


def _covered(ranges: list[tuple[int, int]]) -> int:
    """Bytes that the union of ``ranges`` covers."""
    covered, end = 0, 0
    for low, high in sorted(ranges):
        covered += max(0, high - max(low, end))
        end = max(end, high)
    return covered
