"""Convolution of int8 in integers, over packed rows, where vectors or matrix units multiply int8.

Sums are int32, and results what the model says, exactly (``sums``).  Channels lie last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgeconv.ir.candidate import INTEGERS
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.int8_packed.candidate import candidates, int8_rows
from edgeconv.kernels.algorithms.int8_packed.lower import lower
from edgeconv.kernels.algorithms.rows.plan import WORD_BYTES
from edgeconv.kernels.lowering.options import LayoutOption, Stored, channels_last_only
from edgeconv.target.targets import Target


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Channels side by side, in and out; where those of a pixel make a word, planes are as good."""
    (usual,) = channels_last_only(node, graph, target)
    word = min(row.k for row in int8_rows(target))
    if graph[node.inputs[1]].shape[1] > word or word != WORD_BYTES:
        return (usual,)
    return usual, replace(usual, reads=(ROW_MAJOR, *usual.reads[1:]))


ALGORITHM = Algorithm(
    "int8_packed",
    candidates,
    _layouts,
    lower,
    Stored.BOTH,
    compute=INTEGERS,
    requires="input, filters and result of int8, of a model that rounds them so, no convolution of "
    "one filter per channel, and a core with kernels for int8 (`int8_dot` or `int8_matrix` in some "
    "boards' files)",
)
