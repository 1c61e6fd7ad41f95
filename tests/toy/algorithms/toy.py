"""Convolution as its definition says, number by number, over row-major images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.ir.choice import Arg, ArgKind, Layer
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Graph, Node
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.ir.work import CacheTraffic, Work
from edgeconv.kernels.algorithms.base import Algorithm
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.packing import bias_blob, filters_blob
from edgeconv.kernels.algorithms.problem import ConvProblem, Finish
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.target.targets import Target

ELEMENT = 4


@dataclass(frozen=True, slots=True)
class ToyPlan:
    """``sums`` wait in a workspace of so many floats."""

    sums: int


def candidates(problem: ConvProblem, target: Target) -> tuple[ConvCandidate[ToyPlan], ...]:
    """One, for float32 in one group without an epilogue."""
    if problem.groups > 1 or problem.filters_as != FLOAT32 or problem.finish != Finish():
        return ()
    plan = ToyPlan(sums=problem.out_size[2])

    def cache_traffic() -> tuple[CacheTraffic, ...]:
        read, filters = problem.in_elements * ELEMENT, problem.macs * ELEMENT
        written = problem.out_elements * ELEMENT
        return tuple(
            CacheTraffic(cache.level, read, 0.0, filters, 0.0, 0.0, written)
            for cache in target.caches
        )

    slots = 2.0 * problem.macs
    found = ConvCandidate(
        algorithm="toy",
        problem=problem,
        plan=plan,
        workspace={"sums": ELEMENT * plan.sums},
        work=Work(slots, 0.0, ELEMENT * problem.macs, ELEMENT * problem.macs),
        cache_traffic=cache_traffic,
    )
    return (found,)


def layouts(node: Node, graph: Graph, target: Target) -> Sequence[LayoutOption]:
    """Row-major."""
    del graph, target
    return (LayoutOption((ROW_MAJOR,) * len(node.reads()), (ROW_MAJOR,)),)


def lower(candidate: ConvCandidate[ToyPlan], node: Node, graph: Graph, target: Target) -> Layer:
    """The call."""
    problem = candidate.problem
    weights = graph[node.inputs[1]].size
    return Layer(
        node=node,
        algorithm=candidate.algorithm,
        template="conv/toy.c.j2",
        params={
            "batch": problem.batch,
            "in_c": problem.in_c,
            "out_c": problem.out_c,
            **problem.window,
            "in_held": problem.in_memory[1],
            "out_held": problem.out_memory[1],
        },
        args=(
            Arg(ArgKind.INPUT, "in", node.inputs[0]),
            Arg(ArgKind.WEIGHTS, "filters", "filters"),
            Arg(ArgKind.WEIGHTS, "bias", "bias"),
            Arg(ArgKind.OUTPUT, "out", node.output),
            Arg(ArgKind.WORKSPACE, "sums"),
        ),
        headers=(),
        work=candidate.work,
        blobs=(
            filters_blob(node, graph, weights, lambda given: given.reshape(-1)),
            bias_blob(node, graph, problem.out_c, target.lanes),
        ),
        workspace_bytes=candidate.workspace_bytes,
        macs=problem.macs,
        divides=problem.divides,
        candidate=candidate,
        plan={"sums": candidate.plan.sums},
    )


ALGORITHM = Algorithm("toy", candidates, layouts, lower, requires="it is for tests")
