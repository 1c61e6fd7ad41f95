"""Runs that may be interrupted, for report.json and as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.markup import escape

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.resumable import Resumption

WORK = "predicted cycles"


def resumable(choice: Choice, memory: MemoryMap, resumption: Resumption) -> dict[str, Any]:
    """``resumable``: the least budget of a step and the layer that asks for it, the units of a
    whole run, and by layer, in execution order, its pieces: rows of the result, items or none, how
    many there are, and what a call of them takes (`ir.resumable.PieceCost`); the first and the last
    of those that are computed together."""
    layers = []
    for index in memory.order:
        cost = resumption.costs[index]
        of = cost.pieces.kind
        own: dict[str, Any] = {"pieces": max(1, cost.pieces.axis.pieces)}
        own |= {"of": of} if of else {}
        own |= {"call": cost.call, "each": cost.each}
        own |= {"multiple": cost.multiple, "odd": cost.odd} if cost.odd else {}
        layers.append(own)
    longest = resumption.longest
    named = {} if longest is None else {"longest": choice.layers[longest].node.name}
    found = {"unit": WORK, "least": resumption.least, **named, "total": resumption.total}
    position = {index: place for place, index in enumerate(memory.order)}
    together = [[position[group[0]], position[group[-1]]] for group in resumption.together]
    return {"resumable": {**found, "layers": layers, "together": together}}


def resumable_lines(report: Mapping[str, Any]) -> list[str]:
    """A line on the budgets of steps; none where a run cannot be interrupted."""
    found = report.get("resumable")
    if not found:
        return []
    longest = f" (a piece of {escape(found['longest'])})" if "longest" in found else ""
    return [
        f"steps: from {found['least']:,} {found['unit']}{longest} up, of {found['total']:,} in all"
    ]
