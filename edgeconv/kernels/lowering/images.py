"""Layout options that operators on (N, C, spatial...) tensors share."""

from __future__ import annotations

import math
from collections.abc import Callable

from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, Layout, Shape, blocked
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.target.targets import Target


def layouts_of(shape: Shape, target: Target) -> tuple[Layout, ...]:
    """The layouts that a tensor may have on ``target``, row-major last.

    Without pixels there is one order of the elements, and a vector of one lane has no blocks.
    """
    if len(shape) < 3:
        return (ROW_MAJOR,)
    blocks = (blocked(target.lanes),) if target.lanes > 1 else ()
    return (*blocks, CHANNELS_LAST, ROW_MAJOR)


def padding(shape: Shape, layout: Layout) -> float:
    """Elements of padding: what an elementwise kernel computes for nothing."""
    return float(layout.elements(shape) - math.prod(shape))


def same_everywhere(
    node: Node, graph: Graph, target: Target, penalty: Callable[[Layout], float] = lambda _: 0.0
) -> list[LayoutOption]:
    """Options in which every run-time tensor of the node has the same layout.

    Constants stay row-major: ``lower`` packs them.  ``penalty`` gives a layout's cost beyond its
    padding, in elements.
    """
    shape = graph[node.output].shape
    return [
        LayoutOption(
            tuple(ROW_MAJOR if graph[name].is_constant else layout for name in node.reads()),
            (layout,),
            padding(shape, layout) + penalty(layout),
        )
        for layout in layouts_of(shape, target)
    ]


def pixels(shape: Shape) -> int:
    """Pixels of one channel of an (N, C, spatial...) tensor."""
    return math.prod(shape[2:])


def volume(sizes: tuple[int, ...], fill: int) -> tuple[int, int, int]:
    """Per-dimension numbers of one to three spatial dimensions as (depth, height, width)."""
    d, h, w = (fill,) * (3 - len(sizes)) + tuple(sizes)
    return d, h, w
