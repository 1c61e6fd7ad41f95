"""SConv: slicing analysis, packing on demand, outer-product micro-kernel (Ferrari et al., 2023)."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.sconv.candidate import candidates
from edgeconv.kernels.algorithms.sconv.lower import lower
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.target.targets import Target


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """NCHW in and out: rows of the micro-kernel's tile are channels of the output."""
    del graph, target
    return (LayoutOption((ROW_MAJOR,) * len(node.reads()), (ROW_MAJOR,)),)


ALGORITHM = Algorithm("sconv", candidates, _layouts, lower)
