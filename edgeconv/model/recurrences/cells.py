"""The equations of RNN, GRU and LSTM, recognised in a graph of operators, as exporters write them.

What counts is what is computed: which operators cut gates apart or join them, and in which order,
does not.  Cells are those of `edgeconv.kernels.lowering.cells`, gates in ONNX's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from edgeconv.ir.activation import NONE, Activation
from edgeconv.kernels.lowering.cells import CELL_FUNCTIONS
from edgeconv.model.recurrences.columns import Addend, Columns, Floats, Product, Reading

NO_STATE = Columns("", 0, 0)  # the state in front of the first cell where that is zeros
_FUNCTIONS = frozenset(row.kind for row in CELL_FUNCTIONS.values())


@dataclass(frozen=True, eq=False)
class Gate:
    """The sum in front of a gate's function.  ``given``: what of it is no product of the state;
    ``bias``: its constants; ``product``: that of the state, None where it is none."""

    given: tuple[Addend, ...]
    bias: Floats
    product: Product | None


@dataclass(frozen=True, eq=False)
class Cell:
    """A step of a recurrence.

    ``kind``: ONNX's layer; ``functions``: f, g and h as a Recurrent node has them; ``hidden`` and
    ``cell``: the states that it reads, ``after``: the new cell state, the latter two of an LSTM.
    ``reset_behind``: of a GRU, the reset multiplies a product of the state, whose bias is
    ``inside``, rather than the state.
    """

    kind: str
    gates: tuple[Gate, ...]
    functions: tuple[Activation, Activation, Activation]
    hidden: Columns
    cell: Columns | None = None
    after: Columns | None = None
    reset_behind: bool = False
    inside: Floats = field(default_factory=lambda: np.zeros(0, np.float32))


def cells(reading: Reading, new: Columns, hidden: Columns | None = None) -> Iterator[Cell]:
    """The cells whose new state is ``new``; ``hidden``: the state that they read, where that is
    known.  Without it a product of the state tells."""
    for read in (_lstm, _gru, _rnn):
        yield from read(reading, new, hidden)


def _gate(
    reading: Reading, of: Columns, hidden: Columns | None, *, state: Columns | None = None
) -> Gate | None:
    """The sum ``of``, whose product of the state is with ``state``, else ``hidden``."""
    read = state or hidden
    width = of.high - of.low
    given: list[Addend] = []
    bias, product = np.zeros(width, np.float32), None
    for addend in reading.sums(of):
        if isinstance(addend, np.ndarray):
            bias = bias + addend
        elif isinstance(addend, Product) and addend.of == read:
            if product is not None:
                return None
            product = addend
        else:
            given.append(addend)
    if product is not None and product.weights.shape != (width, width):
        return None
    return Gate(tuple(given), bias, product)


def _states(reading: Reading, of: Columns) -> Iterator[Columns]:
    """What the products of a sum are of, of as many columns as there are results."""
    for addend in reading.sums(of):
        if isinstance(addend, Product) and addend.weights.shape[0] == addend.weights.shape[1]:
            yield addend.of


def _rnn(reading: Reading, new: Columns, hidden: Columns | None) -> Iterator[Cell]:
    """h' = f(W x + R h + b)."""
    outer = reading.function(new)
    if outer is None or outer[0].kind not in _FUNCTIONS:
        return
    for state in [hidden] if hidden else dict.fromkeys(_states(reading, outer[1])):
        gate = _gate(reading, outer[1], state)
        if gate is not None:
            yield Cell("RNN", (gate,), (outer[0], NONE, NONE), state)


