"""The network of a model as a project was compiled from it."""

from __future__ import annotations

from pathlib import Path

from edgeconv.ir.graph import Graph
from edgeconv.model import passes
from edgeconv.model.frontend import load, with_states
from edgeconv.run.build.project import Project


def graph_of(project: Project, model: Path) -> Graph:
    """``model`` with the shapes, the part and the largest sizes that ``project`` notes, and its
    states.  Raises EdgeconvError as `load`."""
    shapes = {port.name: port.model_shape for port in project.with_states_as_ports().inputs}
    graph = load(
        model,
        input_shapes=shapes,
        cut_at=project.cut,
        max_sizes=project.max_sizes,
        loops=project.recurrences.loops,
    )
    known = {state.input for state in graph.states}  # the file's own
    names = [(each.made.name, each.given.name) for each in project.states]
    return with_states(graph, [pair for pair in names if pair[1] not in known])


def simplified(project: Project, graph: Graph) -> Graph:
    """``graph``, of `graph_of`, as ``project`` was compiled from it."""
    return passes.optimise(graph, sequences=project.recurrences.sequences)
