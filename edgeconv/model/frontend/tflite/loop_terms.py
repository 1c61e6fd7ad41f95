"""What a graph of a loop computes, as terms of what it is given: sums of products with constants,
functions of these, and which item of a list a step reads or writes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from edgeconv.model.frontend.tflite.writing import Writing
from edgeconv.model.tflite import Model, Operator

Term = tuple[Any, ...]  # a kind, and what it is of
NOTHING: Term = ("nothing",)  # of which nothing is known
COUNTER, NEXT = ("counter",), ("next",)  # how many steps there were, and one more
ITEM, GIVEN = "item", "given"  # of the loop variable that follows
REALS = ("float32", "float16")  # types of weights
_FUNCTIONS = {"LOGISTIC": "sigmoid", "TANH": "tanh"}
_VIEWS = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows ``low`` to ``high`` of the product of ``of`` and the weights at ``place``, or of the
    constant there where ``of`` is `NOTHING`."""

    of: Term
    place: int
    low: int
    high: int


class Terms:
    """What the tensors of a graph are, of its inputs."""

    def __init__(self, out: Writing, graph: Model, names: Sequence[Term]) -> None:
        self.out, self.graph = out, graph
        self._widened: dict[int, int] = {}  # of float16 constants, which DEQUANTIZE makes float32
        self._known: dict[int, tuple[Term, ...] | Term] = dict(
            zip(graph.inputs, names, strict=True)
        )
        for operator in graph.operators:
            found = self._of(operator)
            for place, term in zip(operator.outputs, found, strict=False):
                self._known[place] = term

    def results(self) -> list[Term]:
        """The terms of its outputs."""
        return [self.term(place) for place in self.graph.outputs]

    def term(self, place: int) -> Term:
        """What the tensor at ``place`` is."""
        return self._known.get(place, NOTHING)

    def constant(self, place: int) -> int:
        """Where the constant lies that the tensor at ``place`` is, or is made of."""
        return self._widened.get(place, place)

    def widen(self, operator: Operator) -> None:
        """Note the float16 constant that a DEQUANTIZE reads."""
        tensor = self.graph.tensors[operator.inputs[0]]
        if tensor.dtype == "float16" and tensor.data is not None:
            self._widened[operator.outputs[0]] = operator.inputs[0]

    def value(self, operator: Operator, index: int) -> npt.NDArray[Any] | None:
        """Operand ``index`` where it is a constant of numbers."""
        if index >= len(operator.inputs) or operator.inputs[index] < 0:
            return None
        return self.out.numbers_of(self.graph.tensors[operator.inputs[index]])

    def _of(self, operator: Operator) -> Sequence[Term]:
        if operator.custom or operator.options.get("activation", 0):
            return ()
        made = _READ.get(operator.kind)
        x = [self.term(place) if place >= 0 else NOTHING for place in operator.inputs]
        return made(self, operator, x) if made else ()

    def shape(self, place: int) -> tuple[int, ...]:
        """The sizes of the tensor at ``place``."""
        return self.graph.tensors[place].shape


def _sum_of(terms: Terms, place: int, term: Term) -> Term:
    """A sum of sums: of a constant its numbers; () where the tensor is none."""
    if term and isinstance(term[0], Rows):
        return term
    place = terms.constant(place)
    tensor = terms.graph.tensors[place]
    size = tensor.shape[-1] if tensor.shape else 0
    if tensor.data is None or tensor.dtype not in REALS or math.prod(tensor.shape) != size:
        return ()
    return (Rows(NOTHING, place, 0, size),)


