"""Functions of one int16, or of two, to int16 in integers; any of the tensors may be int8, and one
of two a number.

What is linear, or linear on either side of 0, and sums and products are 64 bits of fixed point,
proven (`Wide`, `WidePair`); other functions are lines and bits (`Curve`).  All are rounded once, or
as TensorFlow Lite rounds them (`Doubled`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from edgeconv.ir.activation import LARGEST, NONE, Activation
from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.choice import Blob, Layer, Param
from edgeconv.ir.encoding import INT16, Encoding
from edgeconv.ir.graph import Epilogue, Graph, Node
from edgeconv.ir.requantisation import TFLITE
from edgeconv.ir.requantisation.curve import Curve, curve
from edgeconv.ir.requantisation.exact_reals import in_units, numbers, rounded
from edgeconv.ir.requantisation.pair import Affine
from edgeconv.ir.requantisation.tflite_short import Doubled, points
from edgeconv.ir.requantisation.wide import LEAST, MOST, WORDS, Wide
from edgeconv.ir.requantisation.wide_pair import WidePair, wide_pair
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.sums import bounds_in, rounds_to
from edgeconv.kernels.algorithms.wide_functions import (
    products_of,
    wide_line,
    wide_product,
    wide_sides,
)
from edgeconv.kernels.lowering.activations import evaluate
from edgeconv.kernels.lowering.calls import element_bytes, in_place, kernel_layer
from edgeconv.kernels.lowering.integers import computing, in_int16, with_int16
from edgeconv.kernels.lowering.loops import PerCore
from edgeconv.kernels.lowering.work import Call
from edgeconv.kernels.ops import tflite_functions
from edgeconv.target.targets import Target

_KINDS = frozenset({"add", "sub", "mul"})
_SHORT = frozenset({"sigmoid", "tanh"})
_WIDTH = 2  # bytes of a constant operand
_HEADERS = ("ec_nest.h", "ec_int16_scaling.h", "ec_int16_doubled.h")
_OF_PAIRS = ("ec_int16_doubled_pairs.h",)
_MORE_HEADERS = {
    **dict.fromkeys(_SHORT, ("ec_short_sigmoid.h",)),
    **dict.fromkeys(("doubled_prelu", "doubled_sides", "doubled_squares"), _OF_PAIRS),
}
# Instructions of an element on a Cortex-M4, counted, the loop's among them, and slots of vectors.
_SLOTS = {"sum": 24.0, "product": 18.0, "line": 22.0, "sides": 25.0, "moved": 7.0, "curve": 23.0}
_SLOTS |= {"doubled_sum": 46.0, "doubled_product": 24.0, "doubled": 22.0}
_SLOTS |= {"doubled_prelu": 30.0, "doubled_sides": 28.0, "doubled_squares": 52.0}
_SLOTS |= dict.fromkeys(_SHORT, 28.0)
# Cycles on a core without vectors, as `PerCore` has them.
_CYCLES: Mapping[str, PerCore] = MappingProxyType(
    {
        "sum": PerCore(215, 28, 28, 36),
        "product": PerCore(195, 21, 22, 28),
        "line": PerCore(200, 26, 25, 30),
        "sides": PerCore(215, 29, 28, 36),
        "moved": PerCore(40, 9, 8),
        "curve": PerCore(60, 28, 25),
        "doubled_sum": PerCore(420, 60, 56),
        "doubled_product": PerCore(195, 30, 28),
        "doubled": PerCore(190, 28, 26),
        "doubled_prelu": PerCore(210, 36, 34),
        "doubled_sides": PerCore(195, 34, 32),
        "doubled_squares": PerCore(440, 66, 62),
        **dict.fromkeys(_SHORT, PerCore(75, 33, 30)),
    }
)


@dataclass(frozen=True, slots=True)
class Moved:
    """A function between tensors of equal scales: ``plus`` more, between bounds."""

    plus: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Function:
    """A function of int16 and its constants.  ``kind``: as EC_INT16_<kind>."""

    kind: str
    form: Wide | WidePair | Curve | Moved | Doubled


def of_pair(node: Node, graph: Graph) -> Function | None:
    """The function of a Binary node of two tensors, or of one and a number; None where it is none,
    or not proven."""
    kind = str(node.attrs["kind"])
    if graph.requantise == TFLITE:
        return _doubled(tflite_functions.of_pair(node, graph))
    if any(graph[name].is_constant for name in node.inputs):
        return _with_number(kind, node, graph)
    if kind not in _KINDS:
        return None
    if not node.epilogue.is_only_before or not _rounds(node.epilogue.before, node, graph):
        return None
    y, rounding = graph[node.output].storage, node.epilogue.before
    a, b = (graph[name].storage for name in node.inputs)
    return _pair(kind, a, b, y, *bounds_in(rounding, y))


def _with_number(kind: str, node: Node, graph: Graph) -> Function | None:
    """The function of a Binary node of a tensor and a constant of one element."""
    x = run_time_input(node, graph)
    (name,) = (each for each in node.inputs if graph[each].is_constant)
    constant = graph[name].constant()
    if constant.size != 1 or graph[x].shape != graph[node.output].shape:
        return None
    number = float(constant.reshape(-1)[0])
    if node.inputs[0] != x and kind not in ("add", "mul"):
        return None
    function, rounding = _in_front(node.epilogue)
    if not np.isfinite(number) or node.epilogue.residual or not _rounds(rounding, node, graph):
        return None
    y = graph[node.output].storage
    bounds = bounds_in(rounding, y)
    return _one_and_number(kind, number, function, graph[x].storage, y, *bounds)


def run_time_input(node: Node, graph: Graph) -> str:
    """The tensor of a Binary node that is no constant, the first one of two."""
    return next(name for name in node.inputs if not graph[name].is_constant)


def of_one(node: Node, graph: Graph) -> Function | None:
    """The function of a Unary node; None where it is none, or not proven."""
    function, rounding = _in_front(node.epilogue)
    if node.epilogue.residual or not _rounds(rounding, node, graph):
        return None
    x, y = graph[node.inputs[0]].storage, graph[node.output].storage
    bounds = bounds_in(rounding, y)
    made = _doubled_one if graph.requantise == TFLITE else _one
    return made(function, x, y, *bounds)


def _in_front(epilogue: Epilogue) -> tuple[Activation, Activation]:
    """What stands in front of the rounding, and that."""
    alone = epilogue.after == NONE
    return (NONE, epilogue.before) if alone else (epilogue.before, epilogue.after)


def _rounds(rounding: Activation, node: Node, graph: Graph) -> bool:
    return with_int16(node, graph) and rounds_to(rounding, graph[node.output].storage)


@lru_cache(maxsize=4096)
def _pair(kind: str, a: Encoding, b: Encoding, y: Encoding, low: int, high: int) -> Function | None:
    form: Wide | WidePair | None
    if kind == "mul":
        form = wide_product(a, b, y, low, high)
        return Function("product", form) if form else None
    of_a, of_b, of_y = map(Affine.of, (a, b, y))
    if kind == "sub":
        of_b = replace(of_b, scale=-of_b.scale)
    form = wide_pair(of_a, of_b, of_y, low, high)
    return Function("sum", form) if form else None


@lru_cache(maxsize=4096)
def _one_and_number(
    kind: str,
    number: float,
    function: Activation,
    x: Encoding,
    y: Encoding,
    low: int,
    high: int,
) -> Function | None:
    """``function`` of a tensor and a number behind it; one that is added may be meant as a number
    of steps, as biases are."""
    if kind == "add":
        (units,), _ = in_units(np.array([number]), np.array(x.scale))
        number = float(units * x.scale[0]) if units else number
    given = {
        "add": {"plus": number},
        "sub": {"plus": -number},
        "mul": {"factor": number},
        "div": {"over": number},
    }.get(kind)
    if given is None or (kind in ("mul", "div") and number <= 0.0):
        return None
    if function != NONE:
        apart = {"factor": 1.0, "plus": 0.0, "over": 1.0} | given
        return _curve(function, x, y, low, high, **apart)
    form = wide_line(x, y, low, high, **given)
    return Function("line", form) if form else None


def _doubled_one(
    function: Activation, x: Encoding, y: Encoding, low: int, high: int
) -> Function | None:
    """What TensorFlow Lite makes of one tensor."""
    if function.kind in ("none", "relu", "clip") and x.scale == y.scale:
        return _one(function, x, y, low, high)
    return _doubled(tflite_functions.of_one(function, x, y, low, high))


def _doubled(found: Doubled | None) -> Function | None:
    return Function(found.kind, found) if found else None


@lru_cache(maxsize=1024)
def _one(function: Activation, x: Encoding, y: Encoding, low: int, high: int) -> Function | None:
    zero = y.zero[0]
    if function.kind in ("none", "relu", "clip"):
        if function.kind == "relu":
            low = max(low, zero)
        elif function.kind == "clip":
            ends = np.clip([function.alpha, function.beta], -LARGEST, LARGEST)
            low, high = map(int, rounded(numbers(ends), y.scale[0], zero, low, high))
        if x.scale == y.scale:
            return Function("moved", Moved(zero - x.zero[0], low, high))
        line = wide_line(x, y, low, high)
        return Function("line", line) if line else None
    if function.kind == "leaky_relu" and function.alpha > 0.0:
        sides = wide_sides(x, y, low, high, function.alpha)
        return Function("sides", sides) if sides else None
    return _curve(function, x, y, low, high)


def _curve(
    function: Activation,
    x: Encoding,
    y: Encoding,
    low: int,
    high: int,
    *,
    factor: float = 1.0,
    plus: float = 0.0,
    over: float = 1.0,
) -> Function | None:
    """``function`` of the numbers of ``x`` times ``factor``, and ``plus``, over ``over``."""
    if x.element != INT16:
        return None
    q = np.arange(x.low, x.high + 1, dtype=np.float64)
    argument = ((q - x.zero[0]) * x.scale[0] * factor + plus) / over
    with np.errstate(all="ignore"):  # in float64, as tables of int8 are
        values = np.asarray(evaluate(function, argument), np.float64)
    if not np.isfinite(values).all():
        return None
    found = curve(rounded(numbers(values), y.scale[0], y.zero[0], low, high))
    return Function("curve", found) if found else None


def lower_one(found: Function, node: Node, graph: Graph, target: Target) -> Layer:
    """One flat loop over memory, channel padding included."""
    operands: dict[str, str | Blob] = {"a": run_time_input(node, graph)}
    if isinstance(found.form, Curve):
        lines = found.form.words
        operands["table"] = Blob("lines", lines.size, lambda: lines, dtype="int32")
    elif found.kind in _SHORT:
        table = points().astype(np.uint16)
        operands["table"] = Blob("table", table.size, lambda: table, dtype="uint16")
    return _layer(found, operands, {}, node, graph, target)


def lower_pair(
    found: Function,
    operands: Mapping[str, str | Blob],
    loops: Mapping[str, Param],
    node: Node,
    graph: Graph,
    target: Target,
) -> Layer:
    """The loops of ec_binary, ``loops``, of ``operands`` a and b."""
    return _layer(found, operands, loops, node, graph, target)


def _layer(
    found: Function,
    operands: Mapping[str, str | Blob],
    loops: Mapping[str, Param],
    node: Node,
    graph: Graph,
    target: Target,
) -> Layer:
    call = Call(node, graph, target)
    tensors = [name for name in node.inputs if not graph[name].is_constant]
    names = node.inputs if loops else tensors
    zeros = [0 if graph[name].is_constant else graph[name].storage.zero[0] for name in names]
    sizes = [_WIDTH if graph[name].is_constant else element_bytes(graph, name) for name in names]
    scalar = target.is_scalar
    each = _CYCLES[found.kind].on(target, reals=False) if scalar else _SLOTS[found.kind]
    cycles = each * graph[node.output].elements
    moved = call.in_bytes + call.out_bytes
    alone = target.single_issue
    layer = kernel_layer(
        call,
        "int16_function",
        "ops/int16_function.c.j2",
        operands=operands,
        params={
            "kind": found.kind,
            "of_two": bool(loops),
            "table": "table" if "table" in operands else "NULL",
            "elements": graph[node.output].elements,
            "a_bytes": sizes[0],
            "b_bytes": sizes[-1] if loops else 0,
            "zero_a": zeros[0],
            "zero_b": zeros[-1] if loops else 0,
            "cut": found.kind == "product" and _is_cut(*(graph[name].storage for name in tensors)),
            **loops,
            **_members(found.form, element_bytes(graph, node.output)),
        },
        headers=(*_HEADERS, *_MORE_HEADERS.get(found.kind, ()), "ec_int16_function.h"),
        work=Work(0.0 if alone else cycles, cycles if alone else 0.0, 0.0, moved),
        aliases=in_place(node, graph, tensors),
        epilogue=False,
    )
    planned = replace(layer, plan={"function": found.kind})
    return in_int16(planned) if with_int16(node, graph) else computing(planned, INTEGERS)


def _is_cut(a: Encoding, b: Encoding) -> bool:
    """Products less zero points may not fit 32 bits."""
    least, most = products_of(a, b)
    return least < LEAST or most > MOST


def _members(form: Wide | WidePair | Curve | Moved | Doubled, width: int) -> dict[str, Param]:
    """The members of ec_int16_function that come of the form; ``width``: bytes of a result."""
    members: dict[str, Param] = dict.fromkeys(("by_a", "by_b", "words"), ())
    members |= dict.fromkeys(("offset", "width", "bits"), 0)
    if isinstance(form, Curve):
        return members | {"width": form.width, "bits": form.bits_at, "result": (0,) * 5 + (width,)}
    if isinstance(form, Doubled):
        result = (0, 0, form.zero, form.low, form.high, width)
        return members | {"words": form.words, "result": result}
    if isinstance(form, Moved):
        result = (0, 0, 0, form.low, form.high, width)
        return members | {"zero_a": form.plus, "result": result}
    result = (form.shift, form.tie, form.zero, form.low, form.high, width)
    members["result"] = result
    if isinstance(form, WidePair):
        by_a, by_b = form.words[:2], form.words[2:]
        return members | {"by_a": by_a, "by_b": by_b, "offset": form.offset}
    words = np.stack(form.words, axis=1)
    assert words.shape[1] == WORDS
    return members | {"words": tuple(map(int, words.reshape(-1)))}
