"""Evaluation of nodes whose value is known when compiling."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

Values = npt.NDArray[Any]

# Inputs of which only shape and type matter: operator -> their positions.
_VALUE_FREE: dict[str, frozenset[int]] = {
    "Shape": frozenset({0}),
    "Size": frozenset({0}),
    "EyeLike": frozenset({0}),
    "CastLike": frozenset({1}),
}

# onnx.reference departs from the definition: of older versions, and for LRN of all of them.
_UNRELIABLE = frozenset({"Hardmax", "LRN", "LogSoftmax", "Resize", "Softmax", "Upsample"})

_SCALED = frozenset({"DequantizeLinear", "QuantizeLinear"})

# onnx.reference starts here, with the meaning of all earlier versions.
_FIRST_OPSET = {"DequantizeLinear": 19}


def _gather_elements(node: onnx.NodeProto, data: Values, indices: Values) -> Values:
    """GatherElements; onnx.reference, by numpy's ``choose``, takes axes of a few entries only."""
    axis = next((helper.get_attribute_value(each) for each in node.attribute), 0)
    within = tuple(slice(size) for size in indices.shape)
    rest = tuple(slice(None) if i == axis % data.ndim else cut for i, cut in enumerate(within))
    # Bounds are not looked at here: numpy raises where an index lies outside.
    return np.take_along_axis(data[rest], indices, axis)


def _log_sum_exp(node: onnx.NodeProto, data: Values, axes: Values | None = None) -> Values:
    """ReduceLogSumExp; onnx.reference makes NaN of an infinite largest element."""
    attrs = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    given = attrs.get("axes", () if axes is None else axes)
    if len(given) == 0 and attrs.get("noop_with_empty_axes"):
        return data
    along = tuple(int(axis) for axis in given) or None
    numbers = data.astype(np.float64)
    largest = np.nan_to_num(numbers.max(along, keepdims=True, initial=-np.inf), nan=np.nan)
    with np.errstate(all="ignore"):
        result = np.log(np.exp(numbers - largest).sum(along, keepdims=True)) + largest
        kept = bool(attrs.get("keepdims", 1))
        found: Values = (result if kept else result.squeeze(along)).astype(data.dtype)
    return found


def _clip(node: onnx.NodeProto, data: Values, *given: Values | None) -> Values:
    """Clip; onnx.reference leaves infinities alone where a bound is absent, which is by ONNX the
    last number of the type.  A bound that is NaN bounds nothing, as `unary` has it."""
    attrs = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    named = dict(zip(("min", "max"), given, strict=False)) | attrs
    real = data.dtype in (np.float32, np.float64)
    ends = (np.finfo(data.dtype).min, np.finfo(data.dtype).max) if real else (None, None)
    for name, end, bounded in zip(("min", "max"), ends, (np.fmax, np.fmin), strict=True):
        bound = named.get(name)
        bound = end if bound is None else bound
        if bound is not None:
            within = bounded(data, np.asarray(bound, data.dtype))
            data = within if data.dtype.kind in "iub" else np.where(data != data, data, within)
    return data


_FARTHEST = 2.0**30  # in steps; beyond the last of every integer that is quantised to


def _within_int32(node: onnx.NodeProto, data: Values, scale: Values) -> Values:
    """``data`` of a QuantizeLinear to integers, bounded by numbers that saturate as it does.

    onnx.reference counts steps in int32, of which what has more of them, an infinity too, is the
    least one."""
    attrs = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    most = np.finfo(data.dtype).max if data.dtype.kind == "f" else np.iinfo(data.dtype).max
    bound = np.minimum(np.abs(scale.astype(np.float64)) * _FARTHEST, float(most))
    axis = attrs.get("axis", 1)
    if block := attrs.get("block_size", 0):
        size = data.shape[axis]
        bound = np.repeat(bound, block, axis).take(range(size), axis)
    elif scale.size > 1:
        bound = bound.reshape(-1, *(1,) * (data.ndim - 1 - axis % data.ndim))
    return np.clip(data, -bound, bound).astype(data.dtype)


