"""Operators that compute every element of a data-dependent dimension by itself: on a tensor as
large as it may get they are what they were."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from edgeconv.model.frontend.data_dependent.node import DataDependent, RefusedError, Work, placed
from edgeconv.model.frontend.data_dependent.sizes import (
    Dim,
    Dims,
    Size,
    highest,
    largest,
    lowest,
    most,
)

Rule = Callable[[Work], list[DataDependent]]

_ELEMENT_WISE = (
    *("Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "BitShift"),
    *("BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "CastLike", "Ceil", "Celu"),
    *("Clip", "Cos", "Cosh", "Div", "Dropout", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu"),
    *("Greater", "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN"),
    *("LeakyRelu", "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish", "Mod", "Mul", "Neg"),
    *("Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin"),
    *("Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Swish", "Tan", "Tanh"),
    *("ThresholdedRelu", "Where", "Xor"),
)
# Operators on images or rows, whose first dimension is that of a batch.
_BATCHES = (
    *("AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace", "Gemm"),
    *("GlobalAveragePool", "GlobalMaxPool", "GroupNormalization", "InstanceNormalization", "LRN"),
    *("MaxPool", "SpaceToDepth"),
)


def together(work: Work, dims: list[Dims]) -> Dims:
    """The dimensions that tensors have in common, counted from the last one."""
    rank = max(map(len, dims))
    wide = [(1,) * (rank - len(each)) + each for each in dims]
    return tuple(_common(work, each) for each in zip(*wide, strict=True))


def _common(work: Work, dims: tuple[Dim, ...]) -> Dim:
    data_dependent = [dim for dim in dims if isinstance(dim, Size)]
    fixed = {dim for dim in dims if isinstance(dim, int)} - {1}
    if data_dependent and fixed:
        raise RefusedError(f"a size that is data-dependent meets {min(fixed)}")
    for other in data_dependent[1:]:
        work.check_equal(data_dependent[0], other)
    return (
        min(data_dependent, key=most)
        if data_dependent
        else max(fixed, default=1)
        if 0 not in fixed
        else 0
    )


def _element_wise(work: Work) -> list[DataDependent]:
    """Inputs of sizes whose maxima differ are cut to the smallest first."""
    names = [name for name in work.inputs if name]
    dims = together(work, [work.dims(name) for name in names])
    for at, name in enumerate(work.node.input):
        if name and work.is_data_dependent(name):
            work.replace(at, work.cut_to(name, dims[len(dims) - len(work.dims(name)) :]))
    names = work.add_own(len(work.node.output))  # Dropout has two
    return [DataDependent(name, dims) for name in names]


def _quantised(work: Work) -> list[DataDependent]:
    """By one scale, or by those of a dimension that is not data-dependent."""
    x, scale, *_ = work.inputs
    dims = work.dims(x)
    if any(name and work.is_data_dependent(name) for name in work.inputs[1:]):
        raise RefusedError("the size of its scale is data-dependent")
    if math.prod(largest(work.dims(scale))) > 1:
        blocks = len(work.dims(scale)) > 1
        for axis in range(len(dims)) if blocks else (int(work.attrs.get("axis", 1)),):
            _along(work, axis)
    return [DataDependent(work.add_own()[0], dims)]


def _batches(work: Work) -> list[DataDependent]:
    x, *others = work.inputs
    _first_only(work, x)
    if work.attrs.get("transA", 0):
        raise RefusedError("it sums over a dimension whose size is data-dependent")
    if any(name and work.is_data_dependent(name) for name in others):
        raise RefusedError("the size of its second operand is data-dependent")
    rows = work.dims(x)[0]
    names = work.add_own(len(work.node.output))  # MaxPool has places, too
    return [DataDependent(name, (rows, *work.dims(name)[1:]) if name else ()) for name in names]


def _first_only(work: Work, name: str) -> None:
    if not work.is_data_dependent(name) or not isinstance(work.dims(name)[0], Size):
        raise RefusedError("what is data-dependent is not its first dimension")


def _along(work: Work, axis: int) -> None:
    """Refuse what mixes the elements of the dimension that is data-dependent."""
    dims = work.dims(work.inputs[0])
    if isinstance(dims[placed(axis, len(dims))], Size):
        raise RefusedError("it reads along a dimension whose size is data-dependent")


def _softmax(work: Work) -> list[DataDependent]:
    dims = work.dims(work.inputs[0])
    newest = 13  # before, all dimensions from the axis on
    old = work.visit.scope.opsets.get("", newest) < newest
    first = placed(work.attrs.get("axis", 1 if old else -1), len(dims))
    if any(isinstance(dim, Size) for dim in (dims[first:] if old else dims[first : first + 1])):
        work.replace(0, work.masked(work.inputs[0], -math.inf))
    return [DataDependent(work.add_own()[0], dims)]


def _layer_normalization(work: Work) -> list[DataDependent]:
    dims = work.dims(work.inputs[0])
    first = placed(work.attrs.get("axis", -1), len(dims))
    for axis in range(first, len(dims)):
        _along(work, axis)
    result, *statistics = work.add_own(len(work.node.output))
    left = (*dims[:first], *(1 for _ in dims[first:]))
    return [DataDependent(result, dims), *(DataDependent(name, left) for name in statistics)]


def _cumulative(work: Work) -> list[DataDependent]:
    dims = work.dims(work.inputs[0])
    axis = int(work.one(1, "axis"))
    if work.attrs.get("reverse", 0) and isinstance(dims[placed(axis, len(dims))], Size):
        neutral = int(work.node.op_type == "CumProd")
        work.replace(0, work.masked(work.inputs[0], neutral))
    return [DataDependent(work.add_own()[0], dims)]


def _transpose(work: Work) -> list[DataDependent]:
    dims = work.dims(work.inputs[0])
    perm = work.attrs.get("perm", range(len(dims))[::-1])
    return [DataDependent(work.add_own()[0], tuple(dims[axis] for axis in perm))]


def _axes(work: Work) -> list[int] | None:
    if "axes" in work.attrs:
        return [int(axis) for axis in work.attrs["axes"]]
    if not work.given(1):
        return None
    return [int(axis) for axis in work.needed(1, "axes").reshape(-1)]


def _unsqueeze(work: Work) -> list[DataDependent]:
    dims, axes = work.dims(work.inputs[0]), _axes(work) or []
    rank = len(dims) + len(axes)
    ones, left = {placed(axis, rank) for axis in axes}, iter(dims)
    made = tuple(1 if axis in ones else next(left) for axis in range(rank))
    return [DataDependent(work.add_own()[0], made)]


def _squeeze(work: Work) -> list[DataDependent]:
    dims, axes = work.dims(work.inputs[0]), _axes(work)
    if axes is None:
        gone = {axis for axis, dim in enumerate(dims) if dim == 1}
    else:
        gone = {placed(axis, len(dims)) for axis in axes}
    if any(isinstance(dims[axis], Size) for axis in gone):
        raise RefusedError("it takes a dimension away whose size is data-dependent")
    name = work.add("Squeeze", work.plain(work.inputs[0]), work.constant(sorted(gone)))
    return [DataDependent(name, tuple(dim for axis, dim in enumerate(dims) if axis not in gone))]


def _split(work: Work) -> list[DataDependent]:
    dims = work.dims(work.inputs[0])
    axis = placed(work.attrs.get("axis", 0), len(dims))
    _along(work, axis)
    if work.given(1):
        work.needed(1, "sizes")
    names = work.add_own(len(work.node.output))
    found = []
    for name in names:
        size = work.dims(name)[axis] if name else 1
        found.append(DataDependent(name, (*dims[:axis], size, *dims[axis + 1 :])))
    return found


def _matmul(work: Work) -> list[DataDependent]:
    """Rows of the first operand, whole matrices, or sums over what is data-dependent, zeros behind
    it."""
    a, b = (work.dims(name) for name in work.inputs)
    (summed,) = together(work, [a[-1:], b[-2:-1] or b])
    outer = together(work, [a[:-2], b[:-2]])
    wanted = (*a[:-1], summed), (*b[:-2], summed, b[-1]) if len(b) > 1 else (summed,)
    for at, (name, dims) in enumerate(zip(work.inputs, wanted, strict=True)):
        plain = work.cut_to(name, dims)
        if isinstance(summed, Size):
            plain = work.put_behind(DataDependent(plain, dims), 0)
        work.replace(at, plain)
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    return [DataDependent(work.add_own()[0], (*outer, *rows, *columns))]


def _regions(work: Work) -> list[DataDependent]:
    """RoiAlign: of every region by itself."""
    image, regions, batch = work.inputs
    if work.is_data_dependent(image):
        raise RefusedError("the size of its image is data-dependent")
    dims = together(work, [work.dims(regions)[:1], work.dims(batch)])
    largest_ = most(dims[0])
    for at, name in ((1, regions), (2, batch)):
        if work.is_data_dependent(name) and most(work.dims(name)[0]) > largest_:
            work.replace(at, work.cut(work.plain(name), 0, 0, largest_))
    name, *_ = work.add_own()
    return [DataDependent(name, (*dims, *work.dims(name)[1:]))]


def _reduce(op_type: str) -> Rule:
    def rule(work: Work) -> list[DataDependent]:
        name, given = work.inputs[0], _axes(work)
        dims = work.dims(name)
        axes = (
            range(len(dims))
            if given is None or not given
            else [placed(a, len(dims)) for a in given]
        )
        keep = bool(work.attrs.get("keepdims", 1))
        if not given and work.attrs.get("noop_with_empty_axes", 0):
            axes = []
        at = {axis for axis in axes if isinstance(dims[axis], Size)}
        if at:
            work.replace(0, work.masked(name, _neutral(op_type, work.dtype(work.plain(name)))))
        result, *_ = work.add_own()
        if at and op_type == "ReduceMean":
            result = _by_count(work, result, dims, set(axes))
        left = (
            1 if axis in axes else dim for axis, dim in enumerate(dims) if keep or axis not in axes
        )
        return [DataDependent(result, tuple(left))]

    return rule


def _by_count(work: Work, mean: str, dims: Dims, axes: set[int]) -> str:
    """The mean over as many as there are, of that over as many as there may be."""
    if work.dtype(mean).kind != "f":
        raise RefusedError("the mean of integers, of which the number is data-dependent")
    dtype = work.dtype(mean)
    (at,) = (axis for axis in axes if isinstance(dims[axis], Size))
    # Of nothing it is 0, as ONNX Runtime has it; the definition leaves it open.
    at_least_one = work.add("Max", work.number(dims[at]), work.number(1))
    number = work.add("CastLike", at_least_one, mean)
    number = work.add("Reshape", number, _ones(work, mean))
    total = work.add("Mul", mean, work.constant(most(dims[at]), dtype))
    return work.add("Div", total, number)


def _ones(work: Work, name: str) -> str:
    """The shape of one number that has as many dimensions."""
    return work.constant(np.ones(len(work.dims(name)), np.int64))


def _neutral(op_type: str, dtype: np.dtype[Any]) -> int | float | bool:
    """What changes nothing in a reduction."""
    if op_type in ("ReduceMax", "ReduceMin"):
        if dtype == np.bool_:
            return op_type == "ReduceMin"
        return lowest(dtype) if op_type == "ReduceMax" else highest(dtype)
    return int(op_type == "ReduceProd")


def _arg(op_type: str) -> Rule:
    def rule(work: Work) -> list[DataDependent]:
        name = work.inputs[0]
        dims = work.dims(name)
        axis = placed(work.attrs.get("axis", 0), len(dims))
        if isinstance(dims[axis], Size):
            reduction = "ReduceMax" if op_type == "ArgMax" else "ReduceMin"
            work.replace(0, work.masked(name, _neutral(reduction, work.dtype(work.plain(name)))))
        keep = (1,) if work.attrs.get("keepdims", 1) else ()
        found, *_ = work.add_own()
        if isinstance(dims[axis], Size) and work.attrs.get("select_last_index", 0):
            # Elements that are as neutral as what is behind them are found there.
            last = work.add("Reshape", work.number(dims[axis] - 1), _ones(work, found))
            found = work.add("Min", found, last)
        return [DataDependent(found, (*dims[:axis], *keep, *dims[axis + 1 :]))]

    return rule


_REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd")

CARRIED: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(_ELEMENT_WISE, _element_wise),
        **dict.fromkeys(_BATCHES, _batches),
        **{name: _reduce(name) for name in (*_REDUCTIONS, "ReduceSum", "ReduceSumSquare")},
        **{name: _arg(name) for name in ("ArgMax", "ArgMin")},
        **dict.fromkeys(("CumSum", "CumProd"), _cumulative),
        **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), _quantised),
        **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
        **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _layer_normalization),
        "MatMul": _matmul,
        "RoiAlign": _regions,
        "Split": _split,
        "Squeeze": _squeeze,
        "Transpose": _transpose,
        "Unsqueeze": _unsqueeze,
    }
)
