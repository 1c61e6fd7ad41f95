"""Random TensorFlow Lite networks of one to four pieces that keep variables, and what they compute.

Everything but a rounding is done to the variables of int8, int16 and float32: they are windows,
delays, maxima, and swap places; they are read before and behind what is assigned, several times in
a run; a variable may be assigned twice, or be a piece's only output.  So what a run computes is
known without an engine: every piece says it in numpy.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.tflite_models import Sketch

Values = npt.NDArray[Any]
Shape = tuple[int, ...]
# What a piece makes of its variables and its input: its output; the variables are changed.
Run = Callable[[dict[str, Values], Values], Values]
_GRIDS: dict[str, dict[str, Any]] = {
    "int8": {"scale": [0.05], "zero": [-7]},
    "int16": {"scale": [1 / 2048], "zero": [0]},
    "float32": {},
}
MOST_PIECES = 4


@dataclass(frozen=True)
class Input:
    name: str
    shape: Shape
    dtype: str


class Variables:
    """A network in the making; ``runs``: what the output of each piece is."""

    def __init__(self, seed: int) -> None:
        self.random, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.main, self.once = Sketch(), Sketch()
        self.main.operator("CALL_ONCE", [], [], subgraph=1)
        self.inputs: list[Input] = []
        self.runs: list[Run] = []
        self.initial: dict[str, Values] = {}
        self.kinds: list[str] = []
        self._handles: dict[str, int] = {}
        self._given: list[int] = []
        self._made: list[int] = []

    def bytes(self) -> bytes:
        return self.main.bytes(self._given, self._made, bodies=[(self.once, [], [])])

    def sequence(self, steps: int) -> list[list[Values]]:
        """Inputs of so many runs."""
        return [[self.values(x.shape, x.dtype) for x in self.inputs] for _ in range(steps)]

    def outputs(self, sequence: Sequence[Sequence[Values]]) -> Iterator[list[Values]]:
        """Those of every run, which begin from the initial values."""
        kept = {name: value.copy() for name, value in self.initial.items()}
        for inputs in sequence:
            yield [run(kept, x) for run, x in zip(self.runs, inputs, strict=True)]

    def values(self, shape: Shape, dtype: str) -> Values:
        if dtype == "float32":
            return self.rng.standard_normal(shape).astype(np.float32)
        info = np.iinfo(dtype)
        return self.rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)

    def shape(self) -> Shape:
        return 1, *(self.random.randint(1, 6) for _ in range(self.random.randint(1, 3)))

    def tensor(self, shape: Shape, dtype: str) -> int:
        return self.main.tensor(f"t{len(self.main.tensors)}", shape, dtype, **_GRIDS[dtype])

    def input(self, shape: Shape, dtype: str) -> int:
        name = f"x{len(self.inputs)}"
        self.inputs.append(Input(name, shape, dtype))
        self._given.append(self.main.tensor(name, shape, dtype, **_GRIDS[dtype]))
        return self._given[-1]

    def output(self, tensor: int, run: Run) -> None:
        self._made.append(tensor)
        self.runs.append(run)

    def variable(self, shape: Shape, dtype: str) -> str:
        """A new one, which begins as the zeros of its type or as random numbers."""
        name = f"v{len(self.initial)}"
        value = self.values(shape, dtype)
        if self.random.random() < 0.4:
            value = np.full(shape, _GRIDS[dtype].get("zero", [0])[0], dtype)
        handle = self.once.tensor(f"handle_{name}", (), "resource")
        self.once.operator("VAR_HANDLE", [], [handle], container="", name=name)
        of = self.once.constant(f"initial_{name}", value, dtype, **_GRIDS[dtype])
        self.once.operator("ASSIGN_VARIABLE", [handle, of], [])
        self.initial[name] = value
        self._handles[name] = self.main.tensor(f"handle_{name}", (), "resource")
        self.main.operator("VAR_HANDLE", [], [self._handles[name]], container="", name=name)
        return name

    def read(self, name: str) -> int:
        value = self.initial[name]
        read = self.tensor(value.shape, str(value.dtype))
        self.main.operator("READ_VARIABLE", [self._handles[name]], [read])
        return read

    def assign(self, name: str, tensor: int) -> None:
        self.main.operator("ASSIGN_VARIABLE", [self._handles[name], tensor], [])

    def node(
        self, kind: str, reads: Sequence[int], shape: Shape, dtype: str, **options: Any
    ) -> int:
        made = self.tensor(shape, dtype)
        self.main.operator(kind, reads, [made], **options)
        return made

    def rows(self, x: int, shape: Shape, dtype: str, axis: int, first: int, end: int) -> int:
        """Those from ``first`` to ``end`` of ``x``, which is of ``shape``."""
        begins, ends = [0] * len(shape), list(shape)
        begins[axis], ends[axis] = first, end
        numbers = [
            self.main.constant(f"c{len(self.main.tensors)}_{what}", each, "int32")
            for what, each in (("begin", begins), ("end", ends), ("strides", [1] * len(shape)))
        ]
        made = along(shape, axis, end - first)
        return self.node("STRIDED_SLICE", [x, *numbers], made, dtype)


def along(shape: Shape, axis: int, size: int) -> Shape:
    return *shape[:axis], size, *shape[axis + 1 :]


def window(net: Variables, dtype: str) -> None:
    """Rows behind those of before along some axis, of which all, or the first ones, are asked
    for."""
    shape = net.shape()
    axis, kept = net.random.randrange(1, len(shape)), net.random.randint(1, 4)
    x, name = net.input(shape, dtype), net.variable(along(shape, axis, kept), dtype)
    wide = along(shape, axis, kept + shape[axis])
    both = [net.read(name), x]
    whole = net.node("CONCATENATION", both, wide, dtype, axis=axis, activation="NONE")
    new = net.rows(whole, wide, dtype, axis, shape[axis], wide[axis])
    net.assign(name, new)
    last = whole
    first = net.random.random() < 0.5
    if first:
        last = net.rows(whole, wide, dtype, axis, 0, shape[axis])

    def run(kept_now: dict[str, Values], given: Values) -> Values:
        values = np.concatenate([kept_now[name], given], axis)
        front, behind = np.split(values, [shape[axis]], axis)
        kept_now[name] = behind
        return front if first else values

    net.output(last, run)


def delayed(net: Variables, dtype: str) -> None:
    """The input some runs before."""
    shape, names = net.shape(), list[str]()
    x = net.input(shape, dtype)
    names = [net.variable(shape, dtype) for _ in range(net.random.randint(1, 3))]
    reads = [net.read(name) for name in names]
    for name, tensor in zip(names, [x, *reads[:-1]], strict=True):
        net.assign(name, tensor)

    def run(kept: dict[str, Values], given: Values) -> Values:
        last = kept[names[-1]]
        for name, before in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
            kept[name] = kept[before]
        kept[names[0]] = given
        return last

    net.output(reads[-1], run)


def largest(net: Variables, dtype: str) -> None:
    """The largest number so far, read behind its assignment or taken from in front of it."""
    shape = net.shape()
    x, name = net.input(shape, dtype), net.variable(shape, dtype)
    before = net.read(name)
    kind = net.random.choice(["MAXIMUM", "MINIMUM"])
    most = net.node(kind, [before, x], shape, dtype)
    net.assign(name, most)
    which = net.random.choice(["made", "read again", "before"])
    last = {"made": most, "before": before}.get(which) or net.read(name)

    def run(kept: dict[str, Values], given: Values) -> Values:
        old = kept[name]
        kept[name] = (np.maximum if kind == "MAXIMUM" else np.minimum)(old, given)
        return old if which == "before" else kept[name]

    net.output(last, run)


def swapped(net: Variables, dtype: str) -> None:
    """Two variables take each other's place; the first is assigned twice, of which the last
    counts."""
    shape = net.shape()
    x, a, b = net.input(shape, dtype), net.variable(shape, dtype), net.variable(shape, dtype)
    old_a, old_b = net.read(a), net.read(b)
    net.assign(b, old_a)
    net.assign(a, x)
    between = net.read(a)  # the input
    net.assign(a, old_b)
    made = net.node("MAXIMUM", [between, old_a], shape, dtype)

    def run(kept: dict[str, Values], given: Values) -> Values:
        kept[a], kept[b] = kept[b], kept[a]
        return np.maximum(given, kept[b])

    net.output(made, run)


KINDS = (window, window, delayed, largest, swapped)


def network(seed: int) -> Variables:
    """One to four random pieces, each of a random type."""
    net = Variables(seed)
    for _ in range(net.random.randint(1, MOST_PIECES)):
        kind, dtype = net.random.choice(KINDS), net.random.choice(sorted(_GRIDS))
        net.kinds.append(f"{kind.__name__} {dtype}")
        kind(net, dtype)
    return net
