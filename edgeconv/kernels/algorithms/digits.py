"""Which bits the integers of a network of few bits have: filters, and what layers read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import ONTO_GRIDS, Activation
from edgeconv.ir.encoding import INT8
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import last_activation, moved, moves

_MOST_MAGNITUDE = 3  # of filters: of two bits and a sign
_MOST_BITS = 4  # of inputs
INPUT_ROUNDING = "input_rounding"


@dataclass(frozen=True, slots=True)
class Digits:
    """Filters of small integers times 2^``shift``: ``magnitudes`` bits beside the sign, 0 where all
    are 1 or -1."""

    magnitudes: int
    shift: int


@dataclass(frozen=True, slots=True)
class FewBits:
    """An input that is stored as -128 + q: q has ``bits``; ``signs``: it is 0 or 2, and 1 in
    padding alone."""

    bits: int
    signs: bool


def digits_of(filters: npt.NDArray[np.int64]) -> Digits | None:
    """The digits of integers; None where they are large, or all 0."""
    sizes = np.abs(filters)
    every = int(np.bitwise_or.reduce(sizes, axis=None))
    if not every:
        return None
    shift = (every & -every).bit_length() - 1
    most = int(sizes.max()) >> shift
    if most > _MOST_MAGNITUDE:
        return None
    whole = most == 1 and bool(sizes.all())
    return Digits(0 if whole else most.bit_length(), shift)


def with_input_roundings(graph: Graph) -> Graph:
    """``graph`` with what the inputs of its Conv and Dense nodes were rounded to last in their
    attribute `INPUT_ROUNDING`, where that has few bits: kernels see a node alone."""
    known: dict[str, Activation] = {}
    nodes = []
    for node in graph.nodes:
        last, sources = last_activation(node), moved(node)
        if last.kind in ONTO_GRIDS:
            known[node.output] = last
        elif moves(node) and node.op != "Pad" and len(sources) == 1 and sources[0] in known:
            known[node.output] = known[sources[0]]
        given = known.get(node.inputs[0]) if node.op in WEIGHTED else None
        if given is not None and _is_few(given):
            node = replace(node, attrs={**node.attrs, INPUT_ROUNDING: given})
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def few_bits(node: Node, graph: Graph) -> FewBits | None:
    """The bits of what a Conv or Dense node reads; None where it has more, or the lowest number is
    not -128."""
    given, stored = node.attrs.get(INPUT_ROUNDING), graph[node.inputs[0]].storage
    if given is None or not _is_few(given) or stored.element != INT8:
        return None
    if stored.zero[0] + given.beta != INT8.low:
        return None
    return FewBits(int(_largest(given)).bit_length(), given.kind == "sign")


def _is_few(given: Activation) -> bool:
    return 0 < _largest(given) < 1 << _MOST_BITS


def _largest(given: Activation) -> float:
    """The largest q: of the numbers of a grid, and of the 0 that padding is."""
    return max(given.gamma, 0.0) - given.beta
