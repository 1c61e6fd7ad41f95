"""Operators that find places, that read or write at places, and that make tensors of sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from edgeconv.model.frontend.tflite.elements import alike, element, is_quantised
from edgeconv.model.frontend.tflite.writing import LAST, Translator, UnsupportedError, Writing
from edgeconv.model.tflite import Operator


def extreme_place(kind: str) -> Translator:
    """ONNX's ``kind``, ArgMax or ArgMin: of equal elements the first."""

    def write(out: Writing, operator: Operator) -> None:
        axis = out.number(operator, 1, "an axis")
        y = out.add(kind, [out.stored(operator, 0)], main=True, axis=axis, keepdims=0)
        out.move(operator, _as_result(out, operator, y))

    return write


def _as_result(out: Writing, operator: Operator, name: str, index: int = 0) -> str:
    """Places, int64 in ONNX, in the type of output ``index``."""
    kind = element(out.model.tensors[operator.outputs[index]])
    return name if kind == TensorProto.INT64 else out.add("Cast", [name], to=kind)


def top_k(out: Writing, operator: Operator) -> None:
    """TOPK_V2: the largest k of each row, and their places."""
    count = out.value([out.number(operator, 1, "a count")])
    if len(operator.outputs) != 2:
        raise UnsupportedError(f"{len(operator.outputs)} results")
    values, places = out.add_all("TopK", [out.stored(operator, 0), count], 2, main=True, axis=-1)
    out.move(operator, values)
    out.move(operator, _as_result(out, operator, places, 1), 1)


def gather_nd(out: Writing, operator: Operator) -> None:
    """GATHER_ND: what lies at places of several indices each."""
    inputs = [out.stored(operator, 0), _places(out, operator, 1)]
    out.move(operator, out.add("GatherND", inputs, main=True))


def embedding_lookup(out: Writing, operator: Operator) -> None:
    """EMBEDDING_LOOKUP: rows of the second operand, integers as the real numbers that they are
    where the result has these."""
    target, table = out.model.tensors[operator.outputs[0]], out.tensor(operator, 1)
    take = out.stored if alike(table, target) else out.real
    y = out.add("Gather", [take(operator, 1), out.stored(operator, 0)], main=True, axis=0)
    if alike(table, target):
        out.move(operator, y)
    else:
        out.result(operator, y)


def scatter_nd(out: Writing, operator: Operator) -> None:
    """SCATTER_ND: zeros of a shape, and updates added to them at places."""
    shape = out.whole(operator, 2, "a shape")
    dtype = out.tensor(operator, 1).dtype
    if is_quantised(out.tensor(operator, 1)):
        raise UnsupportedError("adds integers with a scale")
    zeros = out.value(np.zeros(shape), np.dtype(dtype))
    inputs = [zeros, _places(out, operator, 0), out.stored(operator, 1)]
    out.move(operator, out.add("ScatterND", inputs, main=True, reduction="add"))


def dynamic_update_slice(out: Writing, operator: Operator) -> None:
    """DYNAMIC_UPDATE_SLICE: a block written where it begins, moved so that all of it fits."""
    shape, block = out.tensor(operator, 0).shape, out.tensor(operator, 1).shape
    if len(shape) != len(block) or any(b > s for b, s in zip(block, shape, strict=True)):
        raise UnsupportedError(f"a block {list(block)} in {list(shape)}")
    if not shape:
        out.move(operator, out.stored(operator, 1))
        return
    begin = _places(out, operator, 2)
    room = [size - part for size, part in zip(shape, block, strict=True)]
    begin = out.add("Max", [out.add("Min", [begin, out.value(room)]), out.value([0] * len(shape))])
    within = np.stack(np.meshgrid(*map(np.arange, block), indexing="ij"), axis=-1)
    places = out.add("Add", [out.value(within), begin])
    inputs = [out.stored(operator, 0), places, out.stored(operator, 1)]
    out.move(operator, out.add("ScatterND", inputs, main=True))


def _places(out: Writing, operator: Operator, index: int) -> str:
    """Indices in the type that ONNX has them in."""
    name = out.stored(operator, index)
    if out.tensor(operator, index).dtype == "int64":
        return name
    return out.add("Cast", [name], to=TensorProto.INT64)


