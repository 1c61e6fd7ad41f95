"""What TensorFlow Lite's reference kernels make of integers: reference of ``--requantise tflite``.

Operators are found in front of every Quantise of the graph that the frontend reads, and computed of
the integers in front of them by what their kernels are defined to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from edgeconv.encoding import Encoding, int8
from edgeconv.ir.activation import Activation
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.pointwise import Applied, Pointwise
from edgeconv.ir.quantisation import integers_of, rounding_to
from edgeconv.lowering.tflite_tables import tflite_table
from edgeconv.requantisation import tflite
from edgeconv.requantisation.pair import Affine
from edgeconv.requantisation.reals import Integers, Reals, in_units, multiples
from edgeconv.requantisation.twice import multiplied, quantised_multiplier
from edgeconv.verify.exact.movement import moved, moves
from edgeconv.verify.exact.operators import filters_of, single
from edgeconv.verify.exact.value import NoExactValueError, Value
from edgeconv.verify.exact.windows import convolved, counted, taps

_LOW, _HIGH = -128, 127


@dataclass(frozen=True, slots=True)
class _Operand:
    """``whole``: integers less their zero point, in units of ``scale``."""

    whole: Integers
    scale: float


def quantised(
    node: Node, graph: Graph, writers: Mapping[str, Node], values: Mapping[str, Value]
) -> Value:
    """The integers of a Quantise node, of eight bits and one scale.  Raises NoExactValueError where
    no kernel is known for what is in front of it."""
    encoding = integers_of(node)
    if not encoding.is_per_tensor or encoding.high - encoding.low != _HIGH - _LOW:
        raise NoExactValueError
    name, functions, movement = node.inputs[0], list[Activation](), list[Node]()
    while name in writers and (writers[name].op == "Unary" or moves(writers[name].op)):
        behind = writers[name]
        if behind.op == "Unary":
            functions.insert(0, behind.epilogue.before)
        else:
            movement.insert(0, behind)
        name = behind.inputs[0]
    writer = writers.get(name)
    rule = _RULES.get(writer.op) if writer else None
    if writer is None or rule is None:
        whole = _tabulated(_operand(values[name]), functions, encoding)
    else:
        operands = [_operand(values[n]) for n in _computed(writer)]
        whole = _bounded(rule(writer, operands, graph, encoding), functions, encoding)
    for each in movement:
        whole = moved(each, _integers(whole), graph).real.terms[0].whole
    return _integers(np.clip(whole + encoding.zero[0], encoding.low, encoding.high))


def _integers(whole: Integers) -> Value:
    """Integers of which nothing is known about other engines'."""
    return Value(multiples(whole), lambda: np.full(whole.shape, np.inf))


def _computed(node: Node) -> tuple[str, ...]:
    return node.inputs if node.op == "Binary" else node.inputs[:1]


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


def _conv(node: Node, operands: list[_Operand], graph: Graph, y: Encoding) -> Integers:
    out = graph[node.output].shape[2:]
    (x,), (w, units) = operands, filters_of(node, graph)
    sums = convolved(x.whole.astype(np.float64), w, node.attrs, out).astype(np.int64)
    return _scaled(node, sums, graph, tflite.units(x.scale, units, dense=False), y)


def _dense(node: Node, operands: list[_Operand], graph: Graph, y: Encoding) -> Integers:
    (x,), (w, units) = operands, filters_of(node, graph)
    sums = (x.whole.astype(np.float64) @ w.T).astype(np.int64)
    return _scaled(node, sums, graph, tflite.units(x.scale, units, dense=True), y)


def _scaled(node: Node, sums: Integers, graph: Graph, unit: Reals, y: Encoding) -> Integers:
    """Sums of whole numbers, with the bias, in steps of the result."""
    channels = (-1, *(1,) * (sums.ndim - 2)) if node.op == "Conv" else (-1,)
    bias = graph[node.inputs[2]].data if len(node.inputs) > 2 and node.inputs[2] else None
    if bias is not None:
        whole, rest = in_units(bias.astype(np.float64), unit)
        if rest.any():
            raise NoExactValueError
        sums = sums + whole.reshape(channels)
    factors = [quantised_multiplier(float(each) / y.scale[0]) for each in unit]
    multiplier, shift = (
        np.array(each, np.int64).reshape(channels) for each in zip(*factors, strict=True)
    )
    return multiplied(sums, multiplier, shift)


def _binary(node: Node, operands: list[_Operand], graph: Graph, y: Encoding) -> Integers:
    kind, shape = node.attrs["kind"], graph[node.output].shape
    a, b = operands
    of_a, of_b = (np.broadcast_to(each.whole, shape) for each in operands)
    result = Affine(y.scale[0], 0)
    if kind == "mul":
        factor = tflite.product_factor(Affine(a.scale, 0), Affine(b.scale, 0), result)
        return multiplied(of_a * of_b, *quantised_multiplier(factor))
    if kind not in ("add", "sub"):
        raise NoExactValueError
    sign = 1.0 if kind == "add" else -1.0
    found = tflite.summed((of_a, of_b), (a.scale, sign * b.scale), result.scale)
    if found is None:
        raise NoExactValueError
    return found


def _pool(node: Node, operands: list[_Operand], graph: Graph, y: Encoding) -> Integers:
    """AVERAGE_POOL_2D divides sums of the integers themselves."""
    (x,), out, attrs = operands, graph[node.output].shape[2:], node.attrs
    if attrs["mode"] != "average" or x.scale != y.scale[0]:
        raise NoExactValueError
    stored = (x.whole + y.zero[0]).astype(np.float64)
    total = np.sum([view for _, view in taps(stored, attrs, out)], axis=0).astype(np.int64)
    count = counted(attrs, x.whole.shape[2:], out).astype(np.int64)
    half = np.where(total > 0, count // 2, -(count // 2))
    quotient: Integers = np.trunc((total + half) / count).astype(np.int64)
    return quotient - y.zero[0]


Rule = Callable[[Node, list[_Operand], Graph, Encoding], Integers]
_RULES: Mapping[str, Rule] = {"Binary": _binary, "Conv": _conv, "Dense": _dense, "Pool": _pool}
