"""A numpy float64 evaluator of the canonical IR: the oracle that other tests compare with.

It shares no code with the importers, the passes or the kernels, and prefers the shortest
transcription of a definition over speed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import Activation
from edgeconv.ir.array_types import array_type
from edgeconv.ir.element_types import SCALES
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.pointwise import Applied
from edgeconv.model.preprocessing import preprocessed
from tests.resize_weights import resize_weights

Values = npt.NDArray[Any]
Inputs = tuple[Values | None, ...]
Evaluator = Callable[[Inputs, Mapping[str, Any], tuple[int, ...]], Values]


def evaluate(graph: Graph, inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, Values]:
    """Every tensor of ``graph``, constants included, by name, in float64 (indices stay integers).

    ``inputs``: one array per graph input, of its shape.  Raises AssertionError when a value has
    another shape than its tensor states.
    """
    values = {t.name: _as_float(t.data) for t in graph.tensors.values() if t.data is not None}
    for name in graph.inputs:
        assert inputs[name].shape == graph[name].shape, (name, inputs[name].shape)
        values[name] = _as_float(inputs[name])
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            values[node.output] = _run(node, graph, values)
            got, want = values[node.output].shape, graph[node.output].shape
            assert got == want, f"{node.name} ({node.op}): computes {got}, states {want}"
    return values


def activate(function: Activation, x: Values) -> Values:
    """``function`` of ``edgeconv.ir.activation`` on every element of ``x``."""
    a, b = function.alpha, function.beta
    table: dict[str, Callable[[], Any]] = {
        "none": lambda: x,
        "relu": lambda: np.maximum(x, 0),
        "clip": lambda: np.minimum(np.maximum(x, a), b),
        "leaky_relu": lambda: np.where(x < 0, a * x, x),
        "hard_sigmoid": lambda: np.clip(a * x + b, 0, 1),
        "hard_swish": lambda: x * np.clip(a * x + b, 0, 1),
        "sigmoid": lambda: _sigmoid(x),
        "silu": lambda: x * _sigmoid(x),
        "tanh": lambda: np.tanh(x),
        "gelu": lambda: x / 2 * (1 + _erf(x / math.sqrt(2))),
        "gelu_tanh": lambda: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        "elu": lambda: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x),
        "softplus": lambda: np.logaddexp(0, x),
        "erf": lambda: _erf(x),
        "exp": lambda: np.exp(x),
        "log": lambda: np.log(x),
        "sqrt": lambda: np.sqrt(x),
        "abs": lambda: np.abs(x),
        "neg": lambda: -x,
        "reciprocal": lambda: 1 / x,
        "floor": lambda: np.floor(x),
        "ceil": lambda: np.ceil(x),
        "round": lambda: np.round(x),
        "sign": lambda: np.where(x < 0, -a, a),
        "grid": lambda: np.clip(np.round(x / a), b, function.gamma) * a,
    }
    return np.asarray(table[function.kind]())


def _as_float(array: npt.NDArray[Any]) -> Values:
    """float64 of real numbers, also of those that numpy has no type of."""
    kind = array.dtype.kind
    small = kind == "V" or array.dtype.name.startswith(("bfloat", "float", "int2", "int4", "uint2"))
    return array.astype(np.float64) if kind == "f" or small else array


def _sigmoid(x: Values) -> Values:
    return np.asarray(1 / (1 + np.exp(-x)))


def _erf(x: Values) -> Values:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(x))


def _run(node: Node, graph: Graph, values: Mapping[str, Values]) -> Values:
    inputs = tuple(values[name] if name else None for name in node.inputs)
    shape = graph[node.output].shape
    y = activate(node.epilogue.before, _EVALUATORS[node.op](inputs, node.attrs, shape))
    if node.epilogue.residual:
        y = y + values[node.epilogue.residual]
    return activate(node.epilogue.after, y)


def _need(value: Values | None) -> Values:
    assert value is not None, "a required input is absent"
    return value


def _taps(
    padded: Values, attrs: Mapping[str, Any], out: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], Values]]:
    """For every kernel position, the positions and the strided view (N, C, *out) it reads."""
    kernel, strides, dilations = attrs["kernel"], attrs["strides"], attrs["dilations"]
    for position in itertools.product(*(range(size) for size in kernel)):
        starts = [p * d for p, d in zip(position, dilations, strict=True)]
        window = tuple(
            slice(start, start + (size - 1) * stride + 1, stride)
            for start, size, stride in zip(starts, out, strides, strict=True)
        )
        yield position, padded[(slice(None), slice(None), *window)]


def _padded(
    x: Values, attrs: Mapping[str, Any], out: tuple[int, ...], value: float, overrun: float
) -> Values:
    """``x`` with its stated padding of ``value``, then ``overrun`` up to the last window's end."""
    rank = len(out)
    pads, spans = attrs["pads"], zip(attrs["kernel"], attrs["dilations"], strict=True)
    stated = [(pads[i], pads[rank + i]) for i in range(rank)]
    x = np.pad(x, [(0, 0), (0, 0), *stated], constant_values=value)
    ends = [
        (size - 1) * stride + (kernel - 1) * dilation + 1
        for (kernel, dilation), size, stride in zip(spans, out, attrs["strides"], strict=True)
    ]
    extra = [(0, max(0, end - have)) for end, have in zip(ends, x.shape[2:], strict=True)]
    return np.pad(x, [(0, 0), (0, 0), *extra], constant_values=overrun)


