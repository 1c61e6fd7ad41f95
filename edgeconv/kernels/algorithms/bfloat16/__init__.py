"""Direct convolution that multiplies bfloat16 and sums in float32, where the core does so natively.

Rounding the input changes results, so that it is computed so only where the user asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, blocked
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.bfloat16.candidate import COMPUTE, candidates
from edgeconv.kernels.algorithms.bfloat16.lower import lower
from edgeconv.kernels.lowering.options import LayoutOption, Stored
from edgeconv.target.targets import Target


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Channels side by side, in and out; in blocks, where each group begins with one."""
    x, w, y = graph[node.inputs[0]], graph[node.inputs[1]], graph[node.output]
    xc, groups = blocked(target.lanes), int(node.attrs["groups"])
    whole_in = groups == 1 or w.shape[1] % target.lanes == 0
    whole_out = groups == 1 or y.shape[1] // groups % target.lanes == 0
    reads: dict[Layout, float] = {CHANNELS_LAST: 0.0}
    writes: dict[Layout, float] = {CHANNELS_LAST: 0.25 * y.size}
    if whole_in:
        reads = {xc: float(xc.elements(x.shape) - x.size), **reads}
    if whole_out:
        writes = {xc: float(xc.elements(y.shape) - y.size), **writes}
    fixed = (ROW_MAJOR,) * (sum(1 for name in node.inputs if name) - 1)
    return [
        LayoutOption(
            (source, *fixed, *((result,) if node.epilogue.residual else ())),
            (result,),
            cost_in + cost_out,
        )
        for result, cost_out in writes.items()
        for source, cost_in in reads.items()
    ]


ALGORITHM = Algorithm(
    "bfloat16",
    candidates,
    _layouts,
    lower,
    Stored.BOTH,
    compute=COMPUTE,
    requires="it needs a core that multiplies bfloat16 (`bfloat16 = true` in the board's file), "
    "filters in flyte16, and two input channels in a group",
)
