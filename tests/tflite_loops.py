"""Recurrent layers as Keras 3 and TensorFlow 2.21 write them: WHILE, with a step as its body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.tflite_models import Sketch

STEPS, INPUTS, HIDDEN = 5, 3, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


class _Step(Sketch):
    """A body that is being written."""

    def one(self, kind: str, inputs: Sequence[int], shape: Sequence[int], **options: Any) -> int:
        made = self.tensor(f"{kind}_{len(self.tensors)}", shape, self.dtype_of(kind, inputs[0]))
        self.operator(kind, inputs, [made], **options)
        return made

    def dtype_of(self, kind: str, place: int) -> str:
        return "bool" if kind == "LESS" else str(self.tensors[place]["dtype"])

    def numbers(self, *values: int) -> int:
        return self.constant(f"whole_{len(self.tensors)}", values, "int32")


def weights(kind: str) -> dict[str, np.ndarray]:
    """W [gates hidden, inputs], R [gates hidden, hidden], and biases, in Keras's order of gates."""
    rng = np.random.default_rng(GATES[kind])
    rows = GATES[kind] * HIDDEN
    shapes = {"w": (rows, INPUTS), "r": (rows, HIDDEN), "b": (rows,), "c": (rows,)}
    return {
        name: rng.uniform(-0.9, 0.9, shape).astype(np.float32) for name, shape in shapes.items()
    }


OTHERS = ("function", "unknown", "state", "result")


def loop(kind: str, *, every: bool, other: str = "") -> bytes:
    """A model of x [steps, 1, inputs] and y, of every step or of the last one.  ``other``: what is
    not as in a layer: the "function" of a gate, a product more of something "unknown" or of the
    "state", a further "result", a "variable" that a step writes."""
    length = STEPS if every else 1
    states = 2 if kind == "LSTM" else 1
    shapes: list[tuple[str, tuple[int, ...]]] = [("x", (STEPS, 1, INPUTS))]
    shapes.append(("list", (length, 1, HIDDEN)))
    shapes += [(f"state_{i}", (1, HIDDEN)) for i in range(states)]
    shapes += [("further", (1, HIDDEN))] if other == "result" else []

    def variables(sketch: Sketch) -> list[int]:
        counters = [sketch.tensor(name, (), "int32") for name in ("number", "time")]
        return [*counters, *(sketch.tensor(name, shape) for name, shape in shapes)]

    condition = _Step()
    given = variables(condition)
    bound = condition.constant("bound", STEPS, "int32")
    goes = condition.one("LESS", [given[1], bound], ())
    body = _Step()
    inside = variables(body)
    results = _body(body, kind, inside, every=every, other=other)
    main = Sketch()
    x = main.tensor("x", shapes[0][1])
    zeros = [main.constant(name, 0, "int32") for name in ("number", "time")]
    begins = [main.constant(name, np.zeros(shape), "float32") for name, shape in shapes[1:]]
    after = [main.tensor(f"{name}/after", (), "int32") for name in ("number", "time")]
    after += [main.tensor(f"{name}/after", shape) for name, shape in shapes]
    main.operator("WHILE", [*zeros, x, *begins], after, cond=1, body=2)
    return main.bytes([x], [after[3]], [(condition, given, [goes]), (body, inside, results)])


def _body(body: _Step, kind: str, given: list[int], *, every: bool, other: str) -> list[int]:
    number, time, x, kept, h, *c = given
    own = {name: body.constant(name, value, "float32") for name, value in weights(kind).items()}
    one = body.constant("one", 1, "int32")
    number, behind = (body.one("ADD", [each, one], ()) for each in (number, time))
    item = body.one("GATHER", [x, time], (1, INPUTS), axis=0)
    rows = GATES[kind] * HIDDEN
    a = body.one("FULLY_CONNECTED", [item, own["w"], own["b"]], (1, rows))
    recurrent = body.one("FULLY_CONNECTED", [h, own["r"], own["c"]], (1, rows))
    unit = (1, HIDDEN)
    if other in ("unknown", "state"):
        read = body.one("RELU", [h], unit) if other == "unknown" else h
        a = body.one(
            "ADD", [a, body.one("FULLY_CONNECTED", [read, own["r"]], (1, rows))], (1, rows)
        )

    def parts(of: int) -> list[int]:
        axis = body.numbers(1)
        made = [body.tensor(f"part_{of}_{i}", unit) for i in range(GATES[kind])]
        body.operator("SPLIT", [axis, of], made, count=GATES[kind])
        return made

    def of_two(name: str, first: int, second: int) -> int:
        return body.one(name, [first, second], unit)

    def function(name: str, of: int) -> int:
        return body.one(name, [of], unit)

    last = "RELU" if other == "function" else "TANH"
    if kind == "RNN":
        new = function(last, of_two("ADD", a, recurrent))
        states = [new]
    elif kind == "GRU":
        (z, r, n), (hz, hr, hn) = parts(a), parts(recurrent)
        z = function("LOGISTIC", of_two("ADD", z, hz))
        r = function("LOGISTIC", of_two("ADD", r, hr))
        fresh = function(last, of_two("ADD", n, of_two("MUL", r, hn)))
        ones = body.constant("ones", 1, "float32")
        rest = of_two("MUL", body.one("SUB", [ones, z], unit), fresh)
        new = of_two("ADD", of_two("MUL", z, h), rest)
        states = [new]
    else:
        total = body.one("ADD", [a, recurrent], (1, rows))
        i, f, g, o = parts(total)
        kept_cell = of_two("MUL", function("LOGISTIC", f), c[0])
        fresh = function(last, g)
        cell = of_two("ADD", kept_cell, of_two("MUL", function("LOGISTIC", i), fresh))
        new = of_two("MUL", function("LOGISTIC", o), function("TANH", cell))
        states = [new, cell]
    shaped = body.one("RESHAPE", [new, body.numbers(1, 1, HIDDEN)], (1, 1, HIDDEN))
    made = shaped
    if every:
        made = _put(body, kept, time, behind, shaped)
    further = [function("RELU", c[-1])] if other == "result" else []
    if other == "variable":
        handle = body.tensor("handle", (), "resource")
        body.operator("VAR_HANDLE", [], [handle], container="", name="last")
        body.operator("ASSIGN_VARIABLE", [handle, new], [])
    return [number, behind, x, made, *states, *further]


