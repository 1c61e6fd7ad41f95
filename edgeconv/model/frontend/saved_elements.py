"""Operators of any element type as ONNX nodes: arithmetic of integers, choice, order, positions;
and what is quantised at run time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from onnx import helper

from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import SMALL_FLOATS, SMALL_INTEGERS
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.ranges import RANGE, SCALE, ZERO
from edgeconv.model.frontend.saved_nodes import Save, Written, window

NEWEST = 26  # the opset that has BitCast, CumProd and elements of 2 to 8 bits

# Function of an Elementwise node -> operator and attributes; of bool by another name.
_FUNCTIONS: Mapping[str, tuple[str, Mapping[str, int | str]]] = MappingProxyType(
    {
        "bitwise_and": ("BitwiseAnd", {}),
        "bitwise_or": ("BitwiseOr", {}),
        "bitwise_xor": ("BitwiseXor", {}),
        "bitwise_not": ("BitwiseNot", {}),
        "not": ("Not", {}),
        "shift_left": ("BitShift", {"direction": "LEFT"}),
        "shift_right": ("BitShift", {"direction": "RIGHT"}),
        "power": ("Pow", {}),
        "modulo": ("Mod", {}),
        "remainder": ("Mod", {"fmod": 1}),
        **{kind.lower(): (kind, {}) for kind in ("Add", "Sub", "Mul", "Div", "Min", "Max")},
        **{kind.lower(): (kind, {}) for kind in ("Neg", "Abs", "Sign", "Equal", "Less", "Greater")},
        "less_equal": ("LessOrEqual", {}),
        "greater_equal": ("GreaterOrEqual", {}),
        "is_nan": ("IsNaN", {}),
        "is_infinite": ("IsInf", {}),
        "is_positive_infinite": ("IsInf", {"detect_negative": 0}),
        "is_negative_infinite": ("IsInf", {"detect_positive": 0}),
        "where": ("Where", {}),
        **{kind.lower(): (kind, {}) for kind in ("Sin", "Cos", "Tan", "Asin", "Acos", "Atan")},
        **{kind.lower(): (kind, {}) for kind in ("Sinh", "Cosh", "Asinh", "Acosh", "Atanh")},
    }
)
# Copies, and how they round to small floats.
_ROUNDINGS: Mapping[str, Mapping[str, int | str]] = MappingProxyType(
    {
        "copy": {},
        "copy_overflowing": {"saturate": 0},
        "copy_down": {"round_mode": "down"},
        "copy_nearest": {"round_mode": "nearest"},
    }
)
_OF_BOOL = MappingProxyType({"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor"})
_WIDEST = "int64"
_REDUCTIONS = MappingProxyType({"copy": "none"})


def opset_of(graph: Graph, usual: int) -> int:
    """The opset of a file of ``graph``: the ``usual`` one, unless it has operators that are
    newer."""
    newer = (
        node.op == "BitCast" or (node.op == "Cumulative" and node.attrs["function"] == "mul")
        for node in graph.nodes
    )
    small = SMALL_FLOATS | SMALL_INTEGERS
    typed = any(tensor.dtype in small for tensor in graph.tensors.values())
    return NEWEST if typed or any(newer) else usual


def _elementwise(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    function = str(node.attrs["function"])
    if function in _ROUNDINGS:
        _cast(written, inputs[0], y, str(node.attrs["to"]), rounding=_ROUNDINGS[function])
    elif function in _WITH_NUMBER:
        op_type, names = _WITH_NUMBER[function]
        number = float(written.graph[node.inputs[1]].constant())
        written.node(op_type, inputs[:1], y, **dict.fromkeys(names, number))
    else:
        op_type, attrs = _FUNCTIONS[function]
        if written.graph[node.output].dtype == "bool":
            op_type = _OF_BOOL.get(op_type, op_type)
        written.node(op_type, _alike(written, node, inputs), y, **attrs)


def _alike(written: Written, node: Node, inputs: tuple[str, ...]) -> tuple[str, ...]:
    """Operands of one type, as ONNX has them where kernels read all integers as int64."""
    kinds = [written.graph[name].dtype for name in node.inputs]
    if len(set(kinds)) == 1 or node.attrs["function"] in ("where", "power"):
        return inputs
    found = []
    for name, kind in zip(inputs, kinds, strict=True):
        found.append(name if kind == _WIDEST else written.fresh(f"{name}/{_WIDEST}"))
        if kind != _WIDEST:
            _cast(written, name, found[-1], _WIDEST)
    return tuple(found)


# Function -> operator, and the attributes that are the second operand, a constant.
_WITH_NUMBER: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "threshold": ("ThresholdedRelu", ("alpha",)),
        "hard_shrink": ("Shrink", ("lambd",)),
        "soft_shrink": ("Shrink", ("lambd", "bias")),
    }
)


def _cast(
    written: Written,
    x: str,
    y: str,
    dtype: str,
    op_type: str = "Cast",
    rounding: Mapping[str, int | str] = _ROUNDINGS["copy"],
) -> None:
    to = helper.np_dtype_to_tensor_dtype(array_type(dtype))
    written.node(op_type, (x,), y, to=to, **rounding)


def _bit_cast(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    _cast(written, inputs[0], y, str(node.attrs["to"]), "BitCast")


def _cumulative(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    axis = np.int64(node.attrs["axis"])
    flags = {name: int(node.attrs[name]) for name in ("exclusive", "reverse")}
    op_type = "CumProd" if node.attrs["function"] == "mul" else "CumSum"
    written.node(op_type, (inputs[0], axis), y, **flags)


def _first(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    test, last = str(node.attrs["function"]).removesuffix("_equal"), "_equal"
    ranks = (len(written.graph[name].shape) for name in (node.inputs[0], node.output))
    written.node(
        "ArgMax" if test == "greater" else "ArgMin",
        inputs,
        y,
        axis=int(node.attrs["axis"]),
        keepdims=int(len(set(ranks)) == 1),
        select_last_index=int(str(node.attrs["function"]).endswith(last)),
    )


def _top(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    axis = int(node.attrs["axis"])
    k = np.array([written.graph[node.output].shape[axis]], np.int64)
    outputs, largest = (written.fresh(f"{y}/values"), y), node.attrs["function"] == "greater"
    written.node("TopK", (*inputs, k), *outputs, axis=axis, largest=int(largest))


def _fold(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """The reduction of bool, and of integers that sums are not made of, by way of int64."""
    dtype = written.graph[node.output].dtype
    kind = {"add": "Sum", "mul": "Prod", "max": "Max", "min": "Min"}[str(node.attrs["function"])]
    ranks = (len(written.graph[name].shape) for name in (node.inputs[0], node.output))
    axes, keepdims = np.array([node.attrs["axis"]], np.int64), int(len(set(ranks)) == 1)
    if dtype in ("int32", "int64"):
        written.node(f"Reduce{kind}", (inputs[0], axes), y, keepdims=keepdims)
        return
    wide = written.fresh(f"{y}/wide")
    _cast(written, inputs[0], wide, _WIDEST)
    _cast(written, written.add(y, f"Reduce{kind}", wide, axes, keepdims=keepdims), y, dtype)


def _sampling(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    mode, corners = str(node.attrs["mode"]), int(node.attrs["aligned"])
    padding = str(node.attrs["padding"])
    written.node("GridSample", inputs, y, mode=mode, padding_mode=padding, align_corners=corners)


def _roi_align(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    *_, rows, columns = written.graph[node.output].shape
    written.node(
        "RoiAlign",
        inputs,
        y,
        mode="max" if node.attrs["largest"] else "avg",
        output_height=rows,
        output_width=columns,
        sampling_ratio=int(node.attrs["samples"]),
        spatial_scale=float(node.attrs["scale"]),
        coordinate_transformation_mode="half_pixel" if node.attrs["half"] else "output_half_pixel",
    )


def _deformed(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """The columns, as what filters make of them that are 1 at one channel and tap, 0 elsewhere."""
    n, channels, taps, pixels = written.graph[node.output].shape
    kernel = node.attrs["kernel"]
    one = np.eye(channels * taps, dtype=np.float32).reshape(-1, channels, *kernel)
    attrs = {**window(node), "offset_group": int(node.attrs["offset_groups"])}
    image = written.add(y, "DeformConv", inputs[0], one, inputs[1], "", *inputs[2:], **attrs)
    written.node("Reshape", (image, np.array([n, channels, taps, pixels])), y)


def _col2im(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    image = np.array(written.graph[node.output].shape[2:])
    attrs = {name: list(node.attrs[name]) for name in ("strides", "dilations", "pads")}
    written.node("Col2Im", (inputs[0], image, inputs[1]), y, **attrs)


def _grams(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    grams, features, weights = (node.attrs[name] for name in ("pool", "features", "weights"))
    order = sorted(range(len(grams)), key=lambda i: len(grams[i]))
    longest = max(map(len, grams), default=1)
    starts = [sum(len(g) for g in grams if len(g) < length) for length in range(1, longest + 1)]
    weighed = {} if weights is None else {"weights": [weights[i] for i in order]}
    written.node(
        "TfIdfVectorizer",
        inputs,
        y,
        mode="IDF" if node.attrs["only"] else "TF" if weights is None else "TFIDF",
        min_gram_length=1,
        max_gram_length=longest,
        max_skip_count=int(node.attrs["skips"]),
        ngram_counts=starts,
        ngram_indexes=[features[i] for i in order],
        pool_int64s=[number for i in order for number in grams[i]],
        **weighed,
    )


def _resize_along(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    entry, attrs = int(node.attrs["entry"]), dict(node.attrs)
    axis, axes = attrs.pop("axis"), attrs.pop("axes")
    del attrs["entry"]
    attrs |= {name: int(attrs[name]) for name in ("antialias", "exclude_outside")}
    scale, roi = written.add(y, "Gather", inputs[1], np.array([entry])), ""
    if len(inputs) > 2:
        roi = written.add(y, "Gather", inputs[2], np.array([entry, entry + axes]))
    written.node("Resize", (inputs[0], roi, scale), y, axes=[axis], **attrs)


def _positions(op_type: str, written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """Gather and Scatter by indices of run time."""
    attrs: dict[str, int | str] = {}
    if "axis" in node.attrs:
        attrs["axis"] = int(node.attrs["axis"])
    if "batch" in node.attrs:
        attrs["batch_dims"] = int(node.attrs["batch"])
    if "function" in node.attrs:
        function = str(node.attrs["function"])
        attrs["reduction"] = _REDUCTIONS.get(function, function)
    data, index, *updates = inputs
    written.node(op_type, (data, _within(written, node, index), *updates), y, **attrs)


def _within(written: Written, node: Node, index: str) -> str:
    """Indices that the data have, as the kernels take them: those behind a count may be any, and
    ONNX Runtime refuses what lies outside."""
    data, given = (written.graph[name] for name in node.inputs[:2])
    if given.is_constant:
        return index
    if "axis" in node.attrs:
        sizes = np.asarray(data.shape[int(node.attrs["axis"])])
    else:
        sizes = np.asarray(data.shape[int(node.attrs.get("batch", 0)) :][: given.shape[-1]])
    bounds = (sizes - 1, -sizes)
    for op_type, bound in zip(("Min", "Max"), bounds, strict=True):
        index = written.add(index, op_type, index, bound.astype(array_type(given.dtype)))
    return index


def _dynamic_quantise(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """What the integers are, in real arithmetic: min(max(round(x / scale) + zero, 0), 255)."""
    x, scale, zero = inputs
    whole = written.add(y, "Round", written.add(y, "Div", x, scale))
    moved = written.add(y, "Add", whole, zero)
    written.node("Clip", (moved, np.float32(0), np.float32(255)), y)


def _dynamic_range(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """The smallest and the largest element, 0 among them."""
    ends = []
    for kept in ("Min", "Max"):
        number = written.add(y, f"Reduce{kept}", *inputs, keepdims=0)
        flat = written.add(y, "Reshape", number, np.ones(1, np.int64))
        ends.append(written.add(y, kept, flat, np.zeros(1, np.float32)))
    written.node("Concat", ends, y, axis=0)


def _end(written: Written, bounds: str, index: int) -> str:
    """A number of a range."""
    return written.add(bounds, "Gather", bounds, np.int64(index))


def _dynamic_scale(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """(high - low) / 255, and where that is 0, 1."""
    low, high = (_end(written, inputs[0], index) for index in range(2))
    one, tiny = np.float32(1), np.finfo(np.float32).tiny
    extent = written.add(y, "Sub", high, low)
    scale = written.add(y, "Div", extent, np.float32(255))
    some = written.add(y, "Min", written.add(y, "Div", extent, tiny), one)
    number = written.add(y, "Max", scale, written.add(y, "Sub", one, some))
    written.node("Reshape", (number, _shape(written, node)), y)


def _dynamic_zero(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """The integer of 0: min(max(round(-low / scale), 0), 255)."""
    low = _end(written, inputs[0], 0)
    quotient = written.add(y, "Div", low, inputs[1])
    whole = written.add(y, "Round", written.add(y, "Neg", quotient))
    number = written.add(y, "Clip", whole, np.float32(0), np.float32(255))
    written.node("Reshape", (number, _shape(written, node)), y)


def _shape(written: Written, node: Node) -> npt.NDArray[np.int64]:
    """The shape of the node's output."""
    return np.asarray(written.graph[node.output].shape, np.int64)