def _dense(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    place = terms.constant(operator.inputs[1])
    weights = terms.graph.tensors[place]
    if weights.data is None or len(weights.shape) != 2 or operator.options["weights_format"]:
        return ()
    if x[0] == NOTHING:  # which stands for constants where it is of `Rows`
        return ()
    found: Term = (Rows(x[0], place, 0, weights.shape[0]),)
    if len(operator.inputs) > 2 and operator.inputs[2] >= 0:
        bias = _sum_of(terms, operator.inputs[2], NOTHING)
        if not bias:
            return ()
        found += bias
    return (found,)


def _widened(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    terms.widen(operator)
    return ()


def _add(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    places = operator.inputs
    for one, other in ((0, 1), (1, 0)):
        value = terms.value(operator, other)
        if x[one] == COUNTER and value is not None and value.size == 1 and value.all():
            return (NEXT,) if int(value.reshape(-1)[0]) == 1 else ()
    sums = [_sum_of(terms, place, term) for place, term in zip(places, x, strict=True)]
    if all(sums):
        widths = {part.high - part.low for each in sums for part in each}
        return ((*sums[0], *sums[1]),) if len(widths) == 1 else ()
    if NOTHING in x:
        return ()
    return (("add", frozenset(x)),)


def _multiply(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    return () if NOTHING in x else (("mul", frozenset(x)),)


def _subtract(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    one = terms.value(operator, 0)
    is_one = one is not None and one.size == 1 and float(one.reshape(-1)[0]) == 1.0
    return (("rest", x[1]),) if is_one and x[1] != NOTHING else ()


def _function(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    return ((_FUNCTIONS[operator.kind], x[0]),) if x[0] != NOTHING else ()


def _view(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    """Views in which only dimensions of size 1 come and go."""
    before, after = (terms.shape(each[0]) for each in (operator.inputs, operator.outputs))
    kept = [[size for size in shape if size != 1] for shape in (before, after)]
    return (x[0],) if kept[0] == kept[1] else ()


def _columns(term: Term, low: int, high: int) -> Term:
    return tuple(replace(part, low=part.low + low, high=part.low + high) for part in term)


def _split(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    axis, shape = terms.value(operator, 0), terms.shape(operator.inputs[1])
    if axis is None or not x[1] or not isinstance(x[1][0], Rows):
        return ()
    if int(axis.reshape(-1)[0]) % len(shape) != len(shape) - 1:
        return ()
    size = shape[-1] // max(len(operator.outputs), 1)
    return [_columns(x[1], i * size, (i + 1) * size) for i in range(len(operator.outputs))]


def _strided(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    """Columns, and all of what is in front of them."""
    shape, options = terms.shape(operator.inputs[0]), operator.options
    begin, end, strides = (terms.value(operator, index) for index in (1, 2, 3))
    if not x[0] or not isinstance(x[0][0], Rows) or begin is None or end is None:
        return ()
    others = any(options[name] for name in ("ellipsis", "new_axis", "shrink", "offset"))
    if strides is None or others or begin.size != len(shape) or (strides != 1).any():
        return ()
    bounds = []
    for axis, size in enumerate(shape):
        low = 0 if options["begin"] >> axis & 1 else int(begin[axis])
        high = size if options["end"] >> axis & 1 else int(end[axis])
        bounds.append((low + size * (low < 0), min(high + size * (high < 0), size)))
    whole = all(pair == (0, size) for pair, size in zip(bounds[:-1], shape[:-1], strict=True))
    return (_columns(x[0], *bounds[-1]),) if whole and bounds[-1][0] < bounds[-1][1] else ()


def _gather(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    first = operator.options["axis"] == 0 and not operator.options.get("batch_dims", 0)
    known = first and x[0][0] == GIVEN and x[1] == COUNTER
    return ((ITEM, x[0][1]),) if known else ()


def _slice(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    """Items in front of this step, or behind it."""
    if x[0][0] != GIVEN:
        return ()
    begin, size = terms.value(operator, 1), terms.value(operator, 2)
    if begin is not None and not begin.any() and x[2] == ("first", COUNTER, True):
        return (("before", x[0][1]),)
    if size is not None and (size == -1).all() and x[1] == ("first", NEXT, False):
        return (("behind", x[0][1]),)
    return ()


def _join(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    """Bounds of a slice, or a list with an item of this step in its place."""
    if operator.options["axis"] != 0:
        return ()
    rest = terms.value(operator, 1) if len(x) == 2 else None
    if rest is not None and x[0] in (COUNTER, NEXT):
        if (rest == -1).all():
            return (("first", x[0], True),)
        return () if rest.any() else (("first", x[0], False),)
    if len(x) == 3 and (x[0][0], x[2][0]) == ("before", "behind") and x[0][1] == x[2][1]:
        return (("put", x[0][1], x[1]),) if x[1] != NOTHING else ()
    return ()


def _below(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    bound = terms.value(operator, 1)
    known = x[0] == COUNTER and bound is not None and bound.size == 1
    return (("below", (int(bound.reshape(-1)[0]),)),) if known and bound is not None else ()


def _both(terms: Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    known = x[0][0] == x[1][0] == "below"
    return (("below", (*x[0][1], *x[1][1])),) if known else ()


_READ: Mapping[str, Any] = {
    "FULLY_CONNECTED": _dense,
    "ADD": _add,
    "MUL": _multiply,
    "SUB": _subtract,
    **dict.fromkeys(_FUNCTIONS, _function),
    **dict.fromkeys(_VIEWS, _view),
    "SPLIT": _split,
    "STRIDED_SLICE": _strided,
    "GATHER": _gather,
    "SLICE": _slice,
    "CONCATENATION": _join,
    "LESS": _below,
    "LOGICAL_AND": _both,
    "DEQUANTIZE": _widened,
}
