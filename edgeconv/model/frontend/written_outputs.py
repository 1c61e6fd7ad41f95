"""Outputs of a graph, each written by a node of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.model.frontend.names import COPY
from edgeconv.model.frontend.values import Values


def with_written_outputs(walk: Values, graph: Graph, outputs: Sequence[str]) -> Graph:
    """``graph`` with ``outputs``, each of them written by a node of its own.

    An output that is a constant, an input or listed before is copied by an Identity.  A constant
    leaves its name to the copy; the others keep it, and the copy has a new one.
    """
    nodes, tensors, written = list(graph.nodes), walk.tensors, []
    for output in outputs:
        name, like = output, tensors[output]
        if like.data is not None:
            source = walk.add_constant(f"{output}/value", like.data)
            nodes = [replace(n, inputs=_renamed(n.inputs, output, source)) for n in nodes]
            tensors[output] = Tensor(output, like.shape, like.dtype)
        elif output in graph.inputs or output in written:
            name, source = walk.add_tensor(f"{output}{COPY}", like.shape, like), output
        if name != output or like.data is not None:
            copy = f"{name}/Identity"
            nodes.append(Node(copy, "Identity", (source,), (name,), origin=(output,)))
        written.append(name)
    return replace(graph, nodes=tuple(nodes), tensors=tensors, outputs=tuple(written))


def _renamed(names: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if name == old else name for name in names)
