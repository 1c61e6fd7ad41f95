"""Depthwise convolution of int8 in integers: a vector holds neighbouring channels.

Sums are int32, and results what the model says, exactly (``sums``).  Channels lie last.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.algorithms.base import Algorithm
from edgeconv.algorithms.int8_depthwise.candidate import candidates
from edgeconv.algorithms.int8_depthwise.lower import lower
from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR
from edgeconv.lowering.options import LayoutOption, Stored
from edgeconv.targets import Target


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Channels side by side, in and out."""
    del graph, target
    fixed = (ROW_MAJOR,) * (sum(1 for name in node.inputs if name) - 1)
    residual = (CHANNELS_LAST,) if node.epilogue.residual else ()
    return (LayoutOption((CHANNELS_LAST, *fixed, *residual), (CHANNELS_LAST,)),)


ALGORITHM = Algorithm(
    "int8_depthwise",
    candidates,
    _layouts,
    lower,
    Stored.BOTH,
    compute=INTEGERS,
    requires="one filter per input channel, input, filters and result of int8, of a model that "
    "rounds them so, and vectors or portable C",
)
