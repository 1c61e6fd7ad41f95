"""Graph rewrites, one module each; found by scanning, never listed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from edgeconv.base.names import untaken
from edgeconv.base.registry import scan
from edgeconv.ir.check import InvariantError, check
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.loop import with_bodies
from edgeconv.model.passes.base import Pass, Stage, in_order

# A fixpoint takes as many rounds as rewrites enable one another in a row: at most so many, and one
# for every node.
MAX_ROUNDS = 32

# A graph after a round, and the names of the passes that changed it.
Changed = tuple[Graph, frozenset[str]]


@cache
def passes() -> tuple[Pass, ...]:
    """Every pass, in the order of a round."""
    return in_order(scan(sys.modules[__name__], "PASS", Pass))


def optimise(graph: Graph, *, sequences: bool = True) -> Graph:
    """The simplest equivalent graph the passes find: same inputs, outputs and values.

    The stages run in turn until none changes the graph, and layers get their ``layer_names`` then;
    invariants are checked after every pass that changed it.  InvariantError names the pass that
    breaks one, or those that go on undoing what the others did.  Bodies of loops are made simple
    alike.  ``sequences``: passes run that have sums of whole sequences in memory for those of a
    step (`Pass.of_sequences`).
    """
    if sequences:  # for passes that look into bodies of loops
        graph = with_bodies(graph, _simplified)
    rounds = partial(_stages, sequences)
    return with_bodies(_named(_settled(graph, rounds)[0]), partial(optimise, sequences=sequences))


def _simplified(graph: Graph) -> Graph:
    """`Stage.SIMPLIFY` alone, of the bodies of loops within it too."""
    graph = with_bodies(graph, _simplified)
    return _settled(graph, partial(_round, Stage.SIMPLIFY, sequences=True))[0]


def _named(graph: Graph) -> Graph:
    """``graph`` with its ``layer_names``; nodes that have one of these by chance get another."""
    if not graph.layer_names:
        return graph
    given: dict[str, int] = {}  # name -> the position of the node that it is for
    for position, node in enumerate(graph.nodes):
        known = [graph.layer_names[y] for y in node.outputs if y in graph.layer_names]
        if known:
            given.setdefault(known[0], position)
    name_of = {position: name for name, position in given.items()}
    taken = {*given, *(node.name for node in graph.nodes)}
    nodes: list[Node] = []
    for position, node in enumerate(graph.nodes):
        name = name_of.get(position, node.name)
        if given.get(name, position) != position:
            name = untaken(name, taken)
            taken.add(name)
        nodes.append(replace(node, name=name))
    return check(replace(graph, nodes=tuple(nodes), layer_names={}), "names of layers")


def _stages(sequences: bool, graph: Graph) -> Changed:
    """Every stage to its fixpoint, one after the other."""
    changed: frozenset[str] = frozenset()
    for stage in Stage:
        graph, names = _settled(graph, partial(_round, stage, sequences=sequences))
        changed |= names
    return graph, changed


def _round(stage: Stage, graph: Graph, *, sequences: bool) -> Changed:
    """Every pass of ``stage`` once."""
    changed = set()
    for entry in passes():
        runs = entry.stage == stage and (sequences or not entry.of_sequences)
        rewritten = entry.run(graph) if runs else graph
        if rewritten is not graph:
            graph = check(rewritten, f"pass {entry.name}")
            changed.add(entry.name)
    return graph, frozenset(changed)


def _settled(graph: Graph, go_round: Callable[[Graph], Changed]) -> Changed:
    """The graph after round upon round until one changes nothing."""
    changed: frozenset[str] = frozenset()
    names = changed
    for _ in range(MAX_ROUNDS + len(graph.nodes)):
        graph, names = go_round(graph)
        if not names:
            return graph, changed
        changed |= names
    raise InvariantError(f"passes: {', '.join(sorted(names))}: never leave the graph as it is")
