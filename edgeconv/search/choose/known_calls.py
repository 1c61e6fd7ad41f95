"""Kernel calls that were planned before: searches for less RAM ask for the same ones many times."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.kernels.algorithms.scaling import scaling_of
from edgeconv.kernels.float16 import lowered
from edgeconv.target.targets import Target

_MOST = 4096  # calls that are kept


@dataclass(frozen=True, slots=True)
class KnownCalls:
    """Kernel calls by all that they depend on: the node, its tensors and the target; of the graph
    around it how sums are rounded and scaled.  ``tensors`` keeps the constants whose identities are
    in keys."""

    calls: dict[Hashable, Layer] = field(default_factory=dict)
    tensors: dict[Hashable, tuple[Tensor, ...]] = field(default_factory=dict)

    def call(self, node: Node, graph: Graph, target: Target) -> Layer:
        """The kernel call of ``node``, with the constants that are read as data."""
        names = (name for name in dict.fromkeys((*node.reads(), *node.outputs)) if name)
        tensors = tuple(graph[name] for name in names)
        key = (*_key(node), *map(_stored, tensors), target, *_sums(graph))
        try:
            found = self.calls.get(key)
        except TypeError:  # an attribute is nothing to look up by, such as the body of a loop
            return lowered(node, graph, target, blobs=True)
        if found is None:
            if len(self.calls) >= _MOST:
                self.clear()
            found = self.calls[key] = lowered(node, graph, target, blobs=True)
            self.tensors[key] = tensors
        return found

    def clear(self) -> None:
        """Forget all calls, and let go of their constants."""
        self.calls.clear()
        self.tensors.clear()


def _key(node: Node) -> tuple[object, ...]:
    asked = node.epilogue, node.origin, node.request
    return node.name, node.op, node.inputs, node.outputs, *sorted(node.attrs.items()), *asked


def _stored(tensor: Tensor) -> tuple[object, ...]:
    data = None if tensor.data is None else id(tensor.data)
    where = tensor.layout, tensor.storage, tensor.ring, tensor.ring_columns
    return tensor.name, tensor.shape, tensor.dtype, *where, data


def _sums(graph: Graph) -> tuple[str, ...]:
    return graph.requantise, graph.scaling, scaling_of(graph)


KNOWN = KnownCalls()  # of the decisions that are being made
