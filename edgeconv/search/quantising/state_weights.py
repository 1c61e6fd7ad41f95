"""Weights of recurrent states as int8: kernels widen them where they read them, so that a step is
float32 from such numbers and nothing else of it is rounded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgeconv.ir.filters import RECURRENT, Filters, decodes
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms.packing import rounded, weights_of
from edgeconv.kernels.storage import formats
from edgeconv.search.choose.storage import EVERY_LAYER, INT8, has_storage


def state_weights(graph: Graph, asked: Mapping[str, str]) -> dict[str, Filters]:
    """By layer, the weights [directions * gates * hidden][hidden] in units of a scale per row, of
    those that ``asked``, formats by layer, gives no other format.  Both directions have the same
    scales, as ONNX's DequantizeLinear of R has them."""
    found = {}
    for node in graph.nodes:
        wanted = asked.get(node.name, asked.get(EVERY_LAYER, INT8))
        if node.op != RECURRENT or has_storage(node) or not decodes(node, graph):
            continue
        whole = not node.attrs["cell_clip"]  # else it is written out step by step
        if whole and wanted == INT8 and np.isfinite(weights_of(node, graph)).all():
            found[node.name] = _in_eight_bits(node, graph)
    return found


def _in_eight_bits(node: Node, graph: Graph) -> Filters:
    form, weights = formats()[INT8], weights_of(node, graph)
    assert form.units is not None
    directions = len(node.attrs["directions"])
    units = form.units(weights).reshape(directions, -1).max(axis=0)
    units = np.tile(units, directions)
    return Filters(rounded(weights, form, units), None, form.encoding.scaled(units))
