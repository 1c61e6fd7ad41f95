"""Kernels and layouts on cores of which it is known what nothing hides of loads and stores.

Layouts are chosen before it is known which layers stream rows, and what they read may then lie
nearer than it seemed: so they are chosen with several prices of waiting, and kept is what is
predicted to be the fastest with everything in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from edgeconv.app.deciding.fusing import by_price
from edgeconv.app.deciding.less_ram import predicted_price
from edgeconv.app.deciding.planning import NetworkPlan, Planner
from edgeconv.ir.graph import Graph
from edgeconv.target.price import Machine


def by_waiting(planner: Planner, graph: Graph, draft: NetworkPlan) -> NetworkPlan:
    """The fastest of ``draft``, made of ``graph``, and of what is chosen with less waiting, layers
    streaming rows in each where that is faster (`fusing.by_price`)."""
    found = [by_price(planner, draft)]
    for machine in _with_less_waiting(planner.machine):
        other = planner.priced_for(machine)
        made = other.draft(graph, draft.allowed, planner.options.storage)
        if not planner.exceeded(made):
            found.append(by_price(planner, made))
    return min(found, key=partial(predicted_price, planner))


def _with_less_waiting(machine: Machine) -> Iterator[Machine]:
    """``machine`` where all is waited for as if it lay in the second cache, and where nothing is;
    none where that is not known."""
    if machine.waits:
        yield replace(machine, waits=(machine.waits[0],) * len(machine.waits))
        yield replace(machine, waits=())
