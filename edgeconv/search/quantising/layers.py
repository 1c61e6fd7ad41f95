"""What each layer of a quantised network lost and gained."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgeconv.ir.element_types import FLOAT32
from edgeconv.ir.filters import WEIGHTED, filters_of
from edgeconv.ir.graph import Graph
from edgeconv.kernels.lowering.calls import FLOAT_BYTES
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
    found = []
    for node in graph.nodes:
        if node.op not in WEIGHTED:
            continue
        own = filters_of(node, graph)
        bias = 0 if own.bias is None else own.bias.size
        before = 4 * (own.weights.size + bias)
        int8 = node.name in made.filters
        units = len(made.filters[node.name].units or ()) if int8 else 0
        now = own.weights.size + 4 * (bias + units) if int8 else before
        lost = made.accuracy.per_layer.get(node.output)
        sqnr = lost if lost is not None and math.isfinite(lost) else None
        share = macs.get(node.name, 0.0) / total
        found.append(QuantisedLayer(node.name, node.op, share, int8, sqnr, now, before))
    return tuple(found)


def left_notes(graph: Graph) -> tuple[str, ...]:
    """Says which weights stay float32 since no format is for them: those of recurrent states, for
    instance."""
    left: Counter[str] = Counter()
    for node in graph.nodes:
        if node.op in WEIGHTED:
            continue
        for name in dict.fromkeys(filter(None, node.inputs)):
            tensor = graph[name]
            matrix = len(tensor.shape) > 1 and min(sorted(tensor.shape)[-2:]) > 1
            if tensor.is_constant and tensor.dtype == FLOAT32 and matrix:
                left[node.op] += FLOAT_BYTES * tensor.size
    return tuple(
        f"weights of {op} layers stay {FLOAT32} ({size:,} bytes): int8 is for "
        f"{' and '.join(WEIGHTED)}"
        for op, size in left.items()
    )
