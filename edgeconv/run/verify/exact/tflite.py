"""What TensorFlow Lite's reference kernels make of integers: reference of ``--requantise tflite``.

Operators are found in front of every Quantise of the graph that the frontend reads, and computed of
the integers in front of them by what their kernels are defined to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import Activation
from edgeconv.ir.encoding import Encoding, int8, int16
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.pointwise import Applied, Pointwise
from edgeconv.ir.quantisation import OF_SCALE, integers_of, rounding_to
from edgeconv.ir.requantisation import tflite, tflite_averages, tflite_pairs, tflite_short
from edgeconv.ir.requantisation.double_rounding import multiplied, quantised_multiplier
from edgeconv.ir.requantisation.exact_reals import Integers, Reals, in_units, multiples
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.tflite_short_softmax import ShortSoftmax, short_softmax
from edgeconv.ir.requantisation.tflite_softmax import TfliteSoftmax, tflite_softmax
from edgeconv.ir.requantisation.tflite_wide import short_multiplier, shortly_multiplied
from edgeconv.kernels.lowering.tflite_tables import tflite_table
from edgeconv.kernels.ops.interpolation import PLACES
from edgeconv.run.verify.exact.by_channel import single
from edgeconv.run.verify.exact.movement import moved, moves
from edgeconv.run.verify.exact.operators import filters_of, sums_of
from edgeconv.run.verify.exact.value import NoExactValueError, Value
from edgeconv.run.verify.exact.windows import counted, taps

_LOW, _HIGH = -128, 127
_OF_SEVERAL = frozenset({"Binary", "Concat", "MatMul"})
_ALSO_SHORT = ("Binary", "MatMul", "Pool", "Reduce", "Softmax")  # of 16 bits too


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand in integers.  ``whole``: integers less their zero point, in units of ``scale``."""

    whole: Integers
    scale: float


@dataclass(frozen=True, slots=True)
class _Call:
    """An operator in front of a rounding to ``y``; ``bias``: in real numbers."""

    node: Node
    graph: Graph
    operands: list[_Operand]
    bias: npt.NDArray[Any] | None
    y: Encoding


def quantised(
    node: Node, graph: Graph, writers: Mapping[str, Node], values: Mapping[str, Value]
) -> Value:
    """The integers of a Quantise node, of eight bits, or of 16, and one scale.  Raises
    NoExactValueError where no kernel is known for what is in front of it."""
    encoding = integers_of(node)
    if not encoding.is_per_tensor or encoding.bits not in (8, 16):
        raise NoExactValueError
    name, functions, movement = node.inputs[0], list[Activation](), list[Node]()
    while name in writers and (writers[name].op == "Unary" or moves(writers[name])):
        behind = writers[name]
        if behind.op == "Unary":
            functions.insert(0, behind.epilogue.before)
        else:
            movement.insert(0, behind)
        name = behind.inputs[0]
    writer = writers.get(name)
    if writer is None or writer.op == "Dequantise":
        whole = _tabulated(_operand(values[name]), functions, encoding)
    else:
        whole = _bounded(_computed(writer, graph, writers, values, encoding), functions, encoding)
    for each in movement:
        whole = moved(each, _integers(whole), graph).real.terms[0].whole
    return _integers(np.clip(whole + encoding.zero[0], encoding.low, encoding.high))


def _integers(whole: Integers) -> Value:
    """Integers of which nothing is known about other engines'."""
    return Value(multiples(whole), lambda: np.full(whole.shape, np.inf))


def _computed(
    node: Node,
    graph: Graph,
    writers: Mapping[str, Node],
    values: Mapping[str, Value],
    y: Encoding,
) -> Integers:
    """The result of ``node`` in steps of ``y``, less its zero point."""
    bias = None
    if (
        node.op == "Binary"
        and node.attrs["kind"] == "add"
        and graph[node.inputs[1]].is_constant
        and _writes_sums(node.inputs[0], writers)
    ):
        # A bias that ONNX adds by itself.
        bias, node = graph[node.inputs[1]].constant(), writers[node.inputs[0]]
    elif node.op in ("Conv", "Dense") and len(node.inputs) > 2 and node.inputs[2]:
        bias = graph[node.inputs[2]].constant()
    node = _difference_behind(node, writers) or node
    rule = _RULES.get(node.op)
    if rule is None or (y.bits > 8 and node.op not in (*WEIGHTED, *_ALSO_SHORT)):
        raise NoExactValueError
    names = node.inputs if node.op in _OF_SEVERAL else node.inputs[:1]
    operands = [
        _constant(node, graph, name) if graph[name].is_constant else _operand(values[name])
        for name in names
    ]
    return rule(_Call(node, graph, operands, bias, y))


def _difference_behind(node: Node, writers: Mapping[str, Node]) -> Node | None:
    """The difference that ``node`` squares, which is one operator there."""
    if node.op != "Binary" or node.attrs["kind"] != "mul" or node.inputs[0] != node.inputs[1]:
        return None
    writer = writers.get(node.inputs[0])
    if writer is None or writer.op != "Binary" or writer.attrs["kind"] != "sub":
        return None
    return replace(writer, attrs={**writer.attrs, "kind": "squared_difference"})


