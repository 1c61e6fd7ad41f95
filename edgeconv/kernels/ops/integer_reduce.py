"""Means of int8 or int16, and sums where kernels say how they are rounded, as average pools, one
window for all that is averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Shape
from edgeconv.kernels.lowering.integers import all_int8, with_int16
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.kernels.ops import integer_pool
from edgeconv.kernels.ops.pool import window_params
from edgeconv.target.targets import Target


def layouts(node: Node, graph: Graph) -> Sequence[LayoutOption]:
    """Channels last over pixels, row-major over neighbouring dimensions; none where there is no
    such kernel."""
    whole = all_int8(node, graph) or with_int16(node, graph)
    if node.attrs["kind"] not in ("mean", "sum") or not node.attrs["axes"] or not whole:
        return ()
    options, x = list[LayoutOption](), graph[node.inputs[0]].shape
    if min(node.attrs["axes"]) >= 2 and len(x) <= 5:
        written = CHANNELS_LAST if len(graph[node.output].shape) > 2 else ROW_MAJOR
        options.append(LayoutOption((CHANNELS_LAST,), (written,)))
    if _neighbours(node):
        options.append(LayoutOption((ROW_MAJOR,), (ROW_MAJOR,)))
    return options if integer_pool.average_of(*_as_pool(node, graph)) is not None else ()


def lower(node: Node, graph: Graph, target: Target) -> Layer:
    """The kernel call of the pool."""
    pool, pooled = _as_pool(node, graph)
    window = window_params(pool, pooled[node.inputs[0]].shape, pooled[node.output].shape)
    return replace(integer_pool.lower(pool, pooled, target, window, None), node=node)


def _neighbours(node: Node) -> bool:
    axes = sorted(node.attrs["axes"])
    return axes == list(range(axes[0], axes[-1] + 1))


def _as_pool(node: Node, graph: Graph) -> tuple[Node, Graph]:
    """A pool of the same bytes, which keeps all dimensions: row-major ones are images of what lies
    in front of those that are averaged, with channels that lie behind."""
    x, axes = graph[node.inputs[0]], sorted(node.attrs["axes"])
    shape: Shape = x.shape
    if x.layout == ROW_MAJOR and _neighbours(node):
        first, end = axes[0], axes[-1] + 1
        behind = math.prod(shape[end:])
        shape = (math.prod(shape[:first]), behind, math.prod(shape[first:end]))
        axes = [2]
    rank = len(shape) - 2
    kernel = tuple(shape[axis] if axis in axes else 1 for axis in range(2, len(shape)))
    attrs = {
        "mode": "average",
        "kernel": kernel,
        "strides": (1,) * rank,
        "dilations": (1,) * rank,
        "pads": (0,) * (2 * rank),
        "count_include_pad": False,
        "mean": node.attrs["kind"] == "mean",
        "total": node.attrs["kind"] == "sum",
    }
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    tensors = {
        node.inputs[0]: replace(x, shape=shape, layout=CHANNELS_LAST),
        node.output: replace(graph[node.output], shape=kept, layout=CHANNELS_LAST),
    }
    return replace(node, op="Pool", attrs=attrs), graph.with_tensors(tensors)
