"""Less flash with the same numbers: fewer filters transformed or widened when compiling."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from edgeconv.app.deciding.planning import NetworkPlan, Planner
from edgeconv.ir.choice import Choice
from edgeconv.ir.graph import Graph
from edgeconv.search.choose.winograd import NAME

_IN_INTEGERS = "int8_winograd"
_ATTEMPTS = 3  # at limits of constants: what else an image has is known when it is made


def less_flash(planner: Planner, graph: Graph, draft: NetworkPlan) -> NetworkPlan:
    """``draft``, made of ``graph``; where it has too little flash, the fastest kernels whose
    constants fit, and without Winograd's algorithm of float32 where none do.

    Filters are transformed when compiling, and are up to 64/9 times as large then, those of int8
    up to eight times; those of four bits are widened to int8 to be multiplied as they are.
    """
    layers = draft.choice.layers
    in_integers = any(layer.algorithm == _IN_INTEGERS for layer in layers)
    in_integers = in_integers or _widened(draft.choice, graph)
    if not planner.exceeded(draft, "flash") or not (in_integers or _filtered(draft.choice)):
        return draft
    flash, storage = draft.sizes.flash, planner.options.storage
    room = (flash.budget or 0) - planner.overhead.flash
    limit = room - flash.total + _constants(draft.choice)
    for _ in range(_ATTEMPTS):
        fewer = planner.draft(graph, replace(draft.allowed, flash=limit), storage)
        if not planner.exceeded(fewer, "flash"):
            kept = replace(draft.allowed, winograd=_filtered(fewer.choice))
            if in_integers:
                kept = replace(kept, flash=limit)
            return replace(fewer, allowed=kept)
        limit -= max(1, fewer.sizes.flash.total - room)
    return planner.draft(graph, replace(draft.allowed, winograd=frozenset()), storage)


def _filtered(choice: Choice) -> frozenset[str]:
    """The layers that are computed by Winograd's algorithm."""
    return frozenset(layer.node.name for layer in choice.layers if layer.algorithm == NAME)


def _widened(choice: Choice, graph: Graph) -> bool:
    """Whether some filters have more bits than in ``graph``."""
    bits = {node.name: node.storage.bits for node in graph.nodes}
    return any(node.storage.bits > bits.get(node.name, inf) for node in choice.graph.nodes)


def _constants(choice: Choice) -> int:
    """Bytes of all layers' own."""
    return sum(blob.bytes for layer in choice.layers for blob in layer.blobs)