def _constant(node: Node, graph: Graph, name: str) -> _Operand:
    """A constant operand, of integers of one scale."""
    scale = node.attrs.get(OF_SCALE)
    if scale is None:
        raise NoExactValueError
    return _Operand(np.rint(graph[name].constant() / scale).astype(np.int64), scale)


def _writes_sums(name: str, writers: Mapping[str, Node]) -> bool:
    return name in writers and writers[name].op == "Dense"


def _operand(value: Value) -> _Operand:
    term, factors = single(value)
    return _Operand(term.whole, float(np.prod([float(each) for each in factors])))


def _bounded(whole: Integers, functions: list[Activation], y: Encoding) -> Integers:
    """Within the bounds of fused activations, rounded as these are: halves away from 0."""
    for function in functions:
        low, high = (0.0, np.inf) if function.kind == "relu" else (function.alpha, function.beta)
        if function.kind not in ("relu", "clip"):
            raise NoExactValueError
        for bound, pick in ((low, np.maximum), (high, np.minimum)):
            near = np.float32(bound) / np.float32(y.scale[0])
            if np.isfinite(near) and abs(near) < 2**20:
                whole = pick(whole, int(np.trunc(near + np.copysign(0.5, near))))
    return whole


def _tabulated(x: _Operand, functions: list[Activation], y: Encoding) -> Integers:
    """A function of one number, of the integers less their zero point."""
    if y.bits > 8:
        return _short(x, functions, y)
    steps = [*functions, rounding_to(y)]
    function = Pointwise(tuple(Applied(each, i) for i, each in enumerate(steps)))
    result = int8(y.scale[0], y.zero[0] - y.low + _LOW)
    found = np.zeros_like(x.whole)
    for zero in (_LOW, _HIGH):  # numbers of 0 and above, and of 0 and below: all that there are
        table = tflite_table(function, int8(x.scale, zero), result)
        if table is None:
            raise NoExactValueError
        argument = x.whole + zero
        inside = (argument >= _LOW) & (argument <= _HIGH)
        stored = table[argument[inside].astype(np.int8).view(np.uint8)]
        found[inside] = stored.astype(np.int64) - result.zero[0]
    return found


def _short(x: _Operand, functions: list[Activation], y: Encoding) -> Integers:
    """A function of 16 bits of the integers less their zero points."""
    kinds = [function.kind for function in functions]
    if kinds in (["sigmoid"], ["tanh"]):
        found = tflite_short.short_function(kinds[0], int16(x.scale, 0), y, y.low, y.high)
        if found is None:
            raise NoExactValueError
        return tflite_short.of_argument(found, x.whole) - y.zero[0]
    if kinds == ["leaky_relu"]:
        above, below = tflite_pairs.leaky_factors(x.scale, functions[0].alpha, y.scale[0])
        return np.where(x.whole >= 0, multiplied(x.whole, *above), multiplied(x.whole, *below))
    if x.scale != y.scale[0]:
        if functions:
            raise NoExactValueError
        return multiplied(x.whole, *quantised_multiplier(x.scale / y.scale[0]))
    return _bounded(x.whole, functions, y)


def _summed(call: _Call) -> Integers:
    (x,), (w, units) = call.operands, filters_of(call.node, call.graph)
    total, channels = sums_of(call.node, call.graph)
    sums = total(x.whole.astype(np.float64), w).astype(np.int64)
    scales = tflite.units(x.scale, units, dense=call.node.op == "Dense")
    return _scaled(call, sums, scales, channels)


def _matmul(call: _Call) -> Integers:
    """BATCH_MATMUL, whose factor is made as that of FULLY_CONNECTED."""
    a, b = call.operands
    sums = np.matmul(a.whole.astype(np.float64), b.whole.astype(np.float64)).astype(np.int64)
    return _scaled(call, sums, tflite.units(a.scale, np.array([b.scale]), dense=True), (-1,))


def _scaled(call: _Call, sums: Integers, scales: Reals, channels: tuple[int, ...]) -> Integers:
    """Sums of whole numbers that count in ``scales``, with the bias; ``channels``: the shape of one
    number for each."""
    if call.bias is not None:
        whole, rest = in_units(call.bias.astype(np.float64).reshape(-1), scales)
        if rest.any():
            raise NoExactValueError
        sums = sums + whole.reshape(channels)
    wide = call.y.bits > 8
    factor = short_multiplier if wide else quantised_multiplier
    factors = [factor(float(each) / call.y.scale[0]) for each in scales]
    multiplier, shift = (
        np.array(each, np.int64).reshape(channels) for each in zip(*factors, strict=True)
    )
    scaled = shortly_multiplied if wide else multiplied
    return scaled(sums, multiplier, shift)


