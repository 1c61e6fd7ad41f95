"""Direct convolution by a matrix unit's outer products, on planes of pixels; results leave the unit
finished."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.outer.candidate import candidates
from edgeconv.kernels.algorithms.outer.lower import lower
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.target.targets import Target


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """NCHW in and out: neighbouring pixels of a channel are a vector of the unit."""
    del graph, target
    return (LayoutOption((ROW_MAJOR,) * len(node.reads()), (ROW_MAJOR,)),)


ALGORITHM = Algorithm(
    "outer",
    candidates,
    _layouts,
    lower,
    requires=(
        "needs a matrix unit that finishes results itself (SME), float32, two dimensions, whole "
        "rows, and no other activation than bounds in front of a residual"
    ),
)
