"""SConv: slicing analysis, packing on demand, outer-product micro-kernel (Ferrari et al., 2023)."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.algorithms.base import Algorithm
from edgeconv.algorithms.problem import ConvProblem
from edgeconv.algorithms.sconv.blocked import final_plan
from edgeconv.algorithms.sconv.lower import lower
from edgeconv.algorithms.sconv.plan import make_plan
from edgeconv.algorithms.sconv.shape import Shape
from edgeconv.algorithms.sconv.traffic import traffic
from edgeconv.algorithms.traffic import Crossing
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.ops.base import LayoutOption
from edgeconv.targets import Target


def _applies(problem: ConvProblem, target: Target) -> bool:
    del problem
    # No tiles where no memory may be taken for packed panels.
    return bool(target.outer)


def _cost(problem: ConvProblem, target: Target) -> float:
    return make_plan(problem, target).cost


def _layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """NCHW in and out: rows of the micro-kernel's tile are channels of the output."""
    del graph, target
    return (LayoutOption((ROW_MAJOR,) * len(node.reads()), (ROW_MAJOR,)),)


def _traffic(problem: ConvProblem, target: Target) -> tuple[Crossing, ...]:
    """Group by group and image by image, as the kernel goes."""
    slicing, one = final_plan(problem, target).slicing, Shape.of(problem)
    return traffic(slicing, one, target.caches, problem.groups, problem.batch)


ALGORITHM = Algorithm("sconv", _applies, _cost, _layouts, lower, _traffic)
