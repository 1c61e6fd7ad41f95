"""A network run in numpy, as many samples at once as caches hold.

Products of matrices, which is what most of a convolution is, are BLAS's, about as fast as compiled
kernels; the program that `engine.Engine` compiles is faster only once that has taken seconds.
They have one thread: those of BLAS wait for each other by spinning, which costs small products more
than it saves, and sums depend on their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import islice

import numpy as np
from threadpoolctl import ThreadpoolController

from edgeconv.base.closing import Closing
from edgeconv.ir.activation import NONE, Activation, bounds
from edgeconv.ir.filters import WEIGHTED, Filters, filters_of, replace_filters
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.lowering.activations import evaluate
from edgeconv.kernels.ops import operators
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.search.calibration.inference import Array, Floats, Rounding
from edgeconv.search.calibration.interpreter.operators import CONDITIONS, EVALUATE, elements

_AT_ONCE_BYTES = 1 << 25  # of all tensors of the samples that are run at once
_BLOCK = 1 << 16  # numbers that are rounded at once
_SLOW = frozenset({"erf", "gelu"})  # functions that numpy has not


def interprets(graph: Graph) -> bool:
    """Whether all of ``graph`` can be run so: operators with one result, of float32."""
    for node in graph.nodes:
        condition = CONDITIONS.get(node.op)
        if node.op not in EVALUATE or len(node.outputs) != 1:
            return False
        if condition and not condition(node, graph):
            return False
        if {node.epilogue.before.kind, node.epilogue.after.kind} & _SLOW:
            return False
        names = (*node.reads(), *node.outputs)
        indices = node.inputs[1:2] if node.op == "Gather" else ()
        if any(graph[name].dtype != FLOAT32 for name in names if name not in indices):
            return False
        if all(graph[name].is_constant for name in node.inputs if name):
            return False
    return bool(graph.inputs)


class Interpreter(Closing):
    """The network ``graph``, of which `interprets` is true, in this process.  Storage formats that
    it names are ignored; activations are rounded to grids alone."""

    def __init__(self, graph: Graph) -> None:
        self.graph = replace(graph, states=())
        self.layers = {node.name: node for node in graph.nodes if node.op in WEIGHTED}
        self._own: dict[str, Filters] = {}
        self._threads = ThreadpoolController()

    def close(self) -> None:
        """Nothing is held."""

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """As `inference.InferenceEngine.tensors`: all of them."""
        return (*self.graph.inputs, *(node.output for node in self.graph.nodes))

    @cached_property
    def macs(self) -> int:
        """As `inference.InferenceEngine.macs`."""
        known = operators()
        return sum(int(known[node.op].macs(node, self.graph)) for node in self.graph.nodes)

    def parameters(self, layer: str) -> Filters:
        """As `inference.InferenceEngine.parameters`."""
        if layer not in self._own:
            self._own[layer] = filters_of(self.layers[layer], self.graph)
        return self._own[layer]

    def adopt(self, layers: Mapping[str, Filters]) -> None:
        """As `inference.InferenceEngine.adopt`."""
        self.graph = replace_filters(self.graph, layers)
        self.layers = {node.name: node for node in self.graph.nodes if node.op in WEIGHTED}
        self._own.clear()

    def run(
        self,
        inputs: Mapping[str, Array],
        *,
        parameters: Mapping[str, Filters] | None = None,
        activations: Mapping[str, Rounding] | None = None,
        capture: Iterable[str] = (),
    ) -> dict[str, Floats]:
        """As `inference.InferenceEngine.run`."""
        (found,) = self.run_each(
            [inputs], parameters=parameters, activations=activations, capture=capture
        )
        return found

    def run_each(
        self,
        samples: Iterable[Mapping[str, Array]],
        *,
        parameters: Mapping[str, Filters] | None = None,
        activations: Mapping[str, Rounding] | None = None,
        capture: Iterable[str] = (),
    ) -> Iterator[dict[str, Floats]]:
        """As `inference.InferenceEngine.run_each`."""
        names = dict.fromkeys((*self.graph.outputs, *capture))
        waiting = iter(samples)
        while given := list(islice(waiting, self._at_once)):
            with self._threads.limit(limits=1, user_api="blas"):
                found = self._run(given, parameters or {}, activations or {}, names)
            for number in range(len(given)):
                yield {name: found[name][number] for name in names}

    @cached_property
    def _at_once(self) -> int:
        return max(_AT_ONCE_BYTES // max(4 * elements(self.graph), 1), 1)

    @cached_property
    def _readers(self) -> Counter[str]:
        return Counter(name for node in self.graph.nodes for name in {*node.reads()})

    def _run(
        self,
        samples: list[Mapping[str, Array]],
        parameters: Mapping[str, Filters],
        activations: Mapping[str, Rounding],
        wanted: Mapping[str, None],
    ) -> dict[str, Array]:
        """Tensors ``wanted``, (S, *shape)."""
        left = Counter(self._readers)
        values: dict[str, Array] = {}
        for name in self.graph.inputs:
            given = np.stack([np.asarray(sample[name], np.float32) for sample in samples])
            values[name] = self._rounded(name, given, activations)
        with np.errstate(all="ignore"):
            for node in self.graph.nodes:
                found = self._result(node, values, parameters)
                values[node.output] = self._rounded(node.output, found, activations)
                for name in {*node.reads()}:
                    left[name] -= 1
                    if not left[name] and name not in wanted:
                        values.pop(name, None)
        return values

    def _result(
        self, node: Node, values: Mapping[str, Array], parameters: Mapping[str, Filters]
    ) -> Array:
        """What a node computes, its epilogue included."""
        operands: list[Array | None] = [
            (values[name] if name in values else self.graph[name].constant()) if name else None
            for name in node.inputs
        ]
        given = parameters.get(node.name)
        if given is not None:
            bias = self.parameters(node.name).bias if given.bias is None else given.bias
            operands[1:] = [given.weights, bias]
        y = EVALUATE[node.op](node, self.graph, tuple(operands))
        epilogue = node.epilogue
        y = _activated(epilogue.before, y)
        if epilogue.residual:
            residual = values.get(epilogue.residual)
            y = y + (self.graph[epilogue.residual].constant() if residual is None else residual)
        return _activated(epilogue.after, y)

    def _rounded(self, name: str, values: Array, activations: Mapping[str, Rounding]) -> Array:
        """``values`` on the grid of their tensor, where there is one."""
        function = activations.get(name)
        if function is None or name in self.graph.outputs:
            return values
        if not isinstance(function, Activation):
            raise TypeError(f"{name}: {function}")  # a defect of the caller
        return _on_grid(function, values)


def _activated(function: Activation, x: Array) -> Array:
    if function == NONE:
        return x
    limits = bounds(function)
    if limits is not None:
        low, high = (np.float32(each) for each in limits)
        return np.maximum(x, low) if np.isinf(high) else np.clip(x, low, high)
    values = np.ascontiguousarray(x)
    found = np.empty_like(values)
    flat, out = values.reshape(-1), found.reshape(-1)
    for start in range(0, flat.size, _BLOCK):  # such functions go over what they are given often
        out[start : start + _BLOCK] = evaluate(function, flat[start : start + _BLOCK])
    return found


def _on_grid(function: Activation, values: Array) -> Array:
    """min(max(rint(x / spacing), low), high) times the spacing, as kernels compute it."""
    x = np.ascontiguousarray(values)
    found = np.empty_like(x)
    flat, out = x.reshape(-1), found.reshape(-1)
    spacing, low, high = (
        np.float32(each) for each in (function.alpha, function.beta, function.gamma)
    )
    for start in range(0, flat.size, _BLOCK):
        own = out[start : start + _BLOCK]
        np.divide(flat[start : start + _BLOCK], spacing, out=own)
        np.rint(own, out=own)
        np.clip(own, low, high, out=own)
        own *= spacing
    return found
