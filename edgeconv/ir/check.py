"""Invariants of the graph, run after every stage: a defect is caught where it arises."""

from __future__ import annotations

from edgeconv.ir.graph import Graph, Node


class InvariantError(AssertionError):
    """A stage of the tool produced an inconsistent graph."""


def check(graph: Graph, stage: str) -> Graph:
    """Return ``graph``; raises InvariantError naming ``stage``, the node and the rule.

    Every tensor read is an input, a constant or was written earlier; every tensor is written
    once; names agree with their keys; graph inputs are never written; outputs exist; constants
    have the shape they state; a residual has its output's shape; a Reshape keeps all elements.
    """

    def fail(where: str, rule: str) -> None:
        raise InvariantError(f"after {stage}: {where}: {rule}")

    known = set(graph.inputs) | {t.name for t in graph.tensors.values() if t.is_constant}
    for key, tensor in graph.tensors.items():
        if key != tensor.name:
            fail(key, f"tensor is called {tensor.name!r}")
        if tensor.data is not None and tensor.data.shape != tensor.shape:
            fail(key, f"constant of shape {tensor.data.shape} states {tensor.shape}")
        if any(dim < 0 for dim in tensor.shape):
            fail(key, f"negative dimension in {tensor.shape}")
    names: set[str] = set()
    for node in graph.nodes:
        if node.name in names:
            fail(node.name, "two nodes have this name")
        names.add(node.name)
        for name in node.reads():
            if name not in graph.tensors:
                fail(node.name, f"reads unknown tensor {name!r}")
            if name not in known:
                fail(node.name, f"reads {name!r} before it is written")
        for name in node.outputs:
            if name and name not in graph.tensors:
                fail(node.name, f"writes unknown tensor {name!r}")
            if name in known:
                fail(node.name, f"writes {name!r}, which already has a value")
            known.add(name)
        if rule := _misshapen(node, graph):
            fail(node.name, rule)
    for name in graph.outputs:
        if name not in known:
            fail(name, "graph output is never written")
    return graph


def _misshapen(node: Node, graph: Graph) -> str:
    """What is wrong with the shapes of a node whose tensors exist; "" for nothing."""
    out = graph[node.output]
    residual = graph[node.epilogue.residual] if node.epilogue.residual else out
    if residual.shape != out.shape:
        return f"residual of shape {residual.shape} for an output of shape {out.shape}"
    if node.op == "Reshape" and (data := graph[node.inputs[0]]).size != out.size:
        return f"reshapes {data.shape} to {out.shape}, which has another number of elements"
    return ""
