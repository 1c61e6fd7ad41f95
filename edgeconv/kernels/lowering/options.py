"""What the choice may ask of a node's kernel: layouts, storage formats, the kernel call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Flag

from edgeconv.ir.choice import Layer
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout
from edgeconv.ir.request import Request
from edgeconv.target.targets import Target


@dataclass(frozen=True, slots=True)
class LayoutOption:
    """One way to run a node: a layout per tensor of ``node.reads()`` and per output.

    ``penalty``: float32 elements that its loops move beyond the work that the kernel states.
    ``request``: what is asked of the node to be lowered so, where several kernels do it; None: no
    more than what is asked of it anyhow.
    """

    reads: tuple[Layout, ...]
    writes: tuple[Layout, ...]
    penalty: float = 0.0
    request: Request | None = None

    def picked(self, node: Node) -> Node:
        """``node`` to be lowered so, once layouts are decided."""
        return node if self.request is None else replace(node, request=self.request)


class Stored(Flag):
    """What a kernel does with tensors in other storage formats than float32: it decodes those that
    it reads, the residual among them; it encodes what it writes."""

    NOTHING = 0
    READS = 1
    WRITES = 2
    BOTH = 3


Lower = Callable[[Node, Graph, Target], Layer]
Layouts = Callable[[Node, Graph, Target], Sequence[LayoutOption]]


def row_major_only(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """The layouts of an operator that works on the logical order only."""
    del graph, target
    return (LayoutOption((ROW_MAJOR,) * len(node.reads()), (ROW_MAJOR,) * len(node.outputs)),)


def channels_last_only(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """The layouts of a convolution whose channels lie side by side, those of the residual too."""
    del graph, target
    return convolved(node, {CHANNELS_LAST: 0.0}, {CHANNELS_LAST: 0.0})


def convolved(
    node: Node, reads: Mapping[Layout, float], writes: Mapping[Layout, float]
) -> Sequence[LayoutOption]:
    """Every input layout of a convolution with every output layout, which a residual has too; each
    with its penalty."""
    constants = (ROW_MAJOR,) * (sum(1 for name in node.inputs if name) - 1)
    return [
        LayoutOption(
            (source, *constants, *((result,) if node.epilogue.residual else ())),
            (result,),
            cost_in + cost_out,
        )
        for result, cost_out in writes.items()
        for source, cost_in in reads.items()
    ]
