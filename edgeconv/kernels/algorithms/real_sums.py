"""Layers of a quantised model whose sums are whole numbers and whose results are real ones.

An input of int8 or int16, filters of int8 in units, and a result that is float32, or that more
stands in front of than `sums` knows: then products are summed in int32, exactly, and

    y = epilogue((start[c] + sum_i q_i w_i[c]) * unit[c] + bias[c])

is computed in float32 of these: of the sum itself nothing is rounded but what is beyond 2^24.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgeconv.ir.channel_scales import CHANNEL_SCALES, scales_of
from edgeconv.ir.encoding import INT8, INT16
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import EXACT
from edgeconv.ir.requantisation.exact_reals import in_units
from edgeconv.kernels.algorithms.sums import (
    Facts,
    Integers,
    are_scales,
    filter_rows,
    filter_zeros,
    pair_in,
    stored_filters,
    two_fit,
)

Floats = npt.NDArray[np.float32]
_LARGEST = 2**31 - 1
_MOST = 4096  # layers whose sums are kept, with the constants they were made from
_known: dict[Hashable, tuple[object, RealSums | None]] = {}


@dataclass(frozen=True, slots=True, eq=False)
class RealSums:
    """Sums of whole numbers whose results are real: for every output channel ``start``, int32,
    ``unit`` and ``bias``: see above.  ``facts``, ``two_fit``: as `sums.facts_of` and
    `sums.two_fit`."""

    start: npt.NDArray[np.int32]
    unit: Floats
    bias: Floats
    facts: Facts
    two_fit: bool


def real_sums_of(node: Node, graph: Graph) -> RealSums | None:
    """The sums of a Conv or Dense node; None where it is not as above, or sums do not fit int32."""
    x = graph[node.inputs[0]].storage
    filters = node.storage
    if filters.element != INT8 or not are_scales(filters.scale):
        return None
    if (
        x.element not in (INT8, INT16)
        or not x.is_per_tensor
        or not are_scales(x.scale)
        or graph.requantise != EXACT
    ):
        return None
    constants = tuple(graph[name].data for name in node.inputs[1:] if name)
    key = (*map(id, constants), filters, node.attrs.get(CHANNEL_SCALES), x)
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        filters_are = np.isfinite(graph[node.inputs[1]].constant()).all()
        _known[key] = constants, _found(node, graph) if filters_are else None
    return _known[key][1]


def _found(node: Node, graph: Graph) -> RealSums | None:
    x, w = graph[node.inputs[0]].storage, filter_rows(node, graph)
    scales = scales_of(node, graph)
    unit, bias = x.scale[0] * scales.of_sums, np.asarray(scales.bias, np.float64)
    whole, rest = in_units(bias, unit)
    zero = -x.zero[0] * w.sum(axis=1)
    reach = np.maximum(largest_sum(w, -x.low), largest_reach(node, graph, -x.low))
    fits = reach + np.abs(whole + zero) <= _LARGEST
    start = np.where(fits, whole + zero, zero)
    if int((reach + np.abs(start)).max(initial=0)) > _LARGEST:
        return None
    left = np.where(fits, rest, bias) / scales.of_results
    single = (unit / scales.of_results).astype(np.float32)
    fit = two_fit(node, graph)
    facts = Facts(pair_in(stored_filters(node, graph)))
    return RealSums(start.astype(np.int32), single, left.astype(np.float32), facts, fit)


def largest_reach(node: Node, graph: Graph, magnitude: int) -> Integers:
    """By filter of a Conv or Dense node the most that a part of its sum is in magnitude, of inputs
    of at most this ``magnitude``, where zero points of filters are counted apart."""
    stored, zeros = stored_filters(node, graph), np.abs(filter_zeros(node, graph))
    rows = stored.reshape(len(stored), -1)
    found: Integers = largest_sum(rows, magnitude) + magnitude * zeros * rows.shape[1]
    return found


def largest_sum(filters: Integers, magnitude: int) -> Integers:
    """By filter (out_c, numbers) the most that a part of its sum is in magnitude, of inputs of at
    most this ``magnitude``."""
    found: Integers = magnitude * np.abs(filters).sum(axis=1)
    return found
