"""What each layer of a quantised network lost and gained."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeconv.base.names import shortened
from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.filters import DECODED, RECURRENT, decodes, filters_of, undecoded
from edgeconv.ir.graph import Graph
from edgeconv.search.quantising.quantiser import Quantised


@dataclass(frozen=True, slots=True)
class QuantisedLayer:
    """A layer with filters.  ``int8``: whether it is quantised.  ``sqnr_db``: of its result against
    float32, None where that was not measured.  ``bytes`` of its filters and bias now, in float32
    ``bytes_before``."""

    name: str
    op: str
    macs_share: float
    int8: bool
    sqnr_db: float | None
    bytes: int
    bytes_before: int

    def to_json(self) -> dict[str, Any]:
        """As documents have it."""
        names = ("name", "op", "macs_share", "int8", "sqnr_db", "bytes", "bytes_before")
        return {name: getattr(self, name) for name in names}


def layers_of(
    graph: Graph, made: Quantised, macs: Mapping[str, float]
) -> tuple[QuantisedLayer, ...]:
    """The layers with filters of the float32 network ``graph``; ``macs``: of each."""
    total = max(sum(macs.values()), 1.0)
    of_states = _units_of_states(made.graph)
    found = []
    for node in graph.nodes:
        if not decodes(node, graph):
            continue
        own = filters_of(node, graph)
        bias = 0 if own.bias is None else own.bias.size
        before = 4 * (own.weights.size + bias)
        units = of_states.get(node.name, 0)
        int8 = node.name in made.filters or units > 0
        if node.name in made.filters:
            units = len(made.filters[node.name].units or ())
        now = own.weights.size + 4 * (bias + units) if int8 else before
        lost = made.accuracy.per_layer.get(node.output)
        sqnr = lost if lost is not None and math.isfinite(lost) else None
        share = macs.get(node.name, 0.0) / total
        found.append(QuantisedLayer(node.name, node.op, share, int8, sqnr, now, before))
    return tuple(found)


def _units_of_states(graph: Graph) -> dict[str, int]:
    """By recurrent layer how many units its weights have; 0 of those in float32."""
    recurrent = (node for node in graph.nodes if node.op == RECURRENT)
    return {node.name: len(node.storage.scale) for node in recurrent}


def left_notes(graph: Graph) -> tuple[str, ...]:
    """Says which weights a quantised network has in float32: those of run-time products, constants
    that layers add or multiply by, and of recurrent states where these lose too much."""
    left = undecoded(graph)
    for node in graph.nodes:
        if node.op == RECURRENT and decodes(node, graph) and not node.storage.scale:
            size = graph[node.inputs[1]].constant().nbytes
            left.setdefault(RECURRENT, Counter())[node.name] += size
    where = ", where accuracy allows it"
    return tuple(left_note(op, sizes, "int8 is", where) for op, sizes in left.items())


def left_note(op: str, sizes: Mapping[str, int], subject: str, where: str = "") -> str:
    """Says that weights of layers of one operator stay float32.  ``sizes``: bytes by layer;
    ``subject``: what is for the weights of other operators alone, and ``where``."""
    first, *others = sizes
    more = f" and {len(others)} more" if others else ""
    return (
        f"weights of {op} {shortened(first)!r}{more} stay {FLOAT32} ({sum(sizes.values()):,} "
        f"bytes): {subject} for constant weights of {', '.join(DECODED)}{where}"
    )
