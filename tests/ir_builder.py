"""Small IR graphs for tests, and what it means that a rewrite kept their results.

Everything is float64, so that a rewrite that is right agrees to almost all digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.ir.activation import Activation
from edgeconv.ir.check import check
from edgeconv.ir.encoding import INT4
from edgeconv.ir.graph import Epilogue, Graph, Node, Tensor
from tests.ir_interpreter import evaluate

Values = npt.NDArray[Any]


class GraphBuilder:
    """Adds one node per call; every method returns the name of the tensor it made."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.tensors: dict[str, Tensor] = {}
        self.nodes: list[Node] = []
        self.inputs: list[str] = []

    def input(self, *shape: int, name: str = "") -> str:
        name = name or f"in{len(self.inputs)}"
        self.inputs.append(name)
        self.tensors[name] = Tensor(name, shape, "float64")
        return name

    def constant(self, value: Values | float | Sequence[float]) -> str:
        array = np.asarray(value)
        if array.dtype.kind == "i" and array.ndim == 0:
            array = array.astype(np.float64)
        name = f"c{len(self.tensors)}"
        self.tensors[name] = Tensor(name, array.shape, str(array.dtype), data=array)
        return name

    def normal(self, *shape: int) -> str:
        return self.constant(self.random.normal(size=shape))

    def shape(self, name: str) -> tuple[int, ...]:
        return self.tensors[name].shape

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        shape: Sequence[int],
        attrs: Mapping[str, Any] | None = None,
        epilogue: Epilogue = Epilogue(),
        out: str = "",
    ) -> str:
        out = out or f"t{len(self.tensors)}"
        self.tensors[out] = Tensor(out, tuple(shape), "float64")
        name = f"n{len(self.nodes)}"
        self.nodes.append(Node(name, op, tuple(inputs), (out,), attrs or {}, epilogue, (name,)))
        return out

    def conv(
        self,
        x: str,
        out_c: int,
        kernel: int = 1,
        pad: int = 0,
        stride: int = 1,
        groups: int = 1,
        bias: bool = True,
        epilogue: Epilogue = Epilogue(),
        out: str = "",
    ) -> str:
        n, in_c, *spatial = self.shape(x)
        rank = len(spatial)
        w = self.normal(out_c, in_c // groups, *(kernel,) * rank)
        b = self.normal(out_c) if bias else ""
        size = [(dim + 2 * pad - kernel) // stride + 1 for dim in spatial]
        attrs = {
            "kernel": (kernel,) * rank,
            "strides": (stride,) * rank,
            "dilations": (1,) * rank,
            "pads": (pad,) * (2 * rank),
            "groups": groups,
        }
        return self.node("Conv", (x, w, b), (n, out_c, *size), attrs, epilogue, out)

    def in_units(self, *units: float) -> None:
        """Weights of the last Conv or Dense become multiples of one unit per output channel."""
        node = self.nodes[-1]
        weights = self.tensors[node.inputs[1]]
        multiples = self.random.integers(-7, 8, weights.shape)
        data = multiples * np.reshape(units, (-1, *(1,) * (multiples.ndim - 1)))
        self.tensors[weights.name] = replace(weights, data=data)
        self.nodes[-1] = replace(node, attrs={**node.attrs, "storage": INT4.scaled(units)})

    def dense(self, x: str, out_c: int, bias: bool = True) -> str:
        *rows, in_c = self.shape(x)
        b = self.normal(out_c) if bias else ""
        return self.node("Dense", (x, self.normal(out_c, in_c), b), (*rows, out_c))

    def pool(
        self,
        x: str,
        mode: str,
        kernel: int,
        stride: int = 1,
        pad: int = 0,
        count_include_pad: bool = False,
        size: Sequence[int] = (),
        dilation: int = 1,
    ) -> str:
        n, c, *spatial = self.shape(x)
        rank = len(spatial)
        span = (kernel - 1) * dilation + 1
        size = size or [(dim + 2 * pad - span) // stride + 1 for dim in spatial]
        attrs = {
            "mode": mode,
            "kernel": (kernel,) * rank,
            "strides": (stride,) * rank,
            "dilations": (dilation,) * rank,
            "pads": (pad,) * (2 * rank),
            "count_include_pad": count_include_pad,
        }
        return self.node("Pool", (x,), (n, c, *size), attrs)

    def pad(self, x: str, pads: Sequence[int], value: float = 0.0, mode: str = "constant") -> str:
        rank = len(self.shape(x))
        shape = [d + pads[i] + pads[rank + i] for i, d in enumerate(self.shape(x))]
        return self.node("Pad", (x,), shape, {"pads": tuple(pads), "mode": mode, "value": value})

    def unary(self, x: str, kind: str, alpha: float = 0.0, beta: float = 0.0, out: str = "") -> str:
        epilogue = Epilogue(before=Activation(kind, alpha, beta))
        return self.node("Unary", (x,), self.shape(x), {}, epilogue, out)

    def binary(
        self, kind: str, a: str | float, b: str | float, epilogue: Epilogue = Epilogue()
    ) -> str:
        names = [name if isinstance(name, str) else self.constant(float(name)) for name in (a, b)]
        shape = np.broadcast_shapes(*(self.shape(name) for name in names))
        return self.node("Binary", names, shape, {"kind": kind}, epilogue)

    def affine(self, x: str, epilogue: Epilogue = Epilogue(), shift: bool = True) -> str:
        channels = self.shape(x)[1]
        scale = self.normal(channels)
        offset = self.normal(channels) if shift else self.constant(np.zeros(channels))
        return self.node("Affine", (x, scale, offset), self.shape(x), {}, epilogue)

    def reshape(self, x: str, *shape: int) -> str:
        assert math.prod(shape) == math.prod(self.shape(x))
        return self.node("Reshape", (x,), shape)

    def transpose(self, x: str, *perm: int) -> str:
        shape = [self.shape(x)[axis] for axis in perm]
        return self.node("Transpose", (x,), shape, {"perm": perm})

    def concat(self, axis: int, *xs: str) -> str:
        shape = list(self.shape(xs[0]))
        shape[axis] = sum(self.shape(x)[axis] for x in xs)
        return self.node("Concat", xs, shape, {"axis": axis})

    def slice(self, x: str, axis: int, start: int, size: int, step: int = 1) -> str:
        shape = list(self.shape(x))
        shape[axis] = size
        starts, steps = [0] * len(shape), [1] * len(shape)
        starts[axis], steps[axis] = start, step
        return self.node("Slice", (x,), shape, {"starts": tuple(starts), "steps": tuple(steps)})

    def gather(self, x: str, indices: Sequence[int], axis: int = 1) -> str:
        shape = list(self.shape(x))
        shape[axis] = len(indices)
        name = self.constant(np.array(indices, dtype=np.int64))
        return self.node("Gather", (x, name), shape, {"axis": axis})

    def reduce(self, x: str, kind: str, *axes: int, keepdims: bool = True) -> str:
        kept = [1 if i in axes else d for i, d in enumerate(self.shape(x))]
        if not keepdims:
            kept = [d for i, d in enumerate(self.shape(x)) if i not in axes]
        attrs = {"kind": kind, "axes": axes, "keepdims": keepdims}
        return self.node("Reduce", (x,), kept, attrs)

    def shuffle(self, x: str, groups: int) -> str:
        """The channel shuffle as exporters write it."""
        n, c, h, w = self.shape(x)
        split = self.reshape(x, n, groups, c // groups, h, w)
        return self.reshape(self.transpose(split, 0, 2, 1, 3, 4), n, c, h, w)

    def graph(self, *outputs: str) -> Graph:
        graph = Graph("test", tuple(self.nodes), self.tensors, tuple(self.inputs), outputs)
        return check(graph, "the test's construction")


def ops(graph: Graph) -> list[str]:
    """The operators in execution order."""
    return [node.op for node in graph.nodes]


def assert_same_results(before: Graph, after: Graph, seed: int = 1, scale: float = 3.0) -> None:
    """Inputs and outputs are the same, and so are the values of all tensors both graphs have."""
    check(after, "the rewrite under test")
    assert (before.inputs, before.outputs) == (after.inputs, after.outputs)
    random = np.random.default_rng(seed)
    inputs = {name: scale * random.normal(size=before[name].shape) for name in before.inputs}
    want, got = evaluate(before, inputs), evaluate(after, inputs)
    shared = sorted(want.keys() & got.keys())
    assert set(before.outputs) <= set(shared)
    for name in shared:
        np.testing.assert_allclose(got[name], want[name], rtol=1e-9, atol=1e-9, err_msg=name)