def _binary(call: _Call) -> Integers:
    kind, shape = call.node.attrs["kind"], call.graph[call.node.output].shape
    a, b = call.operands
    of_a, of_b = (np.broadcast_to(each.whole, shape) for each in call.operands)
    result = Affine(call.y.scale[0], 0)
    if kind == "mul":
        factor = tflite.product_factor(Affine(a.scale, 0), Affine(b.scale, 0), result)
        return multiplied(of_a * of_b, *quantised_multiplier(factor))
    if kind == "prelu":
        above, below = tflite_pairs.prelu_factors(a.scale, b.scale, result.scale)
        return np.where(of_a >= 0, multiplied(of_a, *above), multiplied(of_a * of_b, *below))
    if kind == "squared_difference":
        left, by_a, by_b, of_result = tflite_pairs.square_factors(
            a.scale, b.scale, result.scale, call.y.bits
        )
        difference = multiplied(of_a << left, *by_a) - multiplied(of_b << left, *by_b)
        return multiplied(difference * difference, *of_result)
    if kind not in ("add", "sub"):
        raise NoExactValueError
    sign = 1.0 if kind == "add" else -1.0
    scales = a.scale, sign * b.scale
    if call.y.bits > 8:
        found = tflite_short.short_sum(of_a, of_b, scales, result.scale)
    else:
        found = tflite.summed((of_a, of_b), scales, result.scale)
    if found is None:
        raise NoExactValueError
    return found


def _pool(call: _Call) -> Integers:
    """AVERAGE_POOL_2D divides sums of the integers themselves."""
    (x,), attrs, y = call.operands, call.node.attrs, call.y
    out = call.graph[call.node.output].shape[2:]
    if attrs["mode"] != "average" or x.scale != y.scale[0]:
        raise NoExactValueError
    stored = (x.whole + y.zero[0]).astype(np.float64)
    total = np.sum([view for _, view in taps(stored, attrs, out)], axis=0).astype(np.int64)
    count = counted(attrs, x.whole.shape[2:], out).astype(np.int64)
    half = np.where(total > 0, count // 2, -(count // 2))
    quotient: Integers = np.trunc((total + half) / count).astype(np.int64)
    return quotient - y.zero[0]


def _reduce(call: _Call) -> Integers:
    """MEAN and SUM."""
    (x,), attrs = call.operands, call.node.attrs
    if attrs["kind"] not in ("mean", "sum"):
        raise NoExactValueError
    axes = tuple(int(axis) for axis in attrs["axes"])
    count = int(np.prod([x.whole.shape[axis] for axis in axes]))
    total = x.whole.sum(axis=axes, keepdims=bool(attrs["keepdims"]))
    if attrs["kind"] == "sum":
        return multiplied(total, *quantised_multiplier(x.scale / call.y.scale[0]))
    return multiplied(total, *tflite_averages.mean_factor(count, x.scale, call.y.scale[0]))


def _resize(call: _Call) -> Integers:
    """RESIZE_BILINEAR of the integers themselves, over two dimensions."""
    (x,), attrs, y = call.operands, call.node.attrs, call.y
    shape = call.graph[call.node.output].shape
    how = PLACES.get(attrs["coordinate_transformation_mode"])
    if attrs["mode"] != "linear" or how is None or x.scale != y.scale[0] or y.low == 0:
        raise NoExactValueError
    found, bits = x.whole + y.zero[0], 0
    for axis, (size, out) in enumerate(zip(x.whole.shape, shape, strict=True)):
        if size == out and axis < 2:
            continue
        lower, upper, above = tflite_averages.places(size, out, corners=how[0], half_pixel=how[1])
        share = above.reshape(-1, *(1,) * (found.ndim - axis - 1))
        below = tflite_averages.ONE - share
        found = found.take(lower, axis) * below + found.take(upper, axis) * share
        bits += tflite_averages.PLACE_BITS
    half = 1 << (bits - 1)
    rounded: Integers = np.sign(found) * ((np.abs(found) + half) >> bits)
    return rounded - y.zero[0]


def _concat(call: _Call) -> Integers:
    """CONCATENATION, of int8 between equal grids: others are brought there by QUANTIZE."""
    y, parts = call.y, []
    for x in call.operands:
        if x.scale == y.scale[0]:
            parts.append(x.whole)
            continue
        if y.low == 0:  # of uint8, in float32
            raise NoExactValueError
        parts.append(_tabulated(x, [], y))
    return np.concatenate(parts, axis=call.node.attrs["axis"])


def _softmax(call: _Call) -> Integers:
    (x,), y = call.operands, Affine.of(call.y)
    form: TfliteSoftmax | ShortSoftmax | None
    if call.y.bits > 8:
        form = short_softmax(int16(x.scale, 0), call.y, call.y.low, call.y.high)
    else:
        form = tflite_softmax(Affine(x.scale, 0), y, call.y.low, call.y.high)
    if form is None or call.node.attrs.get("log"):
        raise NoExactValueError
    axis = call.node.attrs["axis"]
    return np.moveaxis(form.of(np.moveaxis(x.whole, axis, -1)), -1, axis)


_RULES: Mapping[str, Callable[[_Call], Integers]] = {
    "Binary": _binary,
    "Concat": _concat,
    "Conv": _summed,
    "Dense": _summed,
    "MatMul": _matmul,
    "Pool": _pool,
    "Reduce": _reduce,
    "Resize": _resize,
    "Softmax": _softmax,
}
