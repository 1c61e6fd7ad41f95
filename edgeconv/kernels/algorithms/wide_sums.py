"""Layers of a quantised model with integers of 16 bits: what becomes of their sums.

As ``sums``, where the input or the result is int16: filters of int8 in units, and a rounding in
front of which nothing but bounds stand.  The result of that is stored, or added to a residual of
int8 or int16 and rounded once more.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from edgeconv.ir.channel_scales import CHANNEL_SCALES
from edgeconv.ir.encoding import INT8, INT16, Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.grids import integers_for
from edgeconv.ir.requantisation import ARITHMETICS, EXACT
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.wide import Wide
from edgeconv.ir.requantisation.wide_pair import WidePair, wide_pair
from edgeconv.kernels.algorithms.sums import (
    bounds_in,
    filter_zeros,
    rounds_to,
    stored_filters,
    sums_in,
)

_LARGEST = 2**31 - 1
_STORED = (INT8, INT16)
_MOST = 4096  # layers whose forms are kept, with the constants they were made from
_known: dict[Hashable, tuple[object, WideSums | None]] = {}


@dataclass(frozen=True, slots=True, eq=False)
class WideSums:
    """Sums of layers with 16-bit integers, and what becomes of them.  ``form``: of the sums, and of
    what is ``added`` to that, if anything.  ``chunk``: products of so many numbers of a window fit
    int32, whichever they are; 0: all of them do."""

    form: Wide
    chunk: int
    added: WidePair | None = None


def wide_sums_of(node: Node, graph: Graph) -> WideSums | None:
    """The sums of a Conv or Dense node; None where it is not as above, or nothing is proven."""
    x, y = graph[node.inputs[0]].storage, graph[node.output].storage
    stored = node.storage
    if stored.element != INT8 or not stored.scale:
        return None
    if graph.requantise != EXACT and not _is_of_16_bits(node, graph):
        return None
    if not _kept(x) or not _kept(y) or (x.element, y.element) == (INT8, INT8):
        return None
    constants = tuple(graph[name].data for name in node.inputs[1:] if name)
    residual = graph[node.epilogue.residual].storage if node.epilogue.residual else None
    scales = node.attrs.get(CHANNEL_SCALES)
    how = node.epilogue.before, node.epilogue.after, graph.requantise, node.op, scales
    key = (*map(id, constants), stored, x, y, residual, *how)
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = constants, _found(node, graph, residual)
    return _known[key][1]


def _is_of_16_bits(node: Node, graph: Graph) -> bool:
    """Input and result have 16 bits around 0, and nothing is added: TensorFlow Lite has no other
    kernel."""
    ends = (graph[node.inputs[0]].storage, graph[node.output].storage)
    around_0 = all(_kept(each) and each.element == INT16 and not each.zero[0] for each in ends)
    return around_0 and not node.epilogue.residual


def _kept(encoding: Encoding) -> bool:
    """Memory holds a tensor as integers of one scale."""
    return encoding.is_per_tensor and encoding.element in _STORED


def _found(node: Node, graph: Graph, residual: Encoding | None) -> WideSums | None:
    epilogue, y = node.epilogue, graph[node.output].storage
    if epilogue.is_only_before:
        form = _form(node, graph, y) if rounds_to(epilogue.before, y) else None
        return None if form is None else WideSums(form, _chunk(node, graph))
    first = integers_for(epilogue.before)
    if first is None or residual is None or not _kept(residual):
        return None
    if not rounds_to(epilogue.after, y):
        return None
    added = wide_pair(
        Affine.of(first), Affine.of(residual), Affine.of(y), *bounds_in(epilogue.after, y)
    )
    form = _form(node, graph, first) if added else None
    return None if form is None else WideSums(form, _chunk(node, graph), added)


def _form(node: Node, graph: Graph, y: Encoding) -> Wide | None:
    sums, whole, _ = sums_in(node, graph, y)
    return ARITHMETICS[graph.requantise].wide(sums, whole)


def _chunk(node: Node, graph: Graph) -> int:
    """`WideSums.chunk`: by the largest number of an input and of a filter, zero points apart."""
    low = -graph[node.inputs[0]].storage.low
    stored, zeros = np.abs(stored_filters(node, graph)), np.abs(filter_zeros(node, graph))
    w = stored.reshape(len(stored), -1) + zeros[:, None]
    if int(w.sum(axis=1).max(initial=0)) * low <= _LARGEST:
        return 0
    return _LARGEST // (low * int(w.max(initial=1)))
