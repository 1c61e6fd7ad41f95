"""Functions of one tensor of int16, or of two of int16 or int8, in TensorFlow Lite's arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from edgeconv.ir.activation import NONE, Activation
from edgeconv.ir.encoding import INT16, Encoding
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.quantisation import OF_SCALE
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.tflite_pairs import (
    Operand,
    doubled_leaky,
    doubled_prelu,
    doubled_squares,
)
from edgeconv.ir.requantisation.tflite_short import (
    Doubled,
    doubled_one,
    doubled_product,
    doubled_sum,
    short_function,
)
from edgeconv.kernels.algorithms.sums import bounds_in, rounds_to
from edgeconv.kernels.lowering.integers import all_int8, with_int16

_Pair = Callable[[Operand, Operand, Affine, int, int], Doubled | None]


def _sum(a: Operand, b: Operand, y: Affine, low: int, high: int) -> Doubled | None:
    return doubled_sum(a.stored, b.stored, y, low, high)


def _difference(a: Operand, b: Operand, y: Affine, low: int, high: int) -> Doubled | None:
    return doubled_sum(a.stored, replace(b.stored, scale=-b.stored.scale), y, low, high)


def _product(a: Operand, b: Operand, y: Affine, low: int, high: int) -> Doubled | None:
    return doubled_product(a.stored, b.stored, y, low, high)


# Of int16; those of int8 have kernels of their own.
_SHORT_PAIRS: Mapping[str, _Pair] = MappingProxyType(
    {"add": _sum, "sub": _difference, "mul": _product}
)
_PAIRS: Mapping[str, _Pair] = MappingProxyType(
    {"prelu": doubled_prelu, "squared_difference": doubled_squares}
)


def of_pair(node: Node, graph: Graph) -> Doubled | None:
    """The function of a Binary node of two tensors, or of one and a constant; None where it is
    none."""
    kind, rounding = str(node.attrs["kind"]), node.epilogue.before
    y = graph[node.output].storage
    made = _PAIRS.get(kind)
    if made is None and any(graph[name].element_bytes == 2 for name in node.inputs):
        made = _SHORT_PAIRS.get(kind)
    whole = with_int16(node, graph) or (kind in _PAIRS and all_int8(node, graph))
    if made is None or not (whole and node.epilogue.is_only_before and rounds_to(rounding, y)):
        return None
    a, b = (_operand(name, node, graph) for name in node.inputs)
    if a is None or b is None:
        return None
    return made(a, b, Affine.of(y), *bounds_in(rounding, y))


def _operand(name: str, node: Node, graph: Graph) -> Operand | None:
    """What the integers of an operand stand for; None of a constant of no such ones.  A constant
    has as many bits as the tensor beside it."""
    if not graph[name].is_constant:
        return Operand.of(graph[name].storage)
    whole = whole_constant(name, node, graph)
    if whole is None:
        return None
    reach = int(np.abs(whole.constant().astype(np.int64)).max(initial=0))
    beside = next(graph[each] for each in node.inputs if not graph[each].is_constant)
    return Operand(Affine(node.attrs[OF_SCALE], 0), beside.storage.bits, reach)


def whole_constant(name: str, node: Node, graph: Graph) -> Tensor | None:
    """A constant as the int16 that it stands for; None of others."""
    scale, tensor = node.attrs.get(OF_SCALE), graph[name]
    if scale is None:
        return None
    whole = np.rint(tensor.constant().astype(np.float64) / scale)
    if np.abs(whole).max(initial=0) > INT16.high:
        return None
    return replace(tensor, dtype="int16", data=whole.astype(np.int16))


@lru_cache(maxsize=1024)
def of_one(function: Activation, x: Encoding, y: Encoding, low: int, high: int) -> Doubled | None:
    """The function of one tensor on another grid than the result; None where it is none."""
    if function == NONE:
        return doubled_one(Affine.of(x), Affine.of(y), low, high)
    if function.kind == "leaky_relu":
        return doubled_leaky(Operand.of(x), function.alpha, Affine.of(y), low, high)
    return short_function(function.kind, x, y, low, high) if function.kind in SHORT else None


SHORT = frozenset({"sigmoid", "tanh"})  # whose kernels read a table
