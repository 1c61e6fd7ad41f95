"""Means of int8 or int16 over pixels: average pools, one window for all that is averaged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR
from edgeconv.lowering.integers import all_int8, with_int16
from edgeconv.lowering.options import LayoutOption
from edgeconv.ops import integer_pool
from edgeconv.ops.pool import window_params
from edgeconv.targets import Target


def layouts(node: Node, graph: Graph) -> Sequence[LayoutOption]:
    """Channels last; none where there is no such kernel."""
    x = graph[node.inputs[0]].shape
    pixels_alone = node.attrs["axes"] and min(node.attrs["axes"]) >= 2
    if node.attrs["kind"] != "mean" or not pixels_alone or not 3 <= len(x) <= 5:
        return ()
    whole = all_int8(node, graph) or with_int16(node, graph)
    if not whole or integer_pool.average_of(*_as_pool(node, graph)) is None:
        return ()
    written = CHANNELS_LAST if len(graph[node.output].shape) > 2 else ROW_MAJOR
    return [LayoutOption((CHANNELS_LAST,), (written,))]


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of the pool."""
    pool, pooled = _as_pool(node, graph)
    window = window_params(pool, graph[node.inputs[0]].shape, pooled[node.output].shape)
    return replace(integer_pool.lower(pool, pooled, target, window, None), node=node)


def _as_pool(node: Node, graph: Graph) -> tuple[Node, Graph]:
    """A pool of the same bytes, which keeps all dimensions."""
    shape, axes = graph[node.inputs[0]].shape, set(node.attrs["axes"])
    rank = len(shape) - 2
    kernel = tuple(shape[axis] if axis in axes else 1 for axis in range(2, len(shape)))
    attrs = {
        "mode": "average",
        "kernel": kernel,
        "strides": (1,) * rank,
        "dilations": (1,) * rank,
        "pads": (0,) * (2 * rank),
        "count_include_pad": False,
    }
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    out = replace(graph[node.output], shape=kept, layout=CHANNELS_LAST)
    pool = replace(node, op="Pool", attrs=attrs)
    return pool, graph.with_tensors({node.output: out})
