"""What is written above each call: for the engineer on the board."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgeconv.base.names import shortened
from edgeconv.codegen.addresses import Addresses
from edgeconv.codegen.c_names import c_comment
from edgeconv.codegen.row_streaming import StepCalls
from edgeconv.ir.choice import Layer
from edgeconv.ir.encoding import FLOAT32
from edgeconv.ir.graph import Node
from edgeconv.ir.step import Share


def comment(layer: Layer, shares: Sequence[Share], at: Addresses) -> tuple[str, ...]:
    """Lines above a call of ``layer``, which ``shares`` are parts of: the node it comes from, what
    it reads and writes and where, and how it computes.
    """
    node, graph = layer.node, at.choice.graph
    origin = ", ".join(shortened(name) for name in dict.fromkeys(node.origin)) or shortened(
        node.name
    )
    reads = [at.described(graph[name]) for name in node.reads() if name in at.memory.places]
    head = f'{node.op} "{origin}"{_epilogue_words(node)}'
    flow = f"{', '.join(reads)} -> {at.described(graph[node.output])}"
    plan = ", ".join(f"{k} {v}" for k, v in layer.plan.items() if k != "predicted_slots")
    work = f"{layer.macs} MACs; " if layer.macs else ""
    weights = sum(blob.bytes for blob in layer.blobs)
    formats = sorted(str(form) for form in {blob.storage for blob in layer.blobs} - {FLOAT32})
    tail = f"; {weights} bytes of weights" if weights else ""
    tail += f", filters in {', '.join(formats)}" if formats else ""
    tail += f"; {len(shares)} workers" if shares else ""
    lines = (head, flow, f"{work}{layer.algorithm}{f' ({plan})' if plan else ''}{tail}")
    return tuple(c_comment(line) for line in lines)


def of_streaming(streamed: StepCalls[Any], first: int, last: int) -> tuple[str, ...]:
    """Lines above the calls ``first`` to ``last``, which stream rows: what is done at a time, and
    what memory holds meanwhile."""
    lies, places = "each result", "their number"
    if len(streamed.between) == 1:
        lies, places = "what lies", str(streamed.between[0].ring)
    rows = f"{streamed.stream_rows} of {streamed.rows} rows of the result at a time."
    if streamed.row_by_row:
        rows = "a row at a time: the last layer that has all that its next row reads."
    if streamed.lacks and streamed.row_by_row:
        rows = "a row at a time: one of the last layer, or else one of what that row lacks."
    patches = f" in {len(streamed.patches)} patches of columns," if streamed.patches else ","
    return (
        f"{first} to {last} stream rows{patches} {rows}",
        (
            f"Of {lies} between them memory holds some rows, y at y % {places}, "
            "and no call passes the end of these."
        ),
    )


def of_trace(steps: Sequence[StepCalls[Any]], macro: str) -> tuple[str, ...]:
    """Lines on what is traced of layers that stream rows, in a program whose macros begin with
    ``macro``; none where none do."""
    if not any(step.stream_rows for step in steps):
        return ()
    lines = [
        (
            "Layers that stream rows give each time what memory holds of their results, "
            "and the last one its result in the end."
        )
    ]
    if any(step.stream_rows and step.shares for step in steps):
        lines.append(
            f"Threads share them only with -D{macro}_TIMES too, as bench does: "
            "then it is called for the first worker's share of them."
        )
    return tuple(lines)


def _epilogue_words(node: Node) -> str:
    epilogue = node.epilogue
    words = [str(epilogue.before)] if epilogue.before.kind != "none" else []
    words += ["residual"] if epilogue.residual else []
    words += [str(epilogue.after)] if epilogue.after.kind != "none" else []
    return f" + {' + '.join(words)}" if words else ""
