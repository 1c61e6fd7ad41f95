"""What evaluating a node would take, before it is evaluated.

A Range to 2^40, an Expand or a Tile takes a few bytes to ask for.  Shape inference knows the size
of the result without computing it; the rest is known by operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from edgeconv.base import limits
from edgeconv.model.frontend.schedule import label, subgraphs
from edgeconv.model.frontend.values import static_shape

Values = npt.NDArray[Any]
Inputs = Mapping[str, Values]

# Evaluated by loops without a bound, or by programs of their own.
_UNBOUNDED = frozenset({"ImageDecoder", "RegexFullMatch", "SequenceMap", "TfIdfVectorizer"})

# The result has at most as many elements as the first input, times its rank.
_NO_LARGER = frozenset({"Compress", "NonZero", "Unique"})

# The same elements under another shape: nothing is allocated for long.
_VIEWS = frozenset({"Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze"})

# onnx.reference has a Python loop over the elements of the result.
_LOOPS = frozenset(
    {
        *("AveragePool", "MaxPool", "LpPool", "MaxRoiPool", "RoiAlign", "GridSample", "Col2Im"),
        *("DeformConv", "NonMaxSuppression", "LSTM", "GRU", "RNN", "STFT", "DFT", "AffineGrid"),
    }
)
_LOOP_WORK = 1000  # operations of numpy in the time of one turn of a Python loop


def _shapes(node: onnx.NodeProto, values: Inputs) -> list[tuple[int, ...]]:
    return [values[name].shape for name in node.input if name]


def _attribute(node: onnx.NodeProto, name: str) -> Any:
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), None)


def _einsum(node: onnx.NodeProto, values: Inputs) -> int:
    """The sizes of all indices that occur, an upper bound of what is summed."""
    return math.prod(math.prod(shape) for shape in _shapes(node, values))


# Operations for one element of the result.
_WORK: dict[str, Callable[[onnx.NodeProto, Inputs], int]] = {
    **dict.fromkeys(("MatMul", "Gemm"), lambda node, values: max(_shapes(node, values)[0] or (1,))),
    **dict.fromkeys(
        ("Conv", "ConvTranspose", "DeformConv"),
        lambda node, values: math.prod(_shapes(node, values)[1][1:]),
    ),
    **dict.fromkeys(
        ("AveragePool", "MaxPool", "LpPool"),
        lambda node, _: math.prod(_attribute(node, "kernel_shape") or ()),
    ),
    "Einsum": _einsum,
}


def allowed(
    node: onnx.NodeProto, values: Inputs, kinds: Mapping[str, onnx.TypeProto], before: int
) -> int | None:
    """Bytes that the results of ``node`` take; None where no bound of them is known.

    ``kinds``: the types of its outputs.  ``before``: bytes that were evaluated already.  Raises
    EdgeconvError where that, or the time it takes, exceeds a limit.
    """
    if node.op_type in _UNBOUNDED or any(subgraphs(node)):
        return None
    where = f"node {label(node)!r} ({node.op_type})"
    total = elements = 0
    for name in filter(None, node.output):
        count = _elements(node, kinds.get(name), values)
        if count is None:
            return None
        limits.held("tensor-elements", count, where, "too large to evaluate")
        elements += count
        total += count * _itemsize(kinds.get(name))
    if node.op_type in _VIEWS:
        return 0
    limits.held("folded-bytes", before + total, where, "too large to evaluate")
    work = elements * (_LOOP_WORK if node.op_type in _LOOPS else 1)
    if per_element := _WORK.get(node.op_type):
        work *= per_element(node, values)
    limits.held("folded-operations", work, where, "takes too long to evaluate")
    return total


def _elements(node: onnx.NodeProto, kind: onnx.TypeProto | None, values: Inputs) -> int | None:
    """Elements of an output; None if unknown."""
    shape = static_shape(kind) if kind is not None and kind.HasField("tensor_type") else None
    if shape is not None and min(shape, default=0) >= 0:
        return math.prod(shape)
    if node.op_type in _NO_LARGER:
        first = values[node.input[0]]
        return first.size * max(first.ndim, 1)
    return None


def _itemsize(kind: onnx.TypeProto | None) -> int:
    if kind is None or kind.tensor_type.elem_type not in onnx.TensorProto.DataType.values()[1:]:
        return np.dtype(np.int64).itemsize
    dtype: np.dtype[Any] = helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)
    return dtype.itemsize
