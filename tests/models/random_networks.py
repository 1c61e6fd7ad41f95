"""Random ONNX networks that are valid and well conditioned.

Every node is run by ONNX Runtime while the network is made: that gives its shape without a second
implementation of shape inference, and shows whether rounding errors stay small.  A node that the
runtime refuses, or that makes values nobody can compare, is left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from edgeconv.run.build.project import Port
from edgeconv.run.verify.inputs import seeded
from tests.onnx_runtime import session

Values = npt.NDArray[Any]
Shape = tuple[int, ...]

OPSETS = tuple(range(7, 27))  # what both edgeconv and ONNX Runtime read
CHANNELS = (1, 1, 2, 3, 5, 8, 15, 16, 17, 24, 31, 33, 48)
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17)
MOST_ELEMENTS = 12_000
SMALLEST, LARGEST = 0.05, 50.0  # of a tensor's largest magnitude
ROUNDING = 3e-6  # relative error put on every value ...
AMPLIFIED = 3e-5  # ... and how far it may grow, relative to the tensor's largest magnitude
_SPELLINGS = ("t{}", "/features/features.{}/Conv_output_0", "{}", "layer{}:0", "T_{}.out", "τ{}")


class UnfitError(Exception):
    """This node or block cannot be had here: try another."""


class Network:
    """A network in the making; ``values`` holds every activation for the inputs of ``verify``."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.generator = np.random.default_rng(seed)
        self.opset = self.random.choice(OPSETS)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Values] = {}
        self.values: dict[str, Values] = {}
        self.inputs: list[str] = []
        self._noisy: dict[str, Values] = {}
        self._spelling = self.random.choice(_SPELLINGS)
        self._count = 0
        self._make_inputs()

    def _make_inputs(self) -> None:
        image = self.image_shape()
        shapes = [image]
        while self.chance(0.35):
            shapes.append(image if self.chance(0.5) else self.image_shape())
        ports = [Port(f"input.{i}", shape) for i, shape in enumerate(shapes)]
        for name, value in seeded(ports).items():
            self.inputs.append(name)
            self._keep(name, value, value)

    def image_shape(self) -> Shape:
        """Mostly [1, C, H, W]."""
        rank = self.random.choices((2, 3, 4, 5), (1, 2, 12, 2))[0]
        while True:
            batch = 2 if self.chance(0.12) else 1
            sizes = [self.random.choice(SIZES) for _ in range(rank - 2)]
            shape = (batch, self.random.choice(CHANNELS), *sizes)
            if int(np.prod(shape)) <= MOST_ELEMENTS // 2:
                return shape

    # What operators are made of

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def shape(self, name: str) -> Shape:
        return self.values[name].shape

    def any_shape(self, name: str) -> Shape:
        """The shape of an activation or a constant."""
        value = self.values.get(name)
        return self.constants[name].shape if value is None else value.shape

    def pick(self, fits: Callable[[Shape], bool] = lambda shape: True) -> str:
        """An activation of a shape that ``fits``, mostly a recent one."""
        names = [name for name, value in self.values.items() if fits(value.shape)]
        if not names:
            raise UnfitError
        recent = names[-4:] if self.chance(0.7) else names
        return self.random.choice(recent)

    def image(self) -> str:
        """An activation [N, C, spatial...]."""
        return self.pick(lambda shape: 3 <= len(shape) <= 5)

    def normal(self, *shape: int, scale: float = 1.0) -> str:
        """A constant of normal values."""
        return self.constant(scale * self.generator.standard_normal(shape))

    def positive(self, *shape: int) -> str:
        """A constant of values from 0.5 to 1.5."""
        return self.constant(self.generator.uniform(0.5, 1.5, shape))

    def constant(self, value: Any) -> str:
        """An initializer or a Constant node; floats become float32."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(np.float32)
        name = self._name()
        self.constants[name] = array
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def node(self, op: str, *inputs: str, **attrs: Any) -> str:
        """Append ``op``; its only output.  UnfitError: invalid, too large, ill conditioned."""
        return self.nodes_of(op, inputs, 1, **attrs)[0]

    def nodes_of(self, op: str, inputs: Sequence[str], count: int, **attrs: Any) -> list[str]:
        """Append ``op`` with ``count`` outputs."""
        outputs = [self._name() for _ in range(count)]
        node = helper.make_node(op, inputs, outputs, name=f"{op}_{len(self.nodes)}", **attrs)
        exact, noisy = self._run(node)
        floats = [v for v in exact if v.dtype == np.float32]
        if any(not _is_tame(value) for value in floats):
            raise UnfitError
        if any(_distance(a, b) > AMPLIFIED for a, b in zip(exact, noisy, strict=True)):
            raise UnfitError
        self.nodes.append(node)
        for name, value, other in zip(outputs, exact, noisy, strict=True):
            if value.dtype == np.float32:
                self._keep(name, value, other)
            else:
                self.constants[name] = value
        return outputs

    def node_of_integers(self, op: str, *inputs: str, **attrs: Any) -> str:
        """As ``node``, but its output is a constant: shapes and what is computed from them."""
        name = self.node(op, *inputs, **attrs)
        assert name in self.constants
        return name

    # How they are run

    def _name(self) -> str:
        self._count += 1
        return self._spelling.format(self._count)

    def _keep(self, name: str, value: Values, noisy: Values) -> None:
        noise = ROUNDING * self.generator.uniform(-1, 1, noisy.shape)
        self.values[name] = value
        self._noisy[name] = np.asarray(noisy * (1 + noise), np.float32)

    def _run(self, node: onnx.NodeProto) -> tuple[list[Values], list[Values]]:
        """The node's outputs without and with noise on its inputs."""
        reads = [name for name in dict.fromkeys(node.input) if name in self.values]
        needs = [name for name in dict.fromkeys(node.input) if name in self.constants]
        graph = helper.make_graph(
            [node],
            "node",
            [_declared(name, self.values[name]) for name in reads],
            [onnx.ValueInfoProto(name=name) for name in node.output],
            [numpy_helper.from_array(self.constants[name], name) for name in needs],
        )
        try:
            running = session(self._model(graph))
            exact = running.run(None, {name: self.values[name] for name in reads})
            noisy = running.run(None, {name: self._noisy[name] for name in reads})
        except Exception as error:  # the runtime has many types of its own
            raise UnfitError from error
        return exact, noisy

    def _model(self, graph: onnx.GraphProto) -> onnx.ModelProto:
        opset = helper.make_opsetid("", self.opset)
        ir_version = helper.find_min_ir_version_for([opset])
        return helper.make_model(graph, opset_imports=[opset], ir_version=ir_version)

    # The result

    def finished(self) -> onnx.ModelProto:
        """The model: what nobody reads is mostly an output, and so are some others.

        UnfitError: ONNX Runtime refuses it, or its optimiser changes what it computes.
        """
        read = {name for node in self.nodes for name in node.input}
        made = [name for node in self.nodes for name in node.output if name in self.values]
        outputs = [n for n in made if self.chance(0.08 if n in read else 0.85)] or made[-1:]
        nodes = list(self.nodes)
        initializers = []
        written = {name for node in self.nodes for name in node.output}
        inputs = [_declared(name, self.values[name]) for name in self.inputs]
        for name, value in self.constants.items():
            if name in written:
                continue
            tensor = numpy_helper.from_array(value, name)
            if self.chance(0.15):
                nodes.insert(0, helper.make_node("Constant", [], [name], value=tensor))
                continue
            initializers.append(tensor)
            if self.opset < 9 or self.chance(0.1):  # IR version 3 wants all of them listed
                inputs.append(_declared(name, value))
        graph = helper.make_graph(
            nodes,
            "random",
            inputs,
            [_declared(name, self.values[name]) for name in outputs],
            initializers,
        )
        model = self._model(graph)
        onnx.checker.check_model(model)
        self._check_whole(model, outputs)
        return model

    def _check_whole(self, model: onnx.ModelProto, outputs: Sequence[str]) -> None:
        try:
            results = session(model).run(None, {name: self.values[name] for name in self.inputs})
        except Exception as error:  # the runtime has many types of its own
            raise UnfitError from error
        for name, value in zip(outputs, results, strict=True):
            if value.shape != self.shape(name) or _distance(self.values[name], value) > AMPLIFIED:
                raise UnfitError


def _declared(name: str, value: Values) -> onnx.ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, kind, value.shape)


def _is_tame(value: Values) -> bool:
    if not 0 < value.size <= MOST_ELEMENTS or value.ndim > 6 or not np.isfinite(value).all():
        return False
    return SMALLEST <= float(np.abs(value).max()) <= LARGEST


def _distance(value: Values, other: Values) -> float:
    if value.dtype != np.float32:
        return 0.0
    with np.errstate(invalid="ignore"):
        return float(np.abs(value - other).max() / np.abs(value).max())
