"""What bench found, as a table and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape

from edgeconv.base.names import path_ends
from edgeconv.report.narrow_tables import plain_table
from edgeconv.report.text import NAME_WIDTH
from edgeconv.run.bench import Timing


def timing(result: Timing) -> Group:
    """The whole, then one line per layer where those were timed."""
    board = f"board {escape(result.board)} ({escape(result.isa)}), {escape(result.compiler)}"
    times = f"measured: median {result.median_ms:.3f} ms, minimum {result.min_ms:.3f} ms"
    times += f", {result.gflops:.1f} GFLOP/s"
    if result.predicted_ms is not None:
        times += f"; predicted: {result.predicted_ms:.3f} ms"
    lines: list[RenderableType] = [
        f"{board}, {result.threads} thread{'s' if result.threads > 1 else ''}, {result.runs} runs",
        times,
    ]
    if result.layers:
        total = sum(layer.median_ms for layer in result.layers)
        measures = (">median ms", ">predicted", ">share", ">GFLOP/s")
        table = plain_table(">", "layer", "op", *measures)
        brief = path_ends((layer.name for layer in result.layers), NAME_WIDTH)
        for number, layer in enumerate(result.layers):
            table.add_row(
                str(number),
                escape(brief[layer.name]),
                layer.op,
                f"{layer.median_ms:.4f}",
                "" if layer.predicted_ms is None else f"{layer.predicted_ms:.4f}",
                f"{layer.median_ms / total:.1%}" if total else "",
                f"{layer.gflops:.1f}" if layer.gflops else "",
            )
        alone = f"layers: {total:.3f} ms together, in a program that reads the clock between them"
        lines += [alone, "", table]
    return Group(*lines)


def timing_json(result: Timing) -> dict[str, Any]:
    """What `bench` prints as one JSON document."""
    document = asdict(result)
    if not result.layers:
        del document["layers"]
    return document
