"""Layers of a quantised model whose sums are whole numbers: what becomes of these.

An input of int8, filters of int8 in units, and a result of int8 that nothing but rounding and
bounds stand in front of: then a layer can be computed exactly, in integers alone (`Fixed`).  A bias
that float32 cannot tell from a whole number of units, as models state them, is that number; others
are what they are.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from edgeconv.encoding import INT8, Encoding
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.requantisation import Fixed, Sums, fixed

Integers = npt.NDArray[np.int64]
# A bias is a float32 product of an integer and a float32 scale: two roundings of 2^-24.
_SAME = 2.0**-22
_LARGEST = 2**31 - 1
_MOST = 4096  # layers whose forms are kept, with the constants they were made from
_known: dict[Hashable, tuple[object, Fixed | None]] = {}


def multiples(node: Node, graph: Graph) -> Integers:
    """The filters of a Conv or Dense node as the integers that they are, in their shape."""
    weights = graph[node.inputs[1]].constant().astype(np.float64)
    units = np.asarray(node.attrs["storage"].scale).reshape(-1, *(1,) * (weights.ndim - 1))
    whole: Integers = np.rint(weights / units).astype(np.int64)
    return whole


def form_of(node: Node, graph: Graph) -> Fixed | None:
    """How the sums of a Conv or Dense node become its result; None where it is not as above, or no
    form is proven.  ``start`` has the zero point of the input in it: padding counts as that."""
    x, y = graph[node.inputs[0]].storage, graph[node.output].storage
    stored: Encoding | None = node.attrs.get("storage")
    if stored is None or not _is_whole(x, stored, y) or not _is_rounded(node.epilogue, y):
        return None
    constants = tuple(graph[name].data for name in node.inputs[1:] if name)
    key = (*map(id, constants), stored, x, y, node.epilogue)
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = constants, _form(node, graph)
    return _known[key][1]


def _is_whole(x: Encoding, filters: Encoding, y: Encoding) -> bool:
    scaled = x.affine and x.is_per_tensor and y.affine and y.is_per_tensor
    return scaled and filters.element == INT8 and bool(filters.scale) and min(filters.scale) > 0


def _is_rounded(epilogue: Epilogue, y: Encoding) -> bool:
    """Nothing but a grid stands behind the sums, that of the result."""
    before = epilogue.before
    plain = epilogue.is_only_before and before.kind == "grid"
    return plain and replace(y, scale=(before.alpha,), zero=(0,)) == replace(y, zero=(0,))


def _form(node: Node, graph: Graph) -> Fixed | None:
    x, y, before = graph[node.inputs[0]].storage, graph[node.output].storage, node.epilogue.before
    w = multiples(node, graph).reshape(graph[node.inputs[1]].shape[0], -1)
    unit = np.asarray(node.attrs["storage"].scale, np.float64) * x.scale[0]
    name = node.inputs[2] if len(node.inputs) > 2 else ""
    bias = graph[name].constant().astype(np.float64) if name else np.zeros(len(w))
    units, rest = _in_units(bias, unit)
    whole = units - x.zero[0] * w.sum(axis=1)
    least = np.minimum(w * x.low, w * x.high).sum(axis=1)
    most = np.maximum(w * x.low, w * x.high).sum(axis=1)
    low, high = (max(y.low, min(y.high, round(b) + y.zero[0])) for b in (before.beta, before.gamma))
    sums = Sums(unit, rest, least + whole, most + whole, y.scale[0], y.zero[0], low, high)
    found = fixed(sums)
    if found is None:
        return None
    start = found.start + whole
    reach = np.abs(start) - np.minimum(np.abs(w).sum(axis=1) * x.low, 0)  # of a part of a sum too
    fits = bool((reach <= _LARGEST).all())
    return replace(found, start=start.astype(np.int32)) if fits else None


def _in_units(
    bias: npt.NDArray[np.float64], unit: npt.NDArray[np.float64]
) -> tuple[Integers, npt.NDArray[np.float64]]:
    """Of each channel the units of its bias, and the bias that is left beside them."""
    count = np.rint(np.clip(bias / unit, -_LARGEST, _LARGEST))
    same = np.abs(count * unit - bias) <= _SAME * np.abs(bias)
    return np.where(same, count, 0).astype(np.int64), np.where(same, 0.0, bias)
