"""Convolution Slicing Analysis of a convolution, as numbers."""

from __future__ import annotations

from typing import Any

from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.algorithms import algorithms, planned
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.sconv.blocked import predicted_cycles
from edgeconv.kernels.algorithms.sconv.candidate import SconvCandidate, alternatives
from edgeconv.kernels.algorithms.sconv.plan import SconvPlan
from edgeconv.target.targets import Target

Document = dict[str, Any]
SIZES = ("n_win", "n_f", "nc", "k1", "k2", "k3")


def slicing(node: Node, graph: Graph, target: Target) -> Document | None:
    """The plans that SConv has for a convolution: one per schedule, and the blocking's where the
    target has caches.  ``cost`` and ``packing_cost`` are the analysis's, in cycles of one group of
    one image; ``slots`` and ``cycles`` are by what the blocking's is judged, of everything.

    None for a layer that is no convolution.
    """
    if node.op != "Conv":
        return None
    entry = algorithms()["sconv"]
    for candidate in planned(entry, problem_of(node, graph), target):
        plans = alternatives(candidate, target)
        return {
            "chosen": next(name for name, plan in plans.items() if plan == candidate.plan),
            "plans": {name: _plan(candidate, target, plan) for name, plan in plans.items()},
        }
    return None


def _plan(candidate: SconvCandidate, target: Target, plan: SconvPlan) -> Document:
    sliced = plan.slicing
    costs = (*sliced.level_costs, sliced.cost)
    cycles = predicted_cycles(candidate.problem, target, plan) if target.caches else None
    return {
        "schedule": sliced.schedule.value,
        **{name: getattr(sliced, name) for name in SIZES},
        "last": {name: getattr(sliced, f"last_{name}") for name in SIZES},
        "cost": dict(zip(("L2", "L3", "DRAM", "all"), map(round, costs), strict=True)),
        "packing_cost": round(sliced.packing_cost),
        "workspace_bytes": sliced.workspace,
        "slots": round(plan.cost),
        "cycles": None if cycles is None else round(cycles),
    }
