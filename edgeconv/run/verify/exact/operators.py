"""Operators of the graph on exact numbers: one row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.quantisation import INTEGERS, integers_of
from edgeconv.ir.requantisation.exact_reals import (
    Integers,
    Real,
    Reals,
    Term,
    in_units,
    joined,
    multiples,
    numbers,
)
from edgeconv.ir.requantisation.softmax import error
from edgeconv.kernels.ops.interpolation import tables, whole_weights
from edgeconv.run.verify.exact.by_channel import by_channel, of_filters, or_one, single
from edgeconv.run.verify.exact.functions import (
    added,
    dequantised,
    divided,
    extreme,
    quantised,
    scaled,
)
from edgeconv.run.verify.exact.movement import broadcast, moved, moves
from edgeconv.run.verify.exact.value import (
    ULP,
    NoExactValueError,
    Value,
    constant,
    growth,
    result_of,
)
from edgeconv.run.verify.exact.windows import convolved, counted, taps

Operands = Sequence[Value]
_EXACT = 2.0**53
_EXPONENTIAL = 16  # roundings of an exponential in float32, a division and a product
_TINY = 2.0**-126  # below which float32 has no more bits
_MORE = 4  # roundings of a product's operands, of it, and of adding the bias


def _quantise(node: Node, operands: Operands, graph: Graph) -> Value:
    del graph
    x, encoding = operands[0], integers_of(node)
    scale, zero = _along(encoding.axis, x.shape, encoding.scale, encoding.zero)
    return quantised(x, scale, zero, encoding.low, encoding.high)


def _dequantise(node: Node, operands: Operands, graph: Graph) -> Value:
    del graph
    encoding = integers_of(node)
    scale, zero = _along(encoding.axis, operands[0].shape, encoding.scale, encoding.zero)
    return dequantised(operands[0], scale, zero)


def _along(
    axis: int, shape: tuple[int, ...], scale: Sequence[float], zero: Sequence[int]
) -> tuple[Reals, Integers]:
    """A scale and zero point, or several of both along ``axis``."""
    dims = [-1 if i == axis else 1 for i in range(len(shape))] if len(scale) > 1 else []
    return np.array(scale, np.float64).reshape(dims), np.array(zero, np.int64).reshape(dims)


def filters_of(node: Node, graph: Graph) -> tuple[Reals, Reals]:
    """The filters of a Conv or Dense as whole numbers, and the unit of each output channel."""
    encoding = node.storage
    weights: npt.NDArray[Any] | None = graph[node.inputs[1]].data
    if weights is None or not encoding.scale:
        raise NoExactValueError
    units = np.asarray(encoding.scale, np.float64)
    rows = units.reshape(-1, *(1,) * (weights.ndim - 1))
    whole = np.rint(weights / rows)
    if not np.array_equal((whole * rows).astype(np.float32), weights):
        raise NoExactValueError
    return whole, units


Total = Callable[[Reals, Reals], Reals]


def sums_of(node: Node, graph: Graph) -> tuple[Total, tuple[int, ...]]:
    """What a Conv or Dense makes of an input and filters without bias, in float64, and the shape of
    one number per output channel."""
    if node.op == "Dense":
        return lambda x, w: x @ w.T, (-1,)
    out = graph[node.output].shape[2:]
    return lambda x, w: convolved(x, w, node.attrs, out), (-1, *(1,) * len(out))


def _summed(node: Node, operands: Operands, graph: Graph) -> Value:
    """The sums, and the bias."""
    x, (total, channels) = operands[0], sums_of(node, graph)
    axis = 1 if node.op == "Conv" else len(x.shape) - 1
    term, given = by_channel(x, axis)
    w, units = filters_of(node, graph)
    groups = int(node.attrs.get("groups", 1))
    factors = tuple(of_filters(each, groups, len(w), axis) for each in given)
    terms_of_sum = int(np.prod(w.shape[1:]))
    reach = float(np.abs(term.whole).max(initial=0)) * np.abs(w).max(initial=0.0) * terms_of_sum
    if reach >= _EXACT:
        raise NoExactValueError
    whole = total(term.whole.astype(np.float64), w).astype(np.int64)
    rows = units.reshape(channels)

    def off() -> Reals:
        size = np.abs(term.near())
        sizes = total(size, np.abs(w)) * rows
        return growth(terms_of_sum + _MORE) * sizes + total(x.off, np.abs(w)) * rows * (1 + 1e-3)

    made = Value(multiples(whole, *factors, rows), off)
    bias = graph[node.inputs[2]].data if len(node.inputs) > 2 and node.inputs[2] else None
    return made if bias is None else _biased(made, bias.reshape(channels))


def _biased(x: Value, bias: npt.NDArray[Any]) -> Value:
    """With a constant added, which may be meant as a number of units."""
    term, real = x.real.terms[0], np.broadcast_to(bias.astype(np.float64), x.shape)
    if len(x.real.terms) > 1 or np.any(np.asarray(term.over) != 1):
        return added(x, constant(bias, x.shape))
    unit = np.broadcast_to(np.prod(np.broadcast_arrays(*term.factors), axis=0), x.shape)
    units, rest = in_units(real, unit)
    terms = [Term(term.whole + units, term.factors)]
    terms += numbers(rest).terms if rest.any() else ()
    made = Real(tuple(terms), x.real.error)
    # What the sum and the bias were rounded to, and the bias's own distance from its units.
    return result_of(made, 1, lambda: x.off + 8 * ULP * np.abs(real))


def _matmul(node: Node, operands: Operands, graph: Graph) -> Value:
    """The product of two tensors of one scale each, stacked and broadcast as in numpy."""
    del node, graph
    a, b = operands
    (s, of_a), (t, of_b) = single(a), single(b)
    depth = a.shape[-1]
    reach = float(np.abs(s.whole).max(initial=0)) * float(np.abs(t.whole).max(initial=0)) * depth
    if reach >= _EXACT:
        raise NoExactValueError
    whole = (s.whole.astype(np.float64) @ t.whole.astype(np.float64)).astype(np.int64)

    def off() -> Reals:
        of_sizes = growth(depth + _MORE) * (np.abs(a.near()) @ np.abs(b.near()))
        beside = a.off @ (np.abs(b.near()) + b.off) + np.abs(a.near()) @ b.off
        found: Reals = of_sizes + beside * (1 + 1e-3)
        return found

    return Value(multiples(whole, *of_a, *of_b), off)


def _product(a: Value, b: Value) -> Value:
    if len(a.real.terms) > 1 or len(b.real.terms) > 1 or np.any(a.real.error + b.real.error):
        raise NoExactValueError
    s, t = a.real.terms[0], b.real.terms[0]
    if float(np.abs(s.whole).max(initial=0)) * np.abs(t.whole).max(initial=0) >= _EXACT:
        raise NoExactValueError
    real = Real((Term(s.whole * t.whole, (*s.factors, *t.factors), s.over * t.over),))

    def off() -> Reals:
        found: Reals = np.abs(a.near()) * b.off + np.abs(b.near()) * a.off + a.off * b.off
        return found

    return result_of(real, 1, off)


def _binary(node: Node, operands: Operands, graph: Graph) -> Value:
    kind, shape = node.attrs["kind"], graph[node.output].shape
    for x, name in zip(operands, reversed(node.inputs), strict=True):
        bias = graph[name].data
        if kind == "add" and bias is not None and bias.dtype.kind == "f" and x.shape == shape:
            return _biased(x, bias)
    a, b = (broadcast(x, shape) for x in operands)
    if kind in ("add", "sub"):
        return added(a, b if kind == "add" else scaled(b, -1.0))
    if kind == "mul":
        return _product(a, b)
    over = graph[node.inputs[1]].data
    if kind == "div" and over is not None and over.size == 1:
        number = float(over.reshape(-1)[0])
        if over.dtype == np.float32 and np.isfinite(number) and number:
            return divided(a, number)
    raise NoExactValueError


def _elementwise(node: Node, operands: Operands, graph: Graph) -> Value:
    """Bounds of integers."""
    shape, function = graph[node.output].shape, node.attrs["function"]
    if function not in ("max", "min") or graph[node.output].dtype not in INTEGERS:
        raise NoExactValueError
    a, b = (broadcast(x, shape) for x in operands)
    return extreme(a, b, largest=function == "max")


def _pool(node: Node, operands: Operands, graph: Graph) -> Value:
    x, out, attrs = operands[0], graph[node.output].shape[2:], node.attrs
    term, given = by_channel(x, 1)
    factors = tuple(map(or_one, given))
    whole = term.whole.astype(np.float64)
    if attrs["mode"] == "max":
        most = np.max([view for _, view in taps(whole, attrs, out, -np.inf)], axis=0)

        def largest() -> Reals:
            found: Reals = np.max([view for _, view in taps(x.off, attrs, out)], axis=0)
            return found

        return Value(multiples(most.astype(np.int64), *factors), largest)

    def total(values: Reals) -> Reals:
        start = np.zeros((*x.shape[:2], *out))
        found: Reals = sum((view for _, view in taps(values, attrs, out)), start)
        return found

    over = counted(attrs, x.shape[2:], out).astype(np.int64)
    count = int(np.prod(attrs["kernel"]))
    if count * np.abs(whole).max(initial=0.0) >= _EXACT:
        raise NoExactValueError
    summed = Term(total(whole).astype(np.int64), factors, over)

    def off() -> Reals:
        found: Reals = (growth(count + 2) * total(np.abs(x.near())) + 2 * total(x.off)) / over
        return found

    return Value(Real((summed,)), off)


def _mean(node: Node, operands: Operands, graph: Graph) -> Value:
    x, shape = operands[0], graph[node.output].shape
    axes = tuple(node.attrs["axes"])
    term, given = by_channel(x, 0 if 1 in axes else 1)
    kept = len(shape) == len(x.shape)
    factors = tuple(
        each if kept or each.ndim == 0 else each.squeeze(axes) for each in map(or_one, given)
    )
    if node.attrs["kind"] not in ("mean", "sum"):
        raise NoExactValueError
    count = int(np.prod([x.shape[axis] for axis in axes]))
    over = count if node.attrs["kind"] == "mean" else 1
    whole = term.whole.sum(axes).reshape(shape)

    def off() -> Reals:
        size = np.abs(x.near()).sum(axes).reshape(shape)
        found: Reals = (growth(count + 2) * size + 2 * x.off.sum(axes).reshape(shape)) / over
        return found

    return Value(Real((Term(whole, factors, over),)), off)


def _resize(node: Node, operands: Operands, graph: Graph) -> Value:
    """Linear, of weights that are whole numbers, dimension by dimension."""
    x, shape = operands[0], graph[node.output].shape
    term, given = by_channel(x, 1)
    factors = tuple(map(or_one, given))
    if node.attrs["mode"] != "linear" or node.attrs["exclude_outside"]:
        raise NoExactValueError
    every, over, taps = [], 1, 1
    for size, out, scale in zip(x.shape, shape, node.attrs["scales"], strict=True):
        index, weight = tables(size, out, float(scale), node.attrs)
        found = whole_weights(weight)
        if found is None:
            raise NoExactValueError
        every.append((index, found[0].astype(np.float64)))
        over, taps = over * found[1], taps * len(index)

    def total(values: Reals) -> Reals:
        for axis, (index, whole) in enumerate(every):
            at = [-1 if i == axis else 1 for i in range(values.ndim)]
            each = zip(index, whole, strict=True)
            values = sum(np.take(values, i, axis) * w.reshape(at) for i, w in each)
        return values

    def off() -> Reals:
        roundings = growth(taps + 2 * _MORE)
        found: Reals = (roundings * total(np.abs(x.near())) + 2 * total(x.off)) / over
        return found

    whole = total(term.whole.astype(np.float64)).astype(np.int64)
    return Value(Real((Term(whole, factors, over),)), off)


def _softmax(node: Node, operands: Operands, graph: Graph) -> Value:
    """Within what tables of powers leave open: a rounding of it is known but next to a tie."""
    del graph
    x, axis = operands[0], node.attrs["axis"]
    if node.attrs.get("log"):
        raise NoExactValueError
    near = x.near()
    powers = np.exp(near - near.max(axis, keepdims=True))
    p: Reals = powers / powers.sum(axis, keepdims=True)
    count = x.shape[axis]
    doubt = 4.0 * float(x.real.doubt().max(initial=0.0))

    def off() -> Reals:
        span = float(near.max(initial=0.0) - near.min(initial=0.0))
        of_power = 2 * (2 * float(x.off.max(initial=0.0)) + ULP * span)
        found: Reals = p * (2 * of_power + growth(count + _EXPONENTIAL)) + _TINY
        return found

    return Value(Real(numbers(p).terms, error(p, count) + doubt * p), off)


def _concat(node: Node, operands: Operands, graph: Graph) -> Value:
    del graph
    axis = node.attrs["axis"]
    real = joined([x.real for x in operands], axis)
    return Value(real, lambda: np.concatenate([x.off for x in operands], axis))


Rule = Callable[[Node, Operands, Graph], Value]
_RULES: Mapping[str, Rule] = {
    "Binary": _binary,
    "Concat": _concat,
    "Conv": _summed,
    "Dense": _summed,
    "Dequantise": _dequantise,
    "Elementwise": _elementwise,
    "MatMul": _matmul,
    "Pool": _pool,
    "Quantise": _quantise,
    "Reduce": _mean,
    "Resize": _resize,
    "Softmax": _softmax,
    "Unary": lambda node, operands, graph: operands[0],
}


def computed(node: Node, operands: Operands, graph: Graph) -> Value:
    """The output of ``node``, without its epilogue.  Raises NoExactValueError."""
    if moves(node):
        return moved(node, operands[0], graph)
    if node.op not in _RULES:
        raise NoExactValueError
    return _RULES[node.op](node, operands, graph)