def _dynamic_product(written: Written, node: Node, inputs: tuple[str, ...], y: str) -> None:
    """Sums of integers less their zero point, in units, and the bias."""
    q, filters, bias, zero, unit = inputs
    less, conv = written.add(y, "Sub", q, zero), node.op == "DynamicConv"
    if conv:
        group = int(node.attrs["groups"])
        sums = written.add(y, "Conv", less, filters, group=group, **window(node))
    else:
        turned = written.add(filters, "Transpose", filters, perm=[1, 0])
        sums = written.add(y, "MatMul", less, turned)
    if not bias:
        written.node("Mul", (sums, unit), y)
        return
    rank = len(written.graph[node.output].shape)
    value = written.graph[node.inputs[2]].constant()
    shape = (-1, *(1,) * (rank - 2)) if conv else (-1,)
    written.node("Add", (written.add(y, "Mul", sums, unit), value.reshape(shape)), y)


SAVED_ELEMENTS: Mapping[str, Save] = MappingProxyType(
    {
        "BitCast": _bit_cast,
        "Cumulative": _cumulative,
        "DynamicConv": _dynamic_product,
        "DynamicDense": _dynamic_product,
        "DynamicQuantise": _dynamic_quantise,
        RANGE: _dynamic_range,
        SCALE: _dynamic_scale,
        ZERO: _dynamic_zero,
        "Elementwise": _elementwise,
        "First": _first,
        "Fold": _fold,
        "GridSample": _sampling,
        "Col2Im": _col2im,
        "Deformed": _deformed,
        "Det": lambda written, node, inputs, y: written.node("Det", inputs, y),
        "Grams": _grams,
        "RoiAlign": _roi_align,
        "Pick": partial(_positions, "Gather"),
        "ResizeAlong": _resize_along,
        "Top": _top,
        **{
            name: partial(_positions, name)
            for name in ("GatherElements", "GatherND", "ScatterElements", "ScatterND")
        },
    }
)
