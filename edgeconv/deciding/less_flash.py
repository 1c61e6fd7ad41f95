"""Less flash with the same formats: filters of fewer layers transformed when compiling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from edgeconv.choose.winograd import NAME
from edgeconv.deciding.planning import Draft, Planner
from edgeconv.ir.graph import Graph


def less_flash(planner: Planner, graph: Graph, draft: Draft) -> Draft:
    """``draft``, made of ``graph``; where it has too little flash, with minimal filtering of those
    layers alone that gain most time per byte, as many as fit.

    Filters are transformed when compiling, and are up to 64/9 times as large then.
    """
    if not planner.exceeded(draft, "flash"):
        return draft
    if all(layer.algorithm != NAME for layer in draft.choice.layers):
        return draft
    storage = planner.options.storage
    without = planner.draft(graph, replace(draft.allowed, winograd=frozenset()), storage)
    room = _room(planner, without)
    fewer = set()
    for _, more, name in sorted(_gains(planner, draft, without), reverse=True):
        if more <= room:
            room -= more
            fewer.add(name)
    if not fewer:
        return without
    other = planner.draft(graph, replace(draft.allowed, winograd=frozenset(fewer)), storage)
    return without if planner.exceeded(other, "flash") else other


def _room(planner: Planner, without: Draft) -> int:
    """Bytes of flash that are left."""
    flash = without.sizes.flash
    return (flash.budget or 0) - planner.overhead.flash - flash.total


def _gains(planner: Planner, draft: Draft, without: Draft) -> Iterator[tuple[float, int, str]]:
    """Of each layer by minimal filtering: the time that it saves per byte of flash, multiply-adds
    where no time is predicted; these bytes; its name."""
    now, then = planner.decided(draft).report, planner.decided(without).report
    plain = {layer["name"]: layer for layer in then["layers"]}
    for layer in now["layers"]:
        if layer["algorithm"] == NAME:
            other = plain[layer["name"]]
            more = max(1, layer["weight_bytes"] - other["weight_bytes"])
            gain = (other["predicted_ms"] or 0.0) - (layer["predicted_ms"] or 0.0)
            yield (gain or layer["macs"]) / more, more, layer["name"]
