"""The storage formats that the user asks for, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from edgeconv.algorithms.problem import FLOAT32
from edgeconv.errors import EdgeconvError, Exit
from edgeconv.ir.graph import Graph, Node
from edgeconv.names import did_you_mean
from edgeconv.registry import lookup
from edgeconv.storage import formats
from edgeconv.storage.base import StorageFormat

EVERY_LAYER = "*"
WEIGHTED = ("Conv", "Dense")  # operators whose kernels decode their filters


def weight_formats() -> dict[str, StorageFormat]:
    """The formats that filters can be stored in, by name."""
    return {name: entry for name, entry in formats().items() if entry.enumerator}


def stored_formats() -> frozenset[str]:
    """Their names without float32's."""
    return frozenset(weight_formats()) - {FLOAT32}


def store_weights(graph: Graph, wanted: Mapping[str, str], *, rounded: bool = False) -> Graph:
    """Note the formats that ``wanted`` names by layer on the nodes: their attribute ``storage``.

    ``*`` stands for every layer with filters that is not named itself.  With ``rounded`` the
    filters are float32, of the values that storing them so would leave.  Raises EdgeconvError
    (exit status 2): no such layer or format, a layer without filters, filters that are not finite
    in a format with units.
    """
    weighted = {node.name: node for node in graph.nodes if node.op in WEIGHTED}
    for layer, name in wanted.items():
        lookup("storage format", name, weight_formats())
        if layer != EVERY_LAYER and layer not in weighted:
            raise _no_filters(layer, graph, weighted)
    named = {name: wanted[name] if name in wanted else wanted.get(EVERY_LAYER) for name in weighted}
    nodes = []
    for node in graph.nodes:
        form = named.get(node.name)
        if form:
            _require_finite(node, graph, formats()[form])
            attribute = "rounded" if rounded else "storage"
            node = replace(node, attrs={**node.attrs, attribute: form})
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def _no_filters(layer: str, graph: Graph, weighted: Mapping[str, Node]) -> EdgeconvError:
    found = next((node for node in graph.nodes if node.name == layer), None)
    if found:
        return EdgeconvError(
            "--storage names a layer without filters",
            where=layer,
            got=found.op,
            rule=f"formats are for {' and '.join(WEIGHTED)}",
            code=Exit.USAGE,
        )
    return EdgeconvError(
        "--storage names no layer",
        got=repr(layer),
        hint=did_you_mean(layer, weighted),
        code=Exit.USAGE,
    )


def _require_finite(node: Node, graph: Graph, form: StorageFormat) -> None:
    if form.scaled and not np.isfinite(graph[node.inputs[1]].constant()).all():
        raise EdgeconvError(
            "filters are not finite",
            where=node.name,
            rule=f"{form.name} counts in units of the largest weight",
            hint="store this layer in another format",
            code=Exit.USAGE,
        )
