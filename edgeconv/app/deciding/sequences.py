"""Whether recurrences are layers over whole sequences, or take a step at a time.

A layer has the products with all rows of its input in memory at once: it takes less time and code
than steps, whose weights are read anew for each row, but may need more RAM.
"""

from __future__ import annotations

from edgeconv.ir.choice import Choice
from edgeconv.ir.filters import RECURRENT
from edgeconv.ir.graph import Graph
from edgeconv.ir.loop import LOOP
from edgeconv.model import passes
from edgeconv.search import choose
from edgeconv.search.budget.tables import Objective
from edgeconv.search.loops import with_programs
from edgeconv.search.memory.plan import plan
from edgeconv.search.options import CompileOptions
from edgeconv.target.targets import Target


def simplified(
    graph: Graph, options: CompileOptions, target: Target, io: str, ram: int | None
) -> tuple[Graph, bool]:
    """``graph`` as `passes.optimise` makes it, and whether with ``sequences``: not where it takes
    more RAM so and that is the objective, or more than the budget ``ram`` and less without."""
    whole = passes.optimise(graph)
    smallest = options.objective == Objective.MEMORY.value
    if not any(node.op in (RECURRENT, LOOP) for node in whole.nodes):
        return whole, True
    if not smallest and (ram is None or 2 * _all_bytes(whole) <= ram):
        return whole, True
    single = passes.optimise(graph, sequences=False)
    if [node.name for node in single.nodes] == [node.name for node in whole.nodes]:
        return whole, True
    needs = _arena(whole, target, io)
    if not smallest and ram is not None and needs <= ram:
        return whole, True
    less = _arena(single, target, io) < needs
    return (single, False) if less else (whole, True)


def _all_bytes(graph: Graph) -> int:
    """Bytes of all tensors together, constants apart."""
    return sum(4 * tensor.size for tensor in graph.tensors.values() if not tensor.is_constant)


def _arena(graph: Graph, target: Target, io: str) -> int:
    choice: Choice = choose.select(with_programs(graph, target), target, io=io)
    return plan(choice).arena_bytes
