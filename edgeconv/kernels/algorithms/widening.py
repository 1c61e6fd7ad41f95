"""Filters of a quantised model as int8, which is what kernels multiply, of the very same numbers.

The format that such a model needs is one candidate.  Of four bits or fewer it takes less flash, and
int8 in the same units has its integers; in smaller units, multiples of these.  Asymmetric filters,
integers less a zero point, are up to nine bits wide, and floats that hold these; but those of an
output channel span eight, so that int8 has them around a zero point of the channel:

    w = (q - zero[c]) * unit[c]
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from edgeconv.ir.encoding import INT8, Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.sums import form_of

Integers = npt.NDArray[np.int64]
_MOST = 4096  # filters whose zero points are kept, with the constants they were found for
_known: dict[Hashable, tuple[object, tuple[int, ...] | None]] = {}


def holds_integers_of(form: Encoding, other: Encoding) -> bool:
    """Whether ``form`` is of integers and has all of those of ``other``, which is, too."""
    return form.affine and other.affine and form.low <= other.low and other.high <= form.high


def widened(node: Node, graph: Graph) -> Node | None:
    """The Conv or Dense ``node`` with its filters in int8, the very same numbers, with zero points
    where they need any; None where they are int8 already, where int8 has not all of them, or where
    the user names the format."""
    stored, asked = node.storage, node.request
    if asked.storage is not None or not stored.scale or stored.element == INT8:
        return None
    if stored.affine:
        return _of_fewer_bits(node, graph, stored) if stored.bits < INT8.bits else None
    wide = _around_zero_points(node, graph, stored) if node.exact else None
    return _stored_as(node, wide) if wide else None


def _stored_as(node: Node, stored: Encoding) -> Node:
    made = replace(node.request, storage=stored, exact=node.exact)
    return replace(node, request=made)


def _of_fewer_bits(node: Node, graph: Graph, stored: Encoding) -> Node:
    """With its integers, or a power of two times these if that alone has a form: sums of few small
    integers are small, and multipliers of sums below a quarter."""
    plain = _stored_as(node, INT8.scaled(stored.scale))
    if form_of(plain, graph) is not None:
        return plain
    for bits in range(1, INT8.bits - stored.bits):  # without -128
        scales = tuple(scale / 2**bits for scale in stored.scale)
        larger = _stored_as(node, INT8.scaled(scales))
        if form_of(larger, graph) is not None:
            return larger
    return plain


def is_asymmetric(stored: Encoding) -> bool:
    """Whether filters stored so have zero points."""
    return any(stored.zero)


def zero_points(filters: Integers) -> Integers | None:
    """For each output channel (first axis) of ``filters`` the number nearest to 0 that brings them,
    and 0, into int8 when it is added, without -128 where that can be; None where they span more.

    So it is in int8 itself.  Products with -128 are the only ones of int8 of which two might not
    be added in 16 bits.
    """
    flat = filters.reshape(len(filters), -1)
    least, most = flat.min(axis=1, initial=0), flat.max(axis=1, initial=0)
    if (most - least > INT8.high - INT8.low).any():
        return None
    low = np.where(most - least > INT8.high - INT8.low - 1, INT8.low, INT8.low + 1)
    found: Integers = np.maximum(low - least, 0) + np.minimum(INT8.high - most, 0)
    return found


def _around_zero_points(node: Node, graph: Graph, stored: Encoding) -> Encoding | None:
    """int8 of the same units and zero points that bring the filters into it."""
    data = graph[node.inputs[1]].data
    key = (id(data), stored)
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = data, _found(node, graph, stored)
    zeros = _known[key][1]
    return None if zeros is None else replace(INT8.scaled(stored.scale), zero=zeros)


def _found(node: Node, graph: Graph, stored: Encoding) -> tuple[int, ...] | None:
    weights = graph[node.inputs[1]].constant().astype(np.float64)
    units = np.asarray(stored.scale).reshape(-1, *(1,) * (weights.ndim - 1))
    with np.errstate(all="ignore"):
        whole = np.rint(weights / units)
    if not whole.size or not np.isfinite(whole).all():
        return None
    if np.abs(whole).max() > INT8.high - INT8.low:
        return None
    zeros = zero_points(whole.astype(np.int64))
    return None if zeros is None else tuple(map(int, zeros))
