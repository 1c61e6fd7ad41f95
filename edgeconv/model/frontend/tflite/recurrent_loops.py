"""WHILE loops that are recurrent layers, as Keras 3 writes its SimpleRNN, GRU and LSTM.

The body of such a loop takes a step of a sequence and computes new states.  What it returns is read
as terms of what it is given; where these are the equations of a cell, the loop is ONNX's layer: one
kernel call, and not a copy of the body for each step.  Other loops stay loops.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from edgeconv.model.frontend.tflite.writing import Writing
from edgeconv.model.tflite import Model, Operator, Tensor

Term = tuple[Any, ...]  # a kind, and what it is of
NOTHING: Term = ("nothing",)  # of which nothing is known
_COUNTER, _NEXT, _ITEM, _GIVEN = "counter", "next", "item", "given"
_FUNCTIONS = {"LOGISTIC": "sigmoid", "TANH": "tanh"}
_REAL = ("float32", "float16")  # types of weights
_VIEWS = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")


@dataclass(frozen=True, slots=True)
class Part:
    """Rows ``low`` to ``high`` of the product of ``of`` and the weights at ``place``, or of the
    constant there where ``of`` is `NOTHING`."""

    of: Term
    place: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Cell:
    """``kind``: ONNX's layer.  ``gates``: in its order, the sums in front of each function.
    ``hidden``, ``cell``: loop variables of the states, the second None but of an LSTM.
    ``within``: of a GRU, the sum that its reset multiplies, else ()."""

    kind: str
    gates: tuple[Term, ...]
    hidden: int
    cell: int | None = None
    within: Term = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """A loop that is one.  ``results``: by loop variable, terms of the last step."""

    cell: Cell
    sequence: int  # a loop variable
    steps: int
    state: Term
    after: Term  # the new cell of an LSTM, else `NOTHING`
    results: tuple[Term, ...]


def recurrent_layer(out: Writing, operator: Operator) -> Layer | None:
    """The layer that a WHILE is; None of others."""
    bodies = out.bodies
    numbers = [operator.options[name] for name in ("cond", "body")]
    if not all(0 < number <= len(bodies) for number in numbers):
        return None
    condition, body = (bodies[number - 1] for number in numbers)
    counts = len(operator.inputs), len(operator.outputs), len(body.outputs)
    if counts != (len(body.inputs),) * 3 or len(condition.inputs) != len(body.inputs):
        return None
    given = [out.model.tensors[place] for place in operator.inputs]
    names = [
        (_COUNTER,) if _is_zero(out, tensor) else (_GIVEN, index)
        for index, tensor in enumerate(given)
    ]
    steps = _steps(out, condition, names)
    results = _Terms(out, body, names).results()
    counters = [result for result, name in zip(results, names, strict=True) if name == (_COUNTER,)]
    if steps is None or any(result != (_NEXT,) for result in counters):
        return None
    for state in dict.fromkeys(results):
        found = _cell(state, results)
        if found is None:
            continue
        cell, after, sequence = found
        made = Layer(cell, sequence, steps, state, after, tuple(results))
        return made if _fits(made, given, body) else None
    return None


def _fits(layer: Layer, given: Sequence[Tensor], body: Model) -> bool:
    """Whether all of it is float32, of the sizes of such a layer, and every result is known."""
    cell, sequence = layer.cell, given[layer.sequence]
    states = [given[index] for index in (cell.hidden, cell.cell) if index is not None]
    hidden = states[0].shape[-1] if states[0].shape else 0
    places = {part.place for gate in (*cell.gates, cell.within) for part in gate}
    if any(body.tensors[place].dtype not in _REAL for place in places):
        return False
    if any(each.dtype != "float32" or len(each.shape) < 2 for each in (sequence, *states)):
        return False
    batch = int(np.prod(sequence.shape[1:-1]))
    if sequence.free or sequence.shape[0] != layer.steps or len(sequence.shape) != 3:
        return False
    if any(each.free or each.shape != (batch, hidden) for each in states):
        return False
    if any(part.high - part.low != hidden for gate in (*cell.gates, cell.within) for part in gate):
        return False
    invariant = all(
        result in ((_NEXT,), (_GIVEN, index), layer.state, layer.after)
        or (result == ("put", index, layer.state) and given[index].shape[:1] == (layer.steps,))
        for index, result in enumerate(layer.results)
    )
    return invariant and layer.results[layer.sequence] == (_GIVEN, layer.sequence)


def _is_zero(out: Writing, tensor: Tensor) -> bool:
    value = out.numbers_of(tensor)
    whole = tensor.dtype == "int32" and tensor.shape == ()
    return whole and value is not None and not value.any()


def _steps(out: Writing, condition: Model, names: Sequence[Term]) -> int | None:
    """How often a loop runs whose condition is that counters are below numbers."""
    terms = _Terms(out, condition, names)
    (found,) = terms.results() if len(condition.outputs) == 1 else [NOTHING]
    bounds = found[1] if found[0] == "below" else ()
    return min(bounds, default=None)


class _Terms:
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


def _parts(terms: _Terms, place: int, term: Term) -> Term:
    """A sum of parts: of a constant its numbers; () where the tensor is none."""
    if term and isinstance(term[0], Part):
        return term
    place = terms.constant(place)
    tensor = terms.graph.tensors[place]
    size = tensor.shape[-1] if tensor.shape else 0
    if tensor.data is None or tensor.dtype not in _REAL or math.prod(tensor.shape) != size:
        return ()
    return (Part(NOTHING, place, 0, size),)


def _dense(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    place = terms.constant(operator.inputs[1])
    weights = terms.graph.tensors[place]
    if weights.data is None or len(weights.shape) != 2 or operator.options["weights_format"]:
        return ()
    found: Term = (Part(x[0], place, 0, weights.shape[0]),)
    if len(operator.inputs) > 2 and operator.inputs[2] >= 0:
        bias = _parts(terms, operator.inputs[2], NOTHING)
        if not bias:
            return ()
        found += bias
    return (found,)


def _widened(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    terms.widen(operator)
    return ()


def _add(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    places = operator.inputs
    for one, other in ((0, 1), (1, 0)):
        value = terms.value(operator, other)
        if x[one] == (_COUNTER,) and value is not None and value.size == 1 and value.all():
            return ((_NEXT,),) if int(value.reshape(-1)[0]) == 1 else ()
    parts = [_parts(terms, place, term) for place, term in zip(places, x, strict=True)]
    if all(parts):
        return ((*parts[0], *parts[1]),)
    if NOTHING in x:
        return ()
    return (("add", frozenset(x)),)


def _multiply(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    return () if NOTHING in x else (("mul", frozenset(x)),)


def _subtract(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    one = terms.value(operator, 0)
    is_one = one is not None and one.size == 1 and float(one.reshape(-1)[0]) == 1.0
    return (("rest", x[1]),) if is_one and x[1] != NOTHING else ()


def _function(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    return ((_FUNCTIONS[operator.kind], x[0]),) if x[0] != NOTHING else ()


def _view(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    """The same where only dimensions of size 1 come and go."""
    before, after = (terms.shape(each[0]) for each in (operator.inputs, operator.outputs))
    kept = [[size for size in shape if size != 1] for shape in (before, after)]
    return (x[0],) if kept[0] == kept[1] else ()


def _columns(term: Term, low: int, high: int) -> Term:
    return tuple(replace(part, low=part.low + low, high=part.low + high) for part in term)


def _split(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    axis, shape = terms.value(operator, 0), terms.shape(operator.inputs[1])
    if axis is None or not x[1] or not isinstance(x[1][0], Part):
        return ()
    if int(axis.reshape(-1)[0]) % len(shape) != len(shape) - 1:
        return ()
    size = shape[-1] // max(len(operator.outputs), 1)
    return [_columns(x[1], i * size, (i + 1) * size) for i in range(len(operator.outputs))]


def _strided(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    """Columns, and all of what is in front of them."""
    shape, options = terms.shape(operator.inputs[0]), operator.options
    begin, end, strides = (terms.value(operator, index) for index in (1, 2, 3))
    if not x[0] or not isinstance(x[0][0], Part) or begin is None or end is None:
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


def _gather(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    first = operator.options["axis"] == 0 and not operator.options.get("batch_dims", 0)
    known = first and x[0][0] == _GIVEN and x[1] == (_COUNTER,)
    return ((_ITEM, x[0][1]),) if known else ()


def _slice(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    """Items in front of this step, or behind it."""
    if x[0][0] != _GIVEN:
        return ()
    begin, size = terms.value(operator, 1), terms.value(operator, 2)
    if begin is not None and not begin.any() and x[2] == ("first", (_COUNTER,), True):
        return (("before", x[0][1]),)
    if size is not None and (size == -1).all() and x[1] == ("first", (_NEXT,), False):
        return (("behind", x[0][1]),)
    return ()


def _join(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    """Bounds of a slice, or a list with an item of this step in its place."""
    if operator.options["axis"] != 0:
        return ()
    rest = terms.value(operator, 1) if len(x) == 2 else None
    if rest is not None and x[0] in ((_COUNTER,), (_NEXT,)):
        if (rest == -1).all():
            return (("first", x[0], True),)
        return () if rest.any() else (("first", x[0], False),)
    if len(x) == 3 and (x[0][0], x[2][0]) == ("before", "behind") and x[0][1] == x[2][1]:
        return (("put", x[0][1], x[1]),) if x[1] != NOTHING else ()
    return ()


def _below(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
    bound = terms.value(operator, 1)
    known = x[0] == (_COUNTER,) and bound is not None and bound.size == 1
    return (("below", (int(bound.reshape(-1)[0]),)),) if known and bound is not None else ()


def _both(terms: _Terms, operator: Operator, x: Sequence[Term]) -> Sequence[Term]:
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


def _cell(state: Term, results: Sequence[Term]) -> tuple[Cell, Term, int] | None:
    """The cell whose new state is ``state``, what becomes of the cell of an LSTM, and the loop
    variable of the sequence."""
    for read in (_lstm, _gru, _rnn):
        found = read(state, results)
        if found is not None:
            cell, after = found
            sequences = [_sources(gate, cell.hidden) for gate in cell.gates]
            if None not in sequences and len(set(sequences)) == 1 and sequences[0] is not None:
                return cell, after, sequences[0]
    return None


def _sources(gate: Term, hidden: int) -> int | None:
    """The sequence that a gate reads one product of, beside one of the state."""
    of = [part.of for part in gate if part.of != NOTHING]
    items = [term[1] for term in of if term[0] == _ITEM]
    states = [term for term in of if term == (_GIVEN, hidden)]
    return items[0] if len(items) == 1 and len(states) <= 1 and len(of) <= 2 else None


def _is_sum(term: Term) -> bool:
    return bool(term) and isinstance(term[0], Part)


def _pair(term: Term, kind: str, first: str) -> tuple[Term, Term] | None:
    """Two operands of a commutative ``kind``, the ``first`` of the kind that is named."""
    if not term or term[0] != kind or len(term[1]) != 2:
        return None
    one, other = term[1]
    for a, b in ((one, other), (other, one)):
        if a and a[0] == first:
            return a, b
    return None


def _lstm(state: Term, results: Sequence[Term]) -> tuple[Cell, Term] | None:
    """h = s(o) tanh(c'), c' = s(f) c + s(i) tanh(g)."""
    outer = _pair(state, "mul", "tanh")
    if outer is None or outer[1][0] != "sigmoid":
        return None
    after, output = outer[0][1], outer[1][1]
    if not after or after[0] != "add" or len(after[1]) != 2 or after not in results:
        return None
    cell = results.index(after)
    for kept, new in (tuple(after[1]), tuple(after[1])[::-1]):
        forget, fresh = _pair(kept, "mul", "sigmoid"), _pair(new, "mul", "tanh")
        if forget is None or fresh is None or forget[1] != (_GIVEN, cell):
            continue
        gates = (fresh[1][1], output, forget[0][1], fresh[0][1])
        if fresh[1][0] == "sigmoid" and all(map(_is_sum, gates)) and state in results:
            hidden = _variable(state, results)
            return None if hidden is None else (Cell("LSTM", gates, hidden, cell), after)
    return None


def _gru(state: Term, results: Sequence[Term]) -> tuple[Cell, Term] | None:
    """h' = z h + (1 - z) tanh(x_h + s(r) (R h + b)), z = s(...)."""
    hidden = _variable(state, results)
    if hidden is None or state[0] != "add" or len(state[1]) != 2:
        return None
    for kept, new in (tuple(state[1]), tuple(state[1])[::-1]):
        update, fresh = _pair(kept, "mul", "sigmoid"), _pair(new, "mul", "tanh")
        if update is None or fresh is None or update[1] != (_GIVEN, hidden):
            continue
        inner = fresh[0][1]
        if fresh[1] != ("rest", update[0]) or inner[0] != "add" or len(inner[1]) != 2:
            continue
        for of_input, reset in (tuple(inner[1]), tuple(inner[1])[::-1]):
            within = _pair(reset, "mul", "sigmoid")
            if within is None or not _is_sum(of_input) or not _is_sum(within[1]):
                continue
            if any(part.of not in (NOTHING, (_GIVEN, hidden)) for part in within[1]):
                continue
            gates = update[0][1], within[0][1], of_input
            if all(map(_is_sum, gates)):
                return Cell("GRU", gates, hidden, within=within[1]), NOTHING
    return None


def _rnn(state: Term, results: Sequence[Term]) -> tuple[Cell, Term] | None:
    hidden = _variable(state, results)
    if hidden is None or state[0] != "tanh" or not _is_sum(state[1]):
        return None
    return Cell("RNN", (state[1],), hidden), NOTHING


def _variable(state: Term, results: Sequence[Term]) -> int | None:
    """The loop variable that becomes ``state`` and that it is computed of: a product reads it."""
    read = {part.of[1] for part in _all_parts(state) if part.of[0] == _GIVEN}
    found = [index for index, result in enumerate(results) if result == state and index in read]
    return found[0] if len(found) == 1 else None


def _all_parts(term: Any) -> list[Part]:
    if isinstance(term, Part):
        return [term]
    if isinstance(term, tuple | frozenset):
        return [part for each in term for part in _all_parts(each)]
    return []


def write_layer(out: Writing, operator: Operator, layer: Layer) -> None:
    """The nodes of a loop that is a layer."""
    inner = out.within(operator.options["body"])
    out.called.add(operator.options["cond"])
    cell, states = layer.cell, out.model.tensors[operator.inputs[layer.cell.hidden]]
    hidden = states.shape[-1]

    def rows(part: Part) -> str:
        name = inner.kept(part.place)
        if inner.model.tensors[part.place].dtype != "float32":
            name = out.add("Cast", [name], to=TensorProto.FLOAT)
        if len(inner.model.tensors[part.place].shape) > 2 or part.of == NOTHING:
            name = out.add("Reshape", [name, out.value([-1])])
        return out.add("Slice", [name, *map(out.value, ([part.low], [part.high], [0]))])

    def product(gate: Term, source: Term) -> str:
        found = [rows(part) for part in gate if part.of == source]
        return found[0] if found else out.value(np.zeros((hidden, hidden)), np.float32)

    def bias(gate: Term) -> str:
        total = out.value(np.zeros(hidden), np.float32)
        for part in gate:
            if part.of == NOTHING:
                total = out.add("Add", [total, rows(part)])
        return total

    item, given = (_ITEM, layer.sequence), (_GIVEN, cell.hidden)
    of_state = [
        cell.within if cell.within and i == 2 else gate for i, gate in enumerate(cell.gates)
    ]
    inputs = [product(gate, item) for gate in cell.gates]
    recurrent = [product(gate, given) for gate in of_state]
    biases = [bias(gate) for gate in cell.gates]
    inside = [out.value(np.zeros(hidden), np.float32) for _ in cell.gates]
    if cell.within:
        inside[2] = bias(cell.within)
    first = out.value([0])
    w, r, b = (
        out.add("Unsqueeze", [out.add("Concat", names, axis=0), first])
        for names in (inputs, recurrent, [*biases, *inside])
    )
    begins = [
        out.add("Unsqueeze", [out.stored(operator, index), first])
        for index in (cell.hidden, cell.cell)
        if index is not None
    ]
    sequence = out.stored(operator, layer.sequence)
    options: dict[str, Any] = {"hidden_size": hidden}
    if cell.kind == "GRU":
        options["linear_before_reset"] = 1
    count = 3 if cell.kind == "LSTM" else 2
    operands = [sequence, w, r, b, "", *begins]
    every, *last = out.add_all(cell.kind, operands, count, main=True, **options)
    made = dict(zip((layer.state, layer.after), last, strict=False))
    for index, result in enumerate(layer.results):
        if result == (_NEXT,):
            out.move(operator, out.value(layer.steps, np.int32), index)
        elif result == (_GIVEN, index):
            out.move(operator, out.stored(operator, index), index)
        else:
            name = every if result[0] == "put" else made[result]
            shape = out.model.tensors[operator.outputs[index]].shape
            out.move(operator, out.add("Reshape", [name, out.value(shape)]), index)
