"""Inputs as a program reads them, and outputs as the model has them: strings, and as much as there
is of what is data-dependent."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgeconv.ir.graph import Graph
from edgeconv.ir.strings import decoded, encoded
from tests.onnx_suite.cases import Array


def as_read(graph: Graph, name: str, feeds: Mapping[str, Array]) -> Array | None:
    """An input: strings as their bytes."""
    array = feeds.get(name)
    if array is None or array.dtype.kind not in "OSU":
        return array
    shape = graph[name].shape
    return encoded(map(str, array.reshape(-1)), shape[-1]).reshape(shape)


def of_model(graph: Graph, made: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs ``made`` by a program, without counts."""
    found = dict(made)
    for each in graph.data_dependent:
        count = int(made[each.count][0])
        found[each.name] = np.take(made[each.name], range(count), each.axis)
        found.pop(each.count, None)
    for text in graph.texts:
        if text.name in found:
            found[text.name] = decoded(found[text.name], text.table)
    return found
