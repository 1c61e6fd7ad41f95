"""Steps of several layers for report.json, and back."""

from __future__ import annotations

from typing import Any

from edgeconv.ir.choice import Choice, divides_of
from edgeconv.ir.memory import MemoryMap
from edgeconv.ir.step import Divides


def streamed_steps(choice: Choice, memory: MemoryMap) -> dict[str, Any]:
    """``steps``, where there are such: the layers that stream rows, in execution order.

    ``stream_rows``: rows of the last result that are made at a time.  ``shares``: of several
    workers the rows of it that each makes.  Of each layer: its number in ``layers``, the ``rows``
    of its result, how many of them memory holds (``ring``), and the rows of its first input that
    one reads: ``reach`` of them from y * ``stride`` - ``pad`` on.  With ``patches``, their number,
    the same of its columns: as many as ``rows``, of which memory holds ``ring``.  Of a layer that
    ``accumulates`` they are rows and columns of its input.  ``source`` and ``added`` are there
    where the first input is not what the layer before makes, or a residual is made in the step: how
    many layers before it makes them, 0 for a tensor that lies in memory as a whole.
    """
    at = {index: position for position, index in enumerate(memory.order)}
    found = []
    for step in sorted(choice.steps, key=lambda step: at[step.layers[0]]):
        each: list[dict[str, Any]] = []
        divides = divides_of([choice.layers[index] for index in step.layers])
        for index, own in zip(step.layers, divides if step.stream_rows else (), strict=False):
            layer = choice.layers[index]
            held = choice.graph[layer.node.output].ring or own.rows
            of: dict[str, Any] = {"layer": at[index], **_window(own, held)}
            if each and (own.source, own.added) != (1, 0):
                of |= {"source": own.source, "added": own.added}
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
