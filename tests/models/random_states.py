"""Random networks that keep states: what a run makes is fed back to the next one in random ways."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.models.random_blocks import random_network

Pair = tuple[str, str]  # an output and the input that it is in the next run
Shape = tuple[int, ...]
_SLICES = 10  # the first opset whose Slice reads where it begins


class Feedback:
    """A network that is given states one by one; ``states``: those so far."""

    def __init__(self, model: onnx.ModelProto, seed: int) -> None:
        self.model, self.graph = model, model.graph
        self.random = random.Random(seed)
        self.states: list[Pair] = []
        self._opset = max(each.version for each in model.opset_import if not each.domain)
        self._front: list[onnx.NodeProto] = []
        self._behind: list[onnx.NodeProto] = []

    def add(self) -> None:
        """States of some inputs and outputs."""
        constants = {tensor.name for tensor in self.graph.initializer}
        for value in [each for each in self.graph.input if each.name not in constants]:
            ways: list[Callable[[str, Shape], None]] = [self._delayed, self._leaky, self._swapped]
            ways += [self._moving] * 2 if self._opset >= _SLICES else []
            if not self.states or self.random.random() < 0.5:
                self.random.choice(ways)(value.name, _shape(value))
        shapes = onnx.shape_inference.infer_shapes(self.model).graph.output
        made = {name for name, _ in self.states}
        for value in [each for each in shapes if each.name not in made]:
            if all(_shape(value)) and self.random.random() < 0.4:
                self._averaged(value.name, _shape(value))
        nodes = [*self._front, *self.graph.node, *self._behind]
        del self.graph.node[:]
        self.graph.node.extend(nodes)

    def _state(self, shape: Shape) -> Pair:
        """The names of a new state: what it is made as, what it is read as."""
        name = f"state.{len(self.states)}"
        self.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        made = f"{name}.next"
        self.graph.output.append(helper.make_tensor_value_info(made, TensorProto.FLOAT, shape))
        self.states.append((made, name))
        return made, name

    def _read_instead(self, name: str, other: str) -> None:
        for node in self.graph.node:
            for place, each in enumerate(node.input):
                if each == name:
                    node.input[place] = other

    def _node(self, op: str, *reads: str, to: str, behind: bool = False, **attrs: Any) -> str:
        node = helper.make_node(op, reads, [to], f"{op} {to}", **attrs)
        (self._behind if behind else self._front).append(node)
        return to

    def _number(self, value: float) -> str:
        return self._constant(np.array([value], np.float32))

    def _constant(self, value: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
        name = f"state.constant.{len(self.graph.initializer)}"
        self.graph.initializer.append(numpy_helper.from_array(value, name))
        return name

    def _delayed(self, name: str, shape: Shape) -> None:
        """The input of the run before is read."""
        made, state = self._state(shape)
        self._read_instead(name, state)
        self._node("Identity", name, to=made)

    def _leaky(self, name: str, shape: Shape) -> None:
        """What is read is the input and half of the state, of which a function is the next."""
        made, state = self._state(shape)
        half = self._node("Mul", state, self._number(0.5), to=f"{state}.half")
        self._read_instead(name, f"{state}.sum")
        total = self._node("Add", name, half, to=f"{state}.sum")
        self._node(self.random.choice(["Tanh", "Sigmoid", "Identity"]), total, to=made)

    def _swapped(self, name: str, shape: Shape) -> None:
        """Two states that take each other's place, one with the input on the way."""
        first, second = self._state(shape), self._state(shape)
        self._read_instead(name, f"{second[1]}.sum")
        self._node("Tanh", first[1], to=f"{first[1]}.tanh")
        self._node("Add", f"{first[1]}.tanh", name, to=f"{second[1]}.sum")
        self._node("Identity", second[1], to=first[0])
        self._node("Identity", f"{second[1]}.sum", to=second[0])

    def _moving(self, name: str, shape: Shape) -> None:
        """A window along some axis, of which the input's size is read."""
        axis = self.random.randrange(len(shape))
        kept = self.random.randint(1, 4)
        made, state = self._state((*shape[:axis], kept, *shape[axis + 1 :]))
        whole = self._node("Concat", state, name, to=f"{state}.window", axis=axis)
        begin = self.random.randint(0, kept)
        for to, first, size in ((f"{state}.part", begin, shape[axis]), (made, shape[axis], kept)):
            ends = (np.array([each], np.int64) for each in (first, first + size, axis))
            self._node("Slice", whole, *map(self._constant, ends), to=to)
        self._read_instead(name, f"{state}.part")

    def _averaged(self, name: str, shape: Shape) -> None:
        """An output as the mean of all runs, later ones more."""
        made, state = self._state(shape)
        inner = f"{state}.of"
        for node in self.graph.node:
            for place, each in enumerate(node.output):
                if each == name:
                    node.output[place] = inner
        self._read_instead(name, inner)
        total = self._node("Add", inner, state, to=f"{state}.total", behind=True)
        self._node("Mul", total, self._number(0.5), to=name, behind=True)
        self._node("Identity", name, to=made, behind=True)


def _shape(value: onnx.ValueInfoProto) -> Shape:
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)


def network(seed: int, nodes: int) -> tuple[onnx.ModelProto, list[Pair]]:
    """A random network with states."""
    found = Feedback(random_network(seed, nodes), seed)
    found.add()
    return found.model, found.states
