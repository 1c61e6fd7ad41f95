"""Inputs for which sizes differ that a model takes to be equal: neither the program nor the model
has results for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.ir.graph import CHECK, Graph
from edgeconv.model.frontend.running import prepared
from edgeconv.run.build.loading import graph_of
from edgeconv.run.build.project import Project

Values = Mapping[str, npt.NDArray[Any]]


@contextmanager
def explained(project: Project, model: Path, feeds: Values, *, seeded: bool) -> Iterator[None]:
    """Raise UsageError, which names the sizes, for what fails within because of such inputs.

    ``seeded``: nobody gave them."""
    try:
        yield
    except EdgeconvError as error:
        if not any(layer["op"] == CHECK for layer in project.report["layers"]):
            raise
        if said := _that_differ(graph_of(project, model), feeds):
            raise UsageError(
                f"{'random' if seeded else 'these'} inputs do not belong together",
                where=str(model),
                got=said,
                rule="sizes found at run time differ that the model takes to be equal",
                hint="give it inputs for which they are, with --inputs X.npz",
            ) from error
        raise


def _that_differ(graph: Graph, feeds: Values) -> str:
    """Which node takes which sizes to be equal; "" where all are, or nothing runs it here."""
    makers = graph.producers()
    checks = [node for node in graph.nodes if node.op == CHECK]
    pairs = {node.name: tuple(makers[node.inputs[0]].inputs) for node in checks}
    sizes = tuple(dict.fromkeys(name for pair in pairs.values() for name in pair))
    asked = tuple(name for name in sizes if not graph[name].is_constant)
    try:
        found = prepared(replace(graph, outputs=asked))(feeds)
    except EdgeconvError:
        return ""
    for name, pair in pairs.items():
        one, other = (
            int(np.ravel(found[each] if each in found else graph[each].constant())[0])
            for each in pair
        )
        if one != other:
            return f"{one} and {other} at node {name.rpartition('/sizes')[0]!r}"
    return ""