def _lstm(reading: Reading, new: Columns, hidden: Columns | None) -> Iterator[Cell]:
    """h' = f(o) h(c'), c' = f(f) c + f(i) g(g)."""
    for opened, shown in reading.orders(new, "mul"):
        output, squashed = reading.function(opened), reading.function(shown)
        if output is None or squashed is None:
            continue
        after = squashed[1]
        for kept, fresh in reading.orders(after, "add"):
            for forgotten, cell in reading.orders(kept, "mul"):
                for entered, proposed in reading.orders(fresh, "mul"):
                    named = [reading.function(each) for each in (entered, forgotten, proposed)]
                    if None in named:
                        continue
                    i, f, g = (each for each in named if each is not None)
                    if len({output[0], i[0], f[0]}) > 1:
                        continue
                    sums = (i[1], output[1], f[1], g[1])
                    functions = (i[0], g[0], squashed[0])
                    yield from _of_gates(reading, sums, functions, hidden, cell, after)


def _of_gates(
    reading: Reading,
    sums: tuple[Columns, ...],
    functions: tuple[Activation, Activation, Activation],
    hidden: Columns | None,
    cell: Columns,
    after: Columns,
) -> Iterator[Cell]:
    if any(each.kind not in _FUNCTIONS for each in functions):
        return
    for state in [hidden] if hidden else dict.fromkeys(_states(reading, sums[0])):
        gates = [_gate(reading, each, state) for each in sums]
        if None not in gates:
            made = tuple(gate for gate in gates if gate is not None)
            yield Cell("LSTM", made, functions, state, cell, after)


def _gru(reading: Reading, new: Columns, hidden: Columns | None) -> Iterator[Cell]:
    """h' = z h + (1 - z) n, n = g(W x + r (R h + b)), or with R (r h) in it."""
    for update, state, proposed in _blends(reading, new):
        before = state
        if hidden == NO_STATE and reading.is_zero(state):
            state = NO_STATE
        if hidden is not None and state != hidden:
            continue
        z, n = reading.function(update), reading.function(proposed)
        if z is None or n is None or z[0].kind not in _FUNCTIONS or n[0].kind not in _FUNCTIONS:
            continue
        first = _gate(reading, z[1], state)
        if first is not None:
            yield from _with_reset(reading, first, z[0], n, (state, before))


def _blends(reading: Reading, new: Columns) -> Iterator[tuple[Columns, Columns, Columns]]:
    """Z, h and n where ``new`` is z h + (1 - z) n, written so or as n + z (h - n)."""
    for kept, other in reading.orders(new, "add"):
        for z, h in reading.orders(kept, "mul"):
            for rest, n in reading.orders(other, "mul"):
                if reading.rest(rest) == z:
                    yield z, h, n
            if (between := reading.pair(h, "sub")) and between[1] == other:
                yield z, between[0], other


def _with_reset(
    reading: Reading,
    z: Gate,
    f: Activation,
    n: tuple[Activation, Columns],
    states: tuple[Columns, Columns],
) -> Iterator[Cell]:
    """``states``: the state as the cell has it, and as it is multiplied."""
    state, before = states
    functions = (f, n[0], NONE)
    addends = reading.sums(n[1])
    for place, addend in enumerate(addends):
        others = [each for i, each in enumerate(addends) if i != place]
        bias = sum((a for a in others if isinstance(a, np.ndarray)), np.zeros_like(z.bias))
        given = tuple(a for a in others if not isinstance(a, np.ndarray))
        of = addend.of if isinstance(addend, Product) else addend
        if not isinstance(of, Columns):
            continue
        for reset, other in reading.orders(of, "mul"):
            named = reading.function(reset)
            if named is None or named[0] != f:
                continue
            r = _gate(reading, named[1], state)
            if r is None:
                continue
            if isinstance(addend, Product) and other == before:
                if addend.weights.shape == (z.bias.size,) * 2:
                    gates = z, r, Gate(given, bias, addend)
                    yield Cell("GRU", gates, functions, state)
            elif not isinstance(addend, Product):
                inner = _gate(reading, other, state)
                if inner is not None and not inner.given:
                    gates = z, r, Gate(given, bias, inner.product)
                    yield Cell("GRU", gates, functions, state, reset_behind=True, inside=inner.bias)
