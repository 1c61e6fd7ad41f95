"""Winograd's algorithm in one dimension or two, over strips of tiles; convolutions with
strides as the sum of several without.

Fewer products than a direct convolution has, of filters and inputs that are transformed; the error
is larger, so that a node is computed so only in the forms that are asked of it
(`Request.winograd_forms`).
"""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR, blocked
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.winograd.candidate import candidates, retiled
from edgeconv.kernels.algorithms.winograd.lower import lower
from edgeconv.kernels.lowering.options import LayoutOption, convolved
from edgeconv.target.targets import Target


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Blocks of as many channels as a vector has lanes, in and out; of fewer channels whose phases
    are copied anyway planes, too."""
    xc = blocked(target.lanes) if target.lanes > 1 else ROW_MAJOR
    few = graph[node.inputs[0]].shape[1] < target.lanes
    strided = any(stride > 1 for stride in node.attrs["strides"])
    read = (ROW_MAJOR, xc) if few and strided else (xc,)
    return convolved(node, dict.fromkeys(read, 0.0), {xc: 0.0})


ALGORITHM = Algorithm(
    "winograd",
    candidates,
    _layouts,
    lower,
    requires="it needs a convolution in float32 with a kernel of 1, 2, 3, 4, 5 or 7 rows and "
    "columns, not 1x1 (or of as many times its strides, in one group and with dilations of 1), in "
    "one group or in groups of whole vectors of channels, and a form whose error is within "
    "--winograd-error",
    float16=True,
    retiled=retiled,
)
