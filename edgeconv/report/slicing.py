"""Convolution Slicing Analysis of a convolution, as numbers."""

from __future__ import annotations

from typing import Any

from edgeconv.algorithms.problem import ConvProblem, problem_of
from edgeconv.algorithms.sconv.blocked import blocked_plan, final_plan, predicted_cycles
from edgeconv.algorithms.sconv.plan import SconvPlan, make_plan
from edgeconv.algorithms.sconv.slicing import Schedule
from edgeconv.ir.graph import Graph, Node
from edgeconv.targets import Target

Document = dict[str, Any]
BLOCKING = "blocking"
SIZES = ("n_win", "n_f", "nc", "k1", "k2", "k3")


def slicing(node: Node, graph: Graph, target: Target) -> Document | None:
    """The plans that SConv has for a convolution: one per schedule, and the blocking's where the
    target has caches.  ``cost`` and ``packing_cost`` are the analysis's, in cycles of one group of
    one image; ``slots`` and ``cycles`` are by what the blocking's is judged, of everything.

    None for a layer that is no convolution.
    """
    if node.op != "Conv":
        return None
    problem = problem_of(node, graph)
    wanted = Schedule(node.attrs["schedule"]) if "schedule" in node.attrs else None
    analysed = make_plan(problem, target, wanted)
    schedule = analysed.slicing.schedule
    plans = {
        entry.value: analysed if entry is schedule else make_plan(problem, target, entry)
        for entry in Schedule
    }
    if target.caches:
        plans[BLOCKING] = blocked_plan(problem, target)
    kept = final_plan(problem, target, wanted) == analysed
    return {
        "chosen": schedule.value if kept else BLOCKING,
        "plans": {name: _plan(problem, target, plan) for name, plan in plans.items()},
    }


def _plan(problem: ConvProblem, target: Target, plan: SconvPlan) -> Document:
    sliced = plan.slicing
    costs = (*sliced.level_costs, sliced.cost)
    return {
        "schedule": sliced.schedule.value,
        **{name: getattr(sliced, name) for name in SIZES},
        "last": {name: getattr(sliced, f"last_{name}") for name in SIZES},
        "cost": dict(zip(("L2", "L3", "DRAM", "all"), map(round, costs), strict=True)),
        "packing_cost": round(sliced.packing_cost),
        "workspace_bytes": sliced.workspace,
        "slots": round(plan.cost),
        "cycles": round(predicted_cycles(problem, target, plan)) if target.caches else None,
    }
