"""What a quantised model would take with numbers in float32: integers are stored, but computed with
in float32, so that decoding them costs time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from edgeconv.app.deciding.planning import Allowed, Decision, Planner
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph, Node
from edgeconv.kernels.ops import operators
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.report.stored_advice import faster_ways
from edgeconv.search.choose.storage import EVERY_LAYER, OUTPUT
from edgeconv.search.predict import predict
from edgeconv.target.price import Machine
from edgeconv.target.price.duration import LAYER_CYCLES
from edgeconv.target.targets import Target

_RESULTS = {EVERY_LAYER + OUTPUT: FLOAT32}
_ALL = {**_RESULTS, EVERY_LAYER: FLOAT32}
_CALLED = frozenset({"Binary", "Conv", "Dense", "Unary"})  # operators that are never views
_WORTH = 0.98  # of the time, below which another way is worth a word


def with_faster(planner: Planner, graph: Graph, plain: Decision) -> Decision:
    """``plain``, saying so where ``graph`` is predicted to be faster so, and what that takes."""
    now = plain.predicted.ms
    given = bool(planner.options.storage)  # whoever names formats knows what for
    if not plain.allowed.integers or not now or given or planner.exceeded(plain):
        return plain
    if least_ms(graph, planner.machine, planner.board.target) >= now * _WORTH:
        return plain  # as of most integers on microcontrollers, whichever plan is the best
    faster: list[dict[str, Any]] = []
    for storage in (_RESULTS, _ALL):
        try:
            other = planner.draft(graph, Allowed(), storage)
        except EdgeconvError:  # a format or an algorithm that was asked for
            continue
        ms = predict(other.choice, other.memory, planner.board).ms
        if ms and ms < (faster[-1]["predicted_ms"] if faster else now) * _WORTH:
            faster.append(
                {
                    "storage": [f"{key}={form}" for key, form in storage.items()],
                    "predicted_ms": ms,
                    "more_ram": other.sizes.ram.total - plain.sizes.ram.total,
                    "more_flash": other.sizes.flash.total - plain.sizes.flash.total,
                    "fits": not planner.exceeded(other),
                }
            )
    if not faster:
        return plain
    report = {**plain.report, "time": {**plain.report["time"], "faster": faster}}
    return replace(plain, report=report, notes=(*plain.notes, *faster_ways(report)))


def least_ms(graph: Graph, machine: Machine, target: Target) -> float:
    """Milliseconds that ``graph`` is predicted to take at least with numbers in float32, on a
    microcontroller: its multiply-adds, a slot each, and the calls of its layers.  On other targets
    nothing, nor of convolutions that Winograd's algorithm may do with fewer multiplications."""
    if not target.is_scalar or target.lanes > 1:
        return 0.0
    macs = sum(operators()[node.op].macs(node, graph) for node in graph.nodes if _is_full(node))
    calls = sum(1 for node in graph.nodes if node.op in _CALLED)
    return 1e3 * (macs * machine.slot + calls * LAYER_CYCLES * machine.cycle)


def _is_full(node: Node) -> bool:
    """Whether all of its multiplications are done, whatever computes it."""
    return node.op == "Dense" or (node.op == "Conv" and set(node.attrs["kernel"]) == {1})
