"""Remove nodes whose results nothing reads, and tensors that no node mentions."""

from __future__ import annotations

from edgeconv.ir.edit import Editor
from edgeconv.ir.graph import Graph
from edgeconv.model.passes.base import Pass


def run(graph: Graph) -> Graph:
    """Keep what leads to a graph output."""
    return Editor(graph).finish()


PASS = Pass(
    run=run,
    requires="a node none of whose outputs is read or is an output of the graph",
    ensures="every node leads to an output of the graph, every constant is read",
)
