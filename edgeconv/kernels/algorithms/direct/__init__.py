"""Direct convolution over blocked layouts (NeoCPU, Algorithm 1): general, pointwise, grouped."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, blocked
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.direct.candidate import candidates, retiled
from edgeconv.kernels.algorithms.direct.lower import lower
from edgeconv.kernels.lowering.options import LayoutOption, Stored, convolved
from edgeconv.target.targets import Target


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Every input layout with every output layout that a vector of filters can be stored to."""
    x, y = graph[node.inputs[0]], graph[node.output]
    xc = blocked(target.lanes)
    in_c, pixels = x.shape[1], y.size // max(1, y.shape[0] * y.shape[1])
    # Channels one by one touch a cache line per pixel each: as bad as a pass over the input, except
    # where there are too few channels for a block anyhow.
    planar = 0.0 if in_c < target.lanes or target.lanes == 1 else x.size
    reads: dict[Layout, float] = {xc: 0.0, CHANNELS_LAST: 0.0, ROW_MAJOR: planar}
    padding = xc.elements(y.shape) - y.size
    writes: dict[Layout, float] = {xc: padding, CHANNELS_LAST: 0.25 * y.size}
    if pixels == 1:
        writes = {ROW_MAJOR: 0.0, xc: padding}
    return convolved(node, reads, writes)


ALGORITHM = Algorithm(
    "direct", candidates, _layouts, lower, Stored.BOTH, float16=True, retiled=retiled
)