def reverse(out: Writing, operator: Operator) -> None:
    """REVERSE_V2: back to front along some axes."""
    axes = out.whole(operator, 1, "axes")
    y = reversed_along(out, out.stored(operator, 0), axes, main=True)
    out.move(operator, y)


def reversed_along(out: Writing, name: str, axes: Sequence[int], *, main: bool = False) -> str:
    """The tensor back to front along ``axes``."""
    count = len(axes)
    bounds = ([-1] * count, [-LAST] * count, axes, [-1] * count)
    return out.add("Slice", [name, *map(out.value, bounds)], main=main)


def reverse_sequence(out: Writing, operator: Operator) -> None:
    """REVERSE_SEQUENCE: the first elements of each sequence back to front, as many as an operand
    says."""
    axes = operator.options["seq_dim"], operator.options["batch_dim"]
    rank = len(out.tensor(operator, 0).shape)
    if sorted(axes) != [0, 1]:
        raise UnsupportedError(f"sequences along axis {axes[0]} of {rank}, of axis {axes[1]}")
    inputs = [out.stored(operator, 0), _places(out, operator, 1)]
    y = out.add("ReverseSequence", inputs, main=True, time_axis=axes[0], batch_axis=axes[1])
    out.move(operator, y)


def cumulative_sum(out: Writing, operator: Operator) -> None:
    """CUMSUM along an axis."""
    axis = out.value(out.number(operator, 1, "an axis"))
    options = {name: int(operator.options[name]) for name in ("exclusive", "reverse")}
    y = out.add("CumSum", [out.operand(operator, 0), axis], main=True, **options)
    out.result(operator, y)


def fill(out: Writing, operator: Operator) -> None:
    """FILL: one number, in a shape."""
    shape = _places(out, operator, 0)
    out.move(operator, out.add("Expand", [out.stored(operator, 1), shape], main=True))


def zeros_like(out: Writing, operator: Operator) -> None:
    """ZEROS_LIKE: integers that are 0, whatever number they stand for, as the kernels have it."""
    tensor = out.tensor(operator, 0)
    shape = out.add("Shape", [out.stored(operator, 0)])
    zero = out.value(0, np.dtype(tensor.dtype))
    out.move(operator, out.add("Expand", [zero, shape], main=True))


def numbers_between(out: Writing, operator: Operator) -> None:
    """RANGE: from a number on, below another, with a step."""
    inputs = [out.stored(operator, index) for index in range(3)]
    out.move(operator, out.add("Range", inputs, main=True))


def rank(out: Writing, operator: Operator) -> None:
    """RANK: how many dimensions there are."""
    out.move(operator, out.value(len(out.tensor(operator, 0).shape), np.int32))


def broadcast_args(out: Writing, operator: Operator) -> None:
    """BROADCAST_ARGS: the shape that two shapes are broadcast to."""
    tensors = [out.tensor(operator, index) for index in range(2)]
    most = max(math.prod(tensor.shape) for tensor in tensors)
    each = []
    for index, tensor in enumerate(tensors):
        missing = most - math.prod(tensor.shape)
        ones = [out.value([1] * missing, np.dtype(tensor.dtype))] if missing else []
        name = out.stored(operator, index)
        each.append(out.add("Concat", [*ones, name], axis=0) if ones else name)
    is_one = out.add("Equal", [each[0], out.value(1, np.dtype(tensors[0].dtype))])
    out.move(operator, out.add("Where", [is_one, each[1], each[0]], main=True))


def one_hot(out: Writing, operator: Operator) -> None:
    """ONE_HOT: a number at each index along a new axis, another one elsewhere."""
    depth = out.number(operator, 1, "a depth")
    if not alike(out.tensor(operator, 2), out.tensor(operator, 3)):
        raise UnsupportedError("two numbers of different scales")
    ends = [out.add("Reshape", [out.stored(operator, index), out.value([1])]) for index in (3, 2)]
    # A negative index stands for none here, where ONNX counts it from the end.
    places = _places(out, operator, 0)
    none = out.add("Less", [places, out.value(0)])
    places = out.add("Where", [none, out.value(depth), places])
    inputs = [places, out.value([depth]), out.add("Concat", ends, axis=0)]
    y = out.add("OneHot", inputs, main=True, axis=operator.options["axis"])
    out.move(operator, y)