# Where onnx.reference fails: operator -> what makes its only output of the node and its inputs.
_OWN: dict[str, Callable[..., Values]] = {
    "Clip": _clip,
    "GatherElements": _gather_elements,
    "ReduceLogSumExp": _log_sum_exp,
}


def _to_integers(node: onnx.NodeProto, values: Mapping[str, Values | None]) -> bool:
    """Whether a QuantizeLinear makes integers, which saturate."""
    zero = values.get(node.input[2]) if len(node.input) > 2 and node.input[2] else None
    to = next((each.i for each in node.attribute if each.name == "output_dtype"), 0)
    kind = helper.tensor_dtype_to_np_dtype(to) if to else np.dtype(np.uint8)
    return (kind if zero is None else zero.dtype).name.startswith(("int", "uint"))


def needed_inputs(node: onnx.NodeProto, reads: Sequence[str]) -> list[str]:
    """The values among ``reads`` that the result of ``node`` depends on."""
    free = _VALUE_FREE.get(node.op_type, frozenset())
    spared = {name for position, name in enumerate(node.input) if position in free}
    spared -= {name for position, name in enumerate(node.input) if position not in free}
    return [name for name in reads if name not in spared]


def placeholder(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Values:
    """An array that takes no memory, for an input of which only shape and type matter."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def unevaluated(values: Mapping[str, Values | None]) -> str:
    """Why a node of the constants ``values`` alone is refused: one without elements is one, too."""
    for name, value in values.items():
        if value is not None and not value.size:
            shape = "x".join(map(str, value.shape))
            return f"its input {name!r} has no elements ({shape}), where it needs some"
    return "its inputs are all constant, and it cannot be evaluated here"


def _is_empty(value: Values | None) -> bool:
    return value is not None and value.size == 0


def evaluate(
    node: onnx.NodeProto,
    schema: onnx.defs.OpSchema,
    opsets: Mapping[str, int],
    values: Mapping[str, Values | None],
) -> list[Values] | None:
    """The outputs of ``node``; None when they are random, no tensors, or not to be had here."""
    if node.op_type == "Identity":
        return [np.asarray(values[node.input[0]])]
    if "seed" in schema.attributes or node.op_type in _UNRELIABLE:
        return None
    if node.op_type in _SCALED and len(node.input) > 2 and node.input[2]:
        scale, zero = values[node.input[1]], values[node.input[2]]
        if scale is None or zero is None:
            return None
        if scale.size == zero.size == 1:  # of one element whatever their ranks: of the whole tensor
            values = {**values, node.input[1]: scale.reshape(()), node.input[2]: zero.reshape(())}
        elif scale.shape != zero.shape:
            return None  # the evaluator would broadcast one of them
    opset = max(opsets[""], _FIRST_OPSET.get(node.op_type, 0))
    opsets = {**opsets, "": opset}
    # A graph, because the evaluator runs a lone node in the newest opset.
    graph = onnx.GraphProto(
        name=node.op_type,
        node=[node],
        input=[onnx.ValueInfoProto(name=name) for name in values],
        output=[onnx.ValueInfoProto(name=name) for name in node.output if name],
    )
    try:
        if node.op_type in _OWN:
            return [_OWN[node.op_type](node, *(values.get(name) for name in node.input))]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            if node.op_type == "QuantizeLinear" and _to_integers(node, values):
                data, scale = (values[name] for name in node.input[:2])
                if data is not None and scale is not None:
                    values = {**values, node.input[0]: _within_int32(node, data, scale)}
            results = ReferenceEvaluator(graph, opsets=opsets).run(None, dict(values))
    except Exception:  # whatever an operator of the reference raises: it is then not folded
        return None
    if not isinstance(results, list | tuple):
        return None
    if not all(isinstance(value, np.ndarray | np.generic) for value in results):
        return None
    if node.op_type == "ReduceMean" and _is_empty(values[node.input[0]]):
        return [np.zeros_like(value) for value in results]  # undefined: as ONNX Runtime has it
    return [np.asarray(value) for value in results]
