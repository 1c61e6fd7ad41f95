"""WHILE loops that are recurrent layers, as Keras 3 writes its SimpleRNN, GRU and LSTM.

The body of such a loop takes a step of a sequence and computes new states.  What it returns is read
as terms of what it is given; where these are the equations of a cell, the loop is ONNX's layer: one
kernel call, and not a copy of the body for each step.  Other loops stay loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto

from edgeconv.model.frontend.tflite.loop_lists import length_of, loop_variables
from edgeconv.model.frontend.tflite.loop_terms import (
    COUNTER,
    GIVEN,
    ITEM,
    NEXT,
    NOTHING,
    REALS,
    Rows,
    Term,
    Terms,
)
from edgeconv.model.frontend.tflite.writing import Writing
from edgeconv.model.tflite import Model, Operator, Tensor


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
    length: int
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
    if not all(each.outputs for graph in (condition, body) for each in graph.operators):
        return None  # what writes a variable does more than its results say
    counts = len(operator.inputs), len(operator.outputs), len(body.outputs)
    if counts != (len(body.inputs),) * 3 or len(condition.inputs) != len(body.inputs):
        return None
    given = [out.model.tensors[place] for place in operator.inputs]
    names = loop_variables(out, given)
    length = length_of(out, condition, names)
    results = Terms(out, body, names).results()
    counters = [result for result, name in zip(results, names, strict=True) if name == COUNTER]
    if length is None or any(result != NEXT for result in counters):
        return None
    for state in dict.fromkeys(results):
        found = _cell(state, results)
        if found is None:
            continue
        cell, after, sequence = found
        made = Layer(cell, sequence, length, state, after, tuple(results))
        return made if _fits(made, given, body) else None
    return None


def _fits(layer: Layer, given: Sequence[Tensor], body: Model) -> bool:
    """Whether all of it is float32, of the sizes of such a layer, and every result is known."""
    cell, sequence = layer.cell, given[layer.sequence]
    states = [given[index] for index in (cell.hidden, cell.cell) if index is not None]
    hidden = states[0].shape[-1] if states[0].shape else 0
    places = {part.place for gate in (*cell.gates, cell.within) for part in gate}
    if any(body.tensors[place].dtype not in REALS for place in places):
        return False
    if any(each.dtype != "float32" or len(each.shape) < 2 for each in (sequence, *states)):
        return False
    batch = int(np.prod(sequence.shape[1:-1]))
    if sequence.free or sequence.shape[0] != layer.length or len(sequence.shape) != 3:
        return False
    if any(each.free or each.shape != (batch, hidden) for each in states):
        return False
    if any(part.high - part.low != hidden for gate in (*cell.gates, cell.within) for part in gate):
        return False
    if NOTHING in layer.results:
        return False
    invariant = all(
        result in (NEXT, (GIVEN, index), layer.state, layer.after)
        or (result == ("put", index, layer.state) and given[index].shape[:1] == (layer.length,))
        for index, result in enumerate(layer.results)
    )
    return invariant and layer.results[layer.sequence] == (GIVEN, layer.sequence)


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
    """The sequence that a gate reads one product of, beside one of the state at most."""
    of = [part.of for part in gate if part.of != NOTHING]
    items = [term[1] for term in of if term[0] == ITEM]
    others = [term for term in of if term[0] != ITEM]
    return items[0] if len(items) == 1 and others in ([], [(GIVEN, hidden)]) else None


def _is_sum(term: Term) -> bool:
    return bool(term) and isinstance(term[0], Rows)


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
        if forget is None or fresh is None or forget[1] != (GIVEN, cell):
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
        if update is None or fresh is None or update[1] != (GIVEN, hidden):
            continue
        inner = fresh[0][1]
        if fresh[1] != ("rest", update[0]) or inner[0] != "add" or len(inner[1]) != 2:
            continue
        for of_input, reset in (tuple(inner[1]), tuple(inner[1])[::-1]):
            within = _pair(reset, "mul", "sigmoid")
            if within is None or not _is_sum(of_input) or not _is_sum(within[1]):
                continue
            # One product of the state, and none of it outside of what the reset multiplies.
            if [part.of for part in within[1] if part.of != NOTHING] != [(GIVEN, hidden)]:
                continue
            if any(part.of == (GIVEN, hidden) for part in of_input):
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
    read = {part.of[1] for part in _all_rows(state) if part.of[0] == GIVEN}
    found = [index for index, result in enumerate(results) if result == state and index in read]
    return found[0] if len(found) == 1 else None


def _all_rows(term: Any) -> list[Rows]:
    if isinstance(term, Rows):
        return [term]
    if isinstance(term, tuple | frozenset):
        return [part for each in term for part in _all_rows(each)]
    return []


def write_layer(out: Writing, operator: Operator, layer: Layer) -> None:
    """The nodes of a loop that is a layer."""
    inner = out.within(operator.options["body"])
    out.called.add(operator.options["cond"])
    cell, states = layer.cell, out.model.tensors[operator.inputs[layer.cell.hidden]]
    hidden = states.shape[-1]

    def rows(taken: Rows) -> str:
        name = inner.kept(taken.place)
        if inner.model.tensors[taken.place].dtype != "float32":
            name = out.add("Cast", [name], to=TensorProto.FLOAT)
        if len(inner.model.tensors[taken.place].shape) > 2 or taken.of == NOTHING:
            name = out.add("Reshape", [name, out.value([-1])])
        return out.add("Slice", [name, *map(out.value, ([taken.low], [taken.high], [0]))])

    def product(gate: Term, source: Term) -> str:
        found = [rows(part) for part in gate if part.of == source]
        return found[0] if found else out.value(np.zeros((hidden, hidden)), np.float32)

    def bias(gate: Term) -> str:
        total = out.value(np.zeros(hidden), np.float32)
        for part in gate:
            if part.of == NOTHING:
                total = out.add("Add", [total, rows(part)])
        return total

    item, given = (ITEM, layer.sequence), (GIVEN, cell.hidden)
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
        if result == NEXT:
            out.move(operator, out.value(layer.length, np.int32), index)
        elif result == (GIVEN, index):
            out.move(operator, out.stored(operator, index), index)
        else:
            name = every if result[0] == "put" else made[result]
            shape = out.model.tensors[operator.outputs[index]].shape
            out.move(operator, out.add("Reshape", [name, out.value(shape)]), index)
