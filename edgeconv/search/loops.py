"""The bodies of loops, decided before the layers around them: kernels, and memory of their own."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.ir.choice import Program
from edgeconv.ir.graph import Graph
from edgeconv.ir.loop import LOOP, body_of
from edgeconv.kernels.ops.loop import with_program
from edgeconv.search import choose
from edgeconv.search.memory.plan import plan
from edgeconv.target.targets import Target


def with_programs(graph: Graph, target: Target) -> Graph:
    """``graph`` with the programs of the bodies of its loops, those within them too.

    They depend on body and target alone, so that whoever checks a program comes to the same ones.
    """
    if not any(node.op == LOOP for node in graph.nodes):
        return graph
    nodes = []
    for node in graph.nodes:
        if node.op == LOOP:
            own = replace(body_of(node).graph, requantise=graph.requantise, scaling=graph.scaling)
            choice = choose.select(with_programs(own, target), target, integers=None)
            node = with_program(node, Program(choice, plan(choice)))
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))
