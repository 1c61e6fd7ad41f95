"""What a quantised model would take with numbers in float32: integers are stored, but computed with
in float32, so that decoding them costs time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from edgeconv.app.deciding.planning import Allowed, Decision, Planner
from edgeconv.base.errors import EdgeconvError
from edgeconv.ir.graph import Graph
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.report.stored_advice import faster_ways
from edgeconv.search.choose.storage import EVERY_LAYER, OUTPUT
from edgeconv.search.predict import predict

_RESULTS = {EVERY_LAYER + OUTPUT: FLOAT32}
_ALL = {**_RESULTS, EVERY_LAYER: FLOAT32}
_WORTH = 0.98  # of the time, below which another way is worth a word


def with_faster(planner: Planner, graph: Graph, plain: Decision) -> Decision:
    """``plain``, saying so where ``graph`` is predicted to be faster so, and what that takes."""
    now = plain.predicted.ms
    given = bool(planner.options.storage)  # whoever names formats knows what for
    if not plain.allowed.integers or not now or given or planner.exceeded(plain):
        return plain
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