def _conv(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    x, w = _need(inputs[0]), _need(inputs[1])
    groups, out = attrs["groups"], shape[2:]
    assert w.shape[2:] == attrs["kernel"]
    assert w.shape[1] * groups == x.shape[1]
    w = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    y = np.zeros((x.shape[0], groups, w.shape[1], math.prod(out)))
    padded = _padded(x, attrs, out, 0.0, np.nan)  # no window of a convolution overruns
    for position, view in _taps(padded, attrs, out):
        taps: tuple[Any, ...] = (..., *position)
        columns = view.reshape(x.shape[0], groups, w.shape[2], -1)
        y += np.einsum("goc,ngcp->ngop", w[taps], columns, optimize=True)
    y = y.reshape(shape)
    if len(inputs) > 2 and inputs[2] is not None:
        y = y + inputs[2].reshape(-1, *(1 for _ in out))
    return y


def _dense(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    y = _need(inputs[0]) @ _need(inputs[1]).T
    return y if len(inputs) < 3 or inputs[2] is None else np.asarray(y + inputs[2])


def _pool(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    x, out = _need(inputs[0]), shape[2:]
    if attrs["mode"] == "max":
        padded = _padded(x, attrs, out, -np.inf, -np.inf)
        return np.asarray(np.max([view for _, view in _taps(padded, attrs, out)], axis=0))
    assert attrs["mode"] == "average"
    counted = _padded(np.ones_like(x), attrs, out, float(attrs["count_include_pad"]), 0.0)
    padded = _padded(x, attrs, out, 0.0, 0.0)
    total = sum(view for _, view in _taps(padded, attrs, out))
    return np.asarray(total / sum(view for _, view in _taps(counted, attrs, out)))


_BINARY: dict[str, Callable[[Values, Values], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "pow": np.power,
    "prelu": lambda a, b: np.where(a < 0, a * b, a),
}


def _binary(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    return np.asarray(_BINARY[attrs["kind"]](_need(inputs[0]), _need(inputs[1])))


def _affine(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    per_channel = (-1, *(1 for _ in shape[2:]))
    scale, shift = _need(inputs[1]), _need(inputs[2])
    return np.asarray(_need(inputs[0]) * scale.reshape(per_channel) + shift.reshape(per_channel))


def _softmax(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    x, axis = _need(inputs[0]), attrs["axis"]
    shifted = x - x.max(axis=axis, keepdims=True)
    total = np.exp(shifted).sum(axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(total) if attrs["log"] else np.exp(shifted) / total)


def _attention(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    """Of operands in any order, with all scores."""
    batch, (m, n, d, columns) = attrs["batch"], attrs["sizes"]
    sizes = {"q": (m, d), "k": (n, d), "v": (n, columns)}

    def placed(x: Values, place: tuple[int, ...], inner: tuple[int, ...]) -> Values:
        steps = [8 * step for step in place[1:]]
        flat = np.ascontiguousarray(x).reshape(-1)[place[0] :]
        return np.lib.stride_tricks.as_strided(flat, (*batch, *inner), steps)

    q, k, v = (
        placed(_need(x), attrs[name], sizes[name]) for x, name in zip(inputs, "qkv", strict=False)
    )
    scores = attrs["scale"] * (q @ np.swapaxes(k, -1, -2))
    if attrs["cap"]:
        scores = attrs["cap"] * np.tanh(scores / attrs["cap"])
    if attrs["mask"]:
        scores = scores + placed(_need(inputs[3]), (0, *attrs["mask"]), (m, n))
    if attrs["behind"] is not None:
        late = np.arange(n) > np.arange(m)[:, np.newaxis] + attrs["behind"]
        scores = np.where(late, -np.inf, scores)
    result = _softmax((scores,), {"axis": -1, "log": False}, shape) @ v
    out = np.zeros(shape)
    steps = (*(8 * step for step in attrs["out"]), 8)
    np.lib.stride_tricks.as_strided(out, (*batch, m, columns), steps)[...] = result
    return out


def _lrn(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    x, size = _need(inputs[0]), attrs["size"]
    below, above = (size - 1) // 2, size // 2
    squares = np.stack(
        [(x[:, max(0, c - below) : c + above + 1] ** 2).sum(axis=1) for c in range(shape[1])],
        axis=1,
    )
    base = attrs["bias"] + attrs["alpha"] / size * squares
    return np.asarray(x / base ** attrs["beta"])


_REDUCE: dict[str, Callable[..., Any]] = {
    "mean": np.mean,
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "l1": lambda x, **kw: np.sum(np.abs(x), **kw),
    "l2": lambda x, **kw: np.sqrt(np.sum(np.square(x), **kw)),
    "sum_square": lambda x, **kw: np.sum(np.square(x), **kw),
}


def _reduce(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    reduce = _REDUCE[attrs["kind"]]
    return np.asarray(reduce(_need(inputs[0]), axis=attrs["axes"], keepdims=attrs["keepdims"]))


def _resize(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    y = _need(inputs[0])
    for axis, (out, scale) in enumerate(zip(shape, attrs["scales"], strict=True)):
        if out != y.shape[axis] or scale != 1.0:
            weights = resize_weights(y.shape[axis], out, scale, attrs)
            y = np.moveaxis(np.tensordot(weights, y, axes=(1, axis)), 0, axis)
    return y


def _concat(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    return np.concatenate([_need(x) for x in inputs], axis=attrs["axis"])


def _slice(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    starts, steps = attrs["starts"], attrs["steps"]
    indices = [
        start + step * np.arange(size)
        for start, step, size in zip(starts, steps, shape, strict=True)
    ]
    assert all(index.size == 0 or index.min() >= 0 for index in indices)
    return np.asarray(_need(inputs[0])[np.ix_(*indices)])


def _pad(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    x, pads, mode = _need(inputs[0]), attrs["pads"], attrs["mode"]
    widths = [(pads[i], pads[x.ndim + i]) for i in range(x.ndim)]
    if mode == "constant":
        return np.pad(x, widths, constant_values=attrs["value"])
    return np.asarray(np.pad(x, widths, mode=mode))


def _gather(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    indices = _need(inputs[1])
    assert indices.dtype == np.int64
    return np.take(_need(inputs[0]), indices, axis=attrs["axis"])


def _scaling(attrs: Mapping[str, Any], rank: int) -> tuple[Values, Values]:
    encoding = attrs["encoding"]
    dims = [-1 if i == encoding.axis else 1 for i in range(rank)] if rank else []
    return np.reshape(encoding.scale, dims), np.reshape(encoding.zero, dims)


def _quantise(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    (scale, zero), encoding = _scaling(attrs, len(shape)), attrs["encoding"]
    return np.clip(np.round(_need(inputs[0]) / scale) + zero, encoding.low, encoding.high)


def _dequantise(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    scale, zero = _scaling(attrs, len(shape))
    return np.asarray((_need(inputs[0]).astype(np.float64) - zero) * scale)


def _table(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    values = [_need(inputs[0])]
    for step in attrs["function"].steps:
        if isinstance(step, Applied):
            values.append(activate(step.function, values[step.of]))
        else:
            operands = (values[v] if isinstance(v, int) else np.array(v) for v in (step.a, step.b))
            values.append(_binary(tuple(operands), {"kind": step.kind}, shape))
    return values[-1]


def _whole_power(a: Values, b: Values) -> Values:
    """Of negative powers the whole part: 0 but of 1 and -1; of 0 there is none."""
    if not np.issubdtype(b.dtype, np.signedinteger):
        return np.asarray(np.power(a, b))
    below = np.broadcast_to(np.abs(a) == 1, np.broadcast_shapes(a.shape, b.shape))
    return np.where((b < 0) & ~below, 0, np.power(a, np.abs(b)))


_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "copy": lambda a: a,
    "sign": np.sign,
    "modulo": np.mod,
    "remainder": np.fmod,
    "threshold": lambda a, b: np.where(a > b, a, 0),
    "hard_shrink": lambda a, b: np.where(np.abs(a) > b, a, 0),
    "soft_shrink": lambda a, b: np.sign(a) * np.maximum(np.abs(a) - b, 0),
    "equal": np.equal,
    "less": np.less,
    "greater": np.greater,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "not": np.logical_not,
    "where": np.where,
    "greater_equal": np.greater_equal,
    "power": _whole_power,
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sinh", "cosh", "tanh")},
}


def _powers(values: Values) -> Values:
    """The next power of two, up to the largest; ONNX says nothing of negative numbers, of which
    this is that of their magnitude."""
    fractions, exponents = np.frexp(np.abs(values.astype(np.float64)))
    nearest = np.clip(exponents - (fractions == 0.5), -127, 127)
    return np.where(np.isnan(values), np.nan, np.where(np.isinf(values), 2.0**127, 2.0**nearest))


def _elementwise(inputs: Inputs, attrs: Mapping[str, Any], shape: tuple[int, ...]) -> Values:
    values = np.asarray(_ELEMENTWISE[attrs["function"]](*map(_need, inputs)))
    if attrs["to"] == SCALES:
        values = _powers(values)
    elif attrs["to"].startswith(("float4", "float8")):  # what is too large becomes the largest
        largest = float(ml_dtypes.finfo(attrs["to"]).max)
        values = np.clip(values, -largest, largest)
    return np.broadcast_to(_as_float(values.astype(array_type(attrs["to"]))), shape)


_EVALUATORS: dict[str, Evaluator] = {
    "Elementwise": _elementwise,
    "Dequantise": _dequantise,
    "Quantise": _quantise,
    "Conv": _conv,
    "Dense": _dense,
    "MatMul": lambda inputs, attrs, shape: np.asarray(_need(inputs[0]) @ _need(inputs[1])),
    "Pool": _pool,
    "Preprocess": lambda inputs, attrs, shape: preprocessed(
        attrs["preprocessing"], _need(inputs[0]).astype(np.uint8)
    ).astype(np.float64),
    "Table": _table,
    "Unary": lambda inputs, attrs, shape: _need(inputs[0]),
    "Binary": _binary,
    "Affine": _affine,
    "Softmax": _softmax,
    "Attention": _attention,
    "LRN": _lrn,
    "Reduce": _reduce,
    "Resize": _resize,
    "Concat": _concat,
    "Slice": _slice,
    "Transpose": lambda inputs, attrs, shape: np.transpose(_need(inputs[0]), attrs["perm"]),
    "Reshape": lambda inputs, attrs, shape: _need(inputs[0]).reshape(shape),
    "Pad": _pad,
    "Gather": _gather,
    "Expand": lambda inputs, attrs, shape: np.broadcast_to(_need(inputs[0]), shape),
    "Tile": lambda inputs, attrs, shape: np.tile(_need(inputs[0]), attrs["repeats"]),
    "Identity": lambda inputs, attrs, shape: _need(inputs[0]),
    "Convert": lambda inputs, attrs, shape: _need(inputs[0]),
}


def computed(graph: Graph) -> bool:
    """Whether all of it has a meaning here."""
    functions = {node.attrs["function"] for node in graph.nodes if node.op == "Elementwise"}
    return {node.op for node in graph.nodes} <= set(_EVALUATORS) and functions <= set(_ELEMENTWISE)
