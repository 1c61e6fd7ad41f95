"""Steps of several layers for report.json, and back."""

from __future__ import annotations

from typing import Any

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.step import Divides


def streamed_steps(choice: Choice, memory: MemoryMap) -> dict[str, Any]:
    """``steps``, where there are such: the layers that stream rows, in execution order.

    ``stream_rows``: rows of the last result that are made at a time.  ``shares``: of several
    workers the rows of it that each makes.  Of each layer: its number in ``layers``, the ``rows``
    of its result, how many of them memory holds (``ring``), and the rows of its first input that
    one reads: ``reach`` of them from y * ``stride`` - ``pad`` on.  With ``patches``, their number,
    the same of its columns: as many as ``rows``, of which memory holds ``ring``.  Of a layer that
    ``accumulates`` they are rows and columns of its input.
    """
    at = {index: position for position, index in enumerate(memory.order)}
    found = []
    for step in sorted(choice.steps, key=lambda step: at[step.layers[0]]):
        each = []
        for index in step.layers if step.stream_rows else ():
            layer, own = choice.layers[index], choice.layers[index].divides
            assert own  # the planner has refused others
            held = choice.graph[layer.node.output].ring or own.rows
            of: dict[str, Any] = {"layer": at[index], **_window(own, held)}
            if own.accumulates:
                of["accumulates"] = True
            if step.patches > 1:
                assert own.columns
                columns = choice.graph[layer.node.output].ring_columns or own.columns.rows
                of["columns"] = _window(own.columns, columns)
            each.append(of)
        if each:
            shares = [list(share[:2]) for share in step.shares]
            entry: dict[str, Any] = {"stream_rows": step.stream_rows, "layers": each}
            patches = {"patches": step.patches} if step.patches > 1 else {}
            found.append(entry | ({"shares": shares} if shares else {}) | patches)
    return {"steps": found} if found else {}


def _window(own: Divides, held: int) -> dict[str, int]:
    reads = {"reach": own.reach, "stride": own.stride, "pad": own.pad}
    return {"rows": own.rows, "ring": held, **reads}