def _put(body: _Step, kept: int, time: int, behind: int, item: int) -> int:
    """The list with an item in the place of this step, as TensorFlow lowers its lists."""
    single = body.numbers(1)
    left, first = (body.tensor(f"place_{each}", (1,), "int32") for each in (time, behind))
    for of, to in ((time, left), (behind, first)):
        body.operator("RESHAPE", [of, single], [to])
    size, begin = (body.tensor(f"bounds_{each}", (3,), "int32") for each in (left, first))
    body.operator("CONCATENATION", [left, body.numbers(-1, -1)], [size], axis=0)
    body.operator("CONCATENATION", [first, body.numbers(0, 0)], [begin], axis=0)
    free = (-1, 1, HIDDEN)
    before = body.tensor("before", (1, 1, HIDDEN), signature=free)
    rest = body.tensor("rest", (1, 1, HIDDEN), signature=free)
    body.operator("SLICE", [kept, body.numbers(0, 0, 0), size], [before])
    body.operator("SLICE", [kept, begin, body.numbers(-1, -1, -1)], [rest])
    return body.one("CONCATENATION", [before, item, rest], (STEPS, 1, HIDDEN), axis=0)


def expected(kind: str, x: np.ndarray) -> np.ndarray:
    """The states of every step in float64, [steps, hidden]."""
    own = {name: value.astype(np.float64) for name, value in weights(kind).items()}
    h = c = np.zeros(HIDDEN)
    found = []

    def sigmoid(of: np.ndarray) -> np.ndarray:
        return np.asarray(1 / (1 + np.exp(-of)))

    for item in x[:, 0]:
        a, b = own["w"] @ item + own["b"], own["r"] @ h + own["c"]
        if kind == "RNN":
            h = np.tanh(a + b)
        elif kind == "GRU":
            (z, r, n), (hz, hr, hn) = np.split(a, 3), np.split(b, 3)
            z, r = sigmoid(z + hz), sigmoid(r + hr)
            h = z * h + (1 - z) * np.tanh(n + r * hn)
        else:
            i, f, g, o = np.split(a + b, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        found.append(h)
    return np.stack(found)


def unrolled_gru() -> bytes:
    """A GRU as litert-torch writes it out: the products of all rows first, then a step after the
    other from a state of zeros; x [1, steps, inputs], y [1, steps, hidden]."""
    main = _Step()
    own = {name: main.constant(name, each, "float32") for name, each in weights("GRU").items()}
    rows, unit = 3 * HIDDEN, (1, HIDDEN)
    x = main.tensor("x", (1, STEPS, INPUTS))
    flat = main.one("RESHAPE", [x, main.numbers(STEPS, INPUTS)], (STEPS, INPUTS))
    products = main.one("FULLY_CONNECTED", [flat, own["w"], own["b"]], (STEPS, rows))
    h = main.constant("zeros", np.zeros(unit), "float32")
    states = []

    def thirds(of: int) -> list[int]:
        made = [main.tensor(f"third_{of}_{i}", unit) for i in range(3)]
        main.operator("SPLIT", [main.numbers(1), of], made, count=3)
        return made

    def two(kind: str, a: int, b: int) -> int:
        return main.one(kind, [a, b], unit)

    for step in range(STEPS):
        bounds = main.numbers(step, 0), main.numbers(1, rows)
        row = main.one("SLICE", [products, *bounds], (1, rows))
        gates = main.one("FULLY_CONNECTED", [h, own["r"], own["c"]], (1, rows))
        (r, z, n), (hr, hz, hn) = thirds(row), thirds(gates)
        r, z = (main.one("LOGISTIC", [two("ADD", *pair)], unit) for pair in ((r, hr), (z, hz)))
        n = main.one("TANH", [two("ADD", n, two("MUL", hn, r))], unit)
        h = two("ADD", two("MUL", two("SUB", h, n), z), n)
        shape = (1, 1, HIDDEN)
        states.append(main.one("RESHAPE", [h, main.numbers(*shape)], shape))
    y = main.one("CONCATENATION", states, (1, STEPS, HIDDEN), axis=1)
    return main.bytes([x], [y])
