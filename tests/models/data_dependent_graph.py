"""Random ONNX graphs of which dimensions are data-dependent.

Every node is run by ONNX Runtime for several inputs while the graph is made, of which some find
nothing, some everything: a dimension that differs among them is one that is data-dependent, and two
that differ alike are of one size.  A node that the runtime refuses is left out, so that what is
left is valid.  Numbers are multiples of 1/8 as far as anything is decided by them, and exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.onnx_runtime import results, session

Values = npt.NDArray[Any]
Feeds = dict[str, Values]

OPSETS = (13, 14, 16, 17, 18, 19, 20, 21)
SEEDS_OF_AN_OPSET = 25  # one after the other, so that they fit into one model
SHARES = (0.5, 1.0, 0.0, 0.2)  # of rows that are good enough, by input
MOST_ELEMENTS = 4000
MOST = 1e4  # of a number
EIGHTH = 8


class UnfitError(Exception):
    """This node cannot be had here: try another."""


class DataDependentGraph:
    """A graph in the making; ``values``: of every tensor for each of the inputs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"counted {seed}")
        self.prefix = f"s{seed}_"
        self.opset = OPSETS[seed // SEEDS_OF_AN_OPSET % len(OPSETS)]
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Values] = {}
        self.values: dict[str, list[Values]] = {}
        self.inexact: set[str] = set()  # rounded: nothing is decided by it
        self.inputs: list[str] = []
        self.live = [*range(len(SHARES))]  # inputs that the graph can be run on
        self._count = 0
        self.rows = self.random.randint(3, 11)
        generator = np.random.default_rng(seed)
        shapes = {"score": (self.rows,), "row": (self.rows, 4), "class": (self.rows, 3)}
        for name, shape in shapes.items():
            made = [self._drawn(generator, name, shape, share) for share in SHARES]
            self.inputs.append(self.prefix + name)
            self.values[self.prefix + name] = made

    @staticmethod
    def _drawn(
        generator: np.random.Generator, name: str, shape: tuple[int, ...], share: float
    ) -> Values:
        eighths = generator.integers(-EIGHTH, EIGHTH + 1, shape) / EIGHTH
        if name != "row":  # scores above 0 with the probability ``share``
            good = generator.random(shape) < share
            eighths = np.where(good, np.abs(eighths) + 1 / EIGHTH, -np.abs(eighths))
        return eighths.astype(np.float32)

    # What operators are made of

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(
        self, fits: Callable[[Values], bool] = lambda value: True, *, exact: bool = False
    ) -> str:
        """A tensor whose values, for all inputs, ``fit``, mostly one that is data-dependent."""
        names = [
            name
            for name, values in self.values.items()
            if not (exact and name in self.inexact) and all(fits(values[i]) for i in self.live)
        ]
        if not names:
            raise UnfitError
        data_dependent = [name for name in names if self.is_data_dependent(name)]
        if data_dependent and self.chance(0.75):
            names = data_dependent[-6:] if self.chance(0.6) else data_dependent
        return self.random.choice(names)

    def sizes(self, name: str, axis: int) -> tuple[int, ...]:
        """Of one dimension, for each input."""
        return tuple(self.values[name][i].shape[axis] for i in self.live)

    def is_data_dependent(self, name: str) -> bool:
        return len({self.values[name][i].shape for i in self.live}) > 1

    def rank(self, name: str) -> int:
        return self.constants[name].ndim if name in self.constants else self.values[name][0].ndim

    def kind(self, name: str) -> str:
        return self.values[name][0].dtype.kind

    def like(self, name: str) -> str:
        """A tensor of its type whose shape is its, or one row of it, for all inputs."""
        first = self.values[name]

        def fits(i: int, other: Values) -> bool:
            try:
                return np.broadcast_shapes(first[i].shape, other.shape) == first[i].shape
            except ValueError:
                return False

        names = [
            other
            for other, values in self.values.items()
            if values[0].dtype == first[0].dtype and all(fits(i, values[i]) for i in self.live)
        ]
        return self.random.choice(names)

    def axis(self, name: str) -> int:
        """Any, from the front or the end; mostly one that is data-dependent."""
        rank = self.rank(name)
        if not rank:
            raise UnfitError
        data_dependent = [axis for axis in range(rank) if len(set(self.sizes(name, axis))) > 1]
        axis = self.random.choice(
            data_dependent if data_dependent and self.chance(0.6) else range(rank)
        )
        return axis - rank if self.chance(0.3) else axis

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        name = self.name()
        self.constants[name] = np.asarray(value, dtype)
        return name

    def number(self, kind: Values) -> str:
        """One number of a type."""
        if kind.dtype.kind == "f":
            return self.constant(self.random.randint(-8, 8) / 4, kind.dtype)
        return self.constant(
            self.random.randint(0 if kind.dtype.kind == "b" else -3, 3), kind.dtype
        )

    def name(self) -> str:
        self._count += 1
        return f"{self.prefix}t{self._count}"

    def node(
        self, op: str, *inputs: str, count: int = 1, rounds: bool = False, **attrs: Any
    ) -> str:
        """Append ``op``; its first output.  UnfitError: not for all inputs, or too large."""
        outputs = [self.name() for _ in range(count)]
        node = helper.make_node(
            op, inputs, outputs, name=f"{self.prefix}{op}_{len(self.nodes)}", **attrs
        )
        made = self._run(node)
        for value in (each for result in made.values() for each in result):
            if value.size > MOST_ELEMENTS:
                raise UnfitError
            real = value.astype(np.float64)
            if not np.isfinite(real).all() or np.abs(real).max(initial=0) > MOST:
                raise UnfitError
        self.nodes.append(node)
        any_of = next(iter(made.values()))  # of inputs that are given up, any value of its type
        for number, name in enumerate(outputs):
            self.values[name] = [made.get(i, any_of)[number] for i in range(len(SHARES))]
            if rounds or any(each in self.inexact for each in inputs):
                self.inexact.add(name)
        return outputs[0]

    def _run(self, node: onnx.NodeProto) -> dict[int, list[Values]]:
        """Its results for each of the inputs; some inputs may be given up for it."""
        reads = [name for name in dict.fromkeys(node.input) if name in self.values]
        needs = [name for name in dict.fromkeys(node.input) if name in self.constants]
        graph = helper.make_graph(
            [node],
            "node",
            [_declared(name, self.values[name]) for name in reads],
            [onnx.ValueInfoProto(name=name) for name in node.output],
            [numpy_helper.from_array(self.constants[name], name) for name in needs],
        )
        made: dict[int, list[Values]] = {}
        try:
            running = session(self.model(graph), optimised=False)
        except Exception as error:  # the runtime has many types of its own
            raise UnfitError from error
        for i in self.live:
            try:
                made[i] = running.run(None, {name: self.values[name][i] for name in reads})
            except Exception as error:
                if SHARES[i] and self.chance(0.9):
                    raise UnfitError from error
        if len(made) < 2:
            raise UnfitError
        if any(
            len({each[at].ndim for each in made.values()}) > 1 for at in range(len(node.output))
        ):
            raise UnfitError
        self.live = [*made]
        return made

    def model(self, graph: onnx.GraphProto) -> onnx.ModelProto:
        opset = helper.make_opsetid("", self.opset)
        ir_version = helper.find_min_ir_version_for([opset])
        return helper.make_model(graph, opset_imports=[opset], ir_version=ir_version)

    # The result

    def finished(self) -> tuple[onnx.ModelProto, list[Feeds]]:
        """The model, and the inputs that it can be run on; what nobody reads is an output."""
        read = {name for node in self.nodes for name in node.input}
        made = [name for node in self.nodes for name in node.output if name in self.values]
        outputs = [name for name in made if self.chance(0.1 if name in read else 0.9)] or made[-1:]
        used = [name for name in self.inputs if name in read]
        graph = helper.make_graph(
            self.nodes,
            "counted",
            [
                helper.make_tensor_value_info(n, TensorProto.FLOAT, self.values[n][0].shape)
                for n in used
            ],
            [self._output(name) for name in outputs],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        feeds = [{name: self.values[name][i] for name in used} for i in self.live]
        return self.model(graph), feeds

    def _output(self, name: str) -> onnx.ValueInfoProto:
        """With names for sizes that are data-dependent, as exporters write them."""
        values = [self.values[name][i] for i in self.live]
        dims = [self.sizes(name, axis) for axis in range(values[0].ndim)]
        # Sizes that did not differ may be counted all the same: exporters name these, too.
        shape = [f"{name}_{axis}" for axis in range(len(dims))]
        elem = helper.np_dtype_to_tensor_dtype(values[0].dtype)
        return helper.make_tensor_value_info(name, elem, shape)


def _declared(name: str, values: Sequence[Values]) -> onnx.ValueInfoProto:
    elem = helper.np_dtype_to_tensor_dtype(values[0].dtype)
    return helper.make_tensor_value_info(name, elem, [None] * values[0].ndim)


def expected(model: onnx.ModelProto, feeds: Feeds) -> Feeds:
    """What ONNX Runtime makes of it."""
    return results(model, feeds, optimised=False)
