"""Blocks: tensors at fixed distances from each other, as the rectangles that they occupy.

A block is not one rectangle of bytes x steps.  A slice of a Concat that is not complete yet
occupies its own bytes only, from the step that writes it, so that other blocks may use the rest
before; a view that outlives its tensor keeps its own bytes only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from edgeconv.search.memory.lifetimes import Span
from edgeconv.search.memory.program import Program


class Rect(NamedTuple):
    """Bytes ``low`` to ``high`` (exclusive) of a block, in use from ``first`` to ``last``."""

    low: int
    high: int
    first: int
    last: int


Block = tuple[Rect, ...]  # disjoint; bytes count from the block's base and are rounded to align


def rectangles(
    program: Program, spans: Mapping[str, Span], offsets: Mapping[str, int]
) -> tuple[Rect, ...]:
    """The bytes x steps that the tensors of one block occupy, as disjoint rectangles.

    ``offsets``: tensor -> bytes from the block's base.  Bytes are rounded outwards to ``align``,
    which keeps every cache line and vector of the arena within one block; bytes that several
    tensors share count once.  Those of states that stay are in use throughout.
    """
    kept = dict.fromkeys(program.staying, Span(-1, len(program.reads)))
    uses = [
        (
            program.round_down(offset),
            program.round_up(offset + program.sizes[name]),
            kept.get(name, spans[name]),
        )
        for name, offset in offsets.items()
        if program.sizes[name]
    ]
    cuts = sorted({cut for low, high, _ in uses for cut in (low, high)})
    starting: dict[int, list[tuple[int, Span]]] = {cut: [] for cut in cuts}
    for low, high, span in uses:
        starting[low].append((high, span))
    found: list[Rect] = []
    open_rects: dict[Span, int] = {}  # steps in use -> where the rectangle started
    live: list[tuple[int, Span]] = []
    for low in cuts:
        live = [use for use in live if use[0] > low] + starting[low]
        steps = _merge(span for _, span in live)
        for span in [span for span in open_rects if span not in steps]:
            found.append(Rect(open_rects.pop(span), low, *span))
        for span in steps:
            open_rects.setdefault(span, low)
    return tuple(sorted(found))


def _merge(spans: Iterable[Span]) -> list[Span]:
    """The union of ``spans`` as maximal spans; [3, 5] and [6, 9] make [3, 9]."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.first <= merged[-1].last + 1:
            merged[-1] = Span(merged[-1].first, max(merged[-1].last, span.last))
        else:
            merged.append(span)
    return merged


def live_bytes(blocks: Iterable[Block], steps: int) -> list[int]:
    """Bytes in use per step, from step -1 (entry 0) to step ``steps`` (the last entry).

    Their maximum is a lower bound of the arena.
    """
    change = [0] * (steps + 3)
    for block in blocks:
        for rect in block:
            change[rect.first + 1] += rect.high - rect.low
            change[rect.last + 2] -= rect.high - rect.low
    load: list[int] = []
    for delta in change[:-1]:
        load.append((load[-1] if load else 0) + delta)
    return load


def height(blocks: Sequence[Block], bases: Sequence[int]) -> int:
    """The arena that ``blocks`` at ``bases`` need."""
    ends = (base + rect.high for block, base in zip(blocks, bases, strict=True) for rect in block)
    return max(ends, default=0)
