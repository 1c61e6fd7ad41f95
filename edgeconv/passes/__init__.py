"""Graph rewrites, one module each; found by scanning, never listed."""

from __future__ import annotations

import sys
from functools import cache

from edgeconv.ir.check import check
from edgeconv.ir.graph import Graph
from edgeconv.passes.base import Pass, Stage, in_order
from edgeconv.registry import scan

MAX_ROUNDS = 32  # of one stage; a fixpoint takes as many as rewrites enable one another in a row


@cache
def passes() -> tuple[Pass, ...]:
    """Every pass, in the order of a round."""
    return in_order(scan(sys.modules[__name__], "PASS", Pass))


def optimise(graph: Graph) -> Graph:
    """The simplest equivalent graph the passes find: same inputs, outputs and values.

    The stages run in turn until none changes the graph; invariants are checked after every pass
    that changed it (InvariantError names the pass).
    """
    for _ in range(MAX_ROUNDS):
        before = graph
        for stage in Stage:
            graph = _settle(graph, stage)
        if graph is before:
            break
    return graph


def _settle(graph: Graph, stage: Stage) -> Graph:
    """Run the passes of ``stage`` round after round until a round changes nothing."""
    for _ in range(MAX_ROUNDS):
        before = graph
        for entry in passes():
            if entry.stage == stage:
                rewritten = entry.run(graph)
                if rewritten is not graph:
                    graph = check(rewritten, f"pass {entry.name}")
        if graph is before:
            break
    return graph
