"""Products of two int8 tensors that are both computed at run time: what becomes of their sums.

    sum_k (a[m, k] - zero_a) (b[k, n] - zero_b)

is a whole number, in units of the product of both scales, and all columns n share how it becomes a
result.  Kernels multiply the integers as they are stored, b in the place of filters: sums start
with zero_a times that of their column, and that of their row counts zero_b times.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from edgeconv.ir.activation import Activation
from edgeconv.ir.encoding import INT8, Encoding
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.requantisation import ARITHMETICS, EXACT, Form, Sums
from edgeconv.ir.requantisation.scalings import right_of
from edgeconv.kernels.algorithms.sums import (
    are_scales,
    bounds_in,
    form_shifted,
    pair_of,
    rounded_to,
)

PRODUCT = "MatMul"
PLACES = "places"  # attribute of one that reads, and writes, by steps: a `products.Product`
_LARGEST = 2**31 - 1
# What a product of two bytes, one of them unsigned, its column's and its row's share of zero points
# are together in magnitude, at most.
_MOST = 255 * 128 + 255 * 255 + 128 * 255


def depth_of(node: Node, graph: Graph) -> int:
    """How many products a sum of a MatMul node has."""
    found: int = node.attrs[PLACES].k if PLACES in node.attrs else graph[node.inputs[0]].shape[-1]
    return found


def form_of_product(node: Node, graph: Graph) -> Form | None:
    """How the sums of a MatMul node become its result; None where an operand or what they are
    rounded to is no int8 of one scale, or no form is proven.  ``start`` is a number of one entry,
    without what zero points add."""
    y = rounded_to(node, graph)
    if y is None or y.element != INT8 or not _is_whole(node, graph):
        return None
    if not node.epilogue.is_only_before and pair_of(node, graph) is None:
        return None
    a, b = (graph[name].storage for name in node.inputs)
    depth, before = depth_of(node, graph), node.epilogue.before
    if not are_scales(y.scale):
        return None
    return _form(graph.requantise, right_of(graph.scaling), a, b, y, before, depth)


def unit_of_product(node: Node, graph: Graph) -> float | None:
    """What the sums of a MatMul node count in, where nothing but real numbers is made of them; None
    where an operand is no int8 of one scale."""
    if not _is_whole(node, graph) or graph.requantise != EXACT:
        return None
    a, b = (graph[name].storage for name in node.inputs)
    fits = _MOST * depth_of(node, graph) <= _LARGEST
    return float(np.float32(a.scale[0] * b.scale[0])) if fits else None


def _is_whole(node: Node, graph: Graph) -> bool:
    operands = [graph[name] for name in node.inputs]
    return not node.epilogue.residual and all(  # which no pass makes
        not each.is_constant
        and each.storage.element == INT8
        and each.storage.is_per_tensor
        and are_scales(each.storage.scale)
        for each in operands
    )


@lru_cache(maxsize=4096)
def _form(
    arithmetic: str,
    right: int,
    a: Encoding,
    b: Encoding,
    y: Encoding,
    before: Activation,
    depth: int,
) -> Form | None:
    ends = np.outer(
        [each - a.zero[0] for each in (a.low, a.high)],
        [each - b.zero[0] for each in (b.low, b.high)],
    )
    least, most = (np.array([depth * bound], np.int64) for bound in (ends.min(), ends.max()))
    unit = ARITHMETICS[arithmetic].unit(a.scale[0], np.array(b.scale, np.float64), True)
    low, high = bounds_in(before, y)
    nothing = np.zeros(1)
    sums = Sums(unit, nothing, least, most, y.scale[0], y.zero[0], low, high)
    found = form_shifted(sums, arithmetic, right)
    if found is None or _MOST * depth + abs(int(found.start[0])) > _LARGEST:
        return None
    return found
