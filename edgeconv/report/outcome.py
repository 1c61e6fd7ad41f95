"""What verify and bench found, as tables and as JSON."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from edgeconv.bench import Timing
from edgeconv.names import told_apart
from edgeconv.report.text import NAME_WIDTH, plain_table
from edgeconv.verify import Difference, Verification

_TIES = (
    "A sum that lies within float32's error of the middle between two steps may go to either, here "
    "and in the reference, and later layers may widen that"
)


def verification(result: Verification) -> Group:
    """One line per output, one per layer where those were compared, and the verdict."""
    lines: list[RenderableType] = [f"reference: {escape(result.runtime)}; program ran {result.ran}"]
    if result.layers:
        lines += [_layer_table(result), ""]
    table = plain_table("output", "relative error", "largest error", "at", "ULP", "SQNR")
    _justify(table, 1, 2, 4, 5)
    for output in result.outputs:
        at = f"[{', '.join(map(str, output.worst))}]"
        table.add_row(
            escape(output.name),
            f"{output.relative:.3g}",
            f"{output.max_abs:.3g}",
            escape(at),
            f"{output.max_ulp:.0f}",
            f"{output.sqnr_db:.1f} dB",
        )
    lines.append(table)
    for output in result.outputs:
        if output.step:
            steps = f"{output.steps:.3g} of its quantisation step, {output.step:.6g}"
            lines.append(f"{escape(output.name)}: the largest error is {steps}")
    for difference in result.rounded:
        lines.append(
            f"{escape(difference.name)} against the same weights in float32: relative error "
            f"{difference.relative:.3g}"
        )
    lines += [_verdict(result)]
    return Group(*lines)


def verification_json(result: Verification) -> dict[str, Any]:
    """The same as one JSON document; a difference that is not finite is null."""
    first = result.first_difference
    return {
        "passed": result.passed,
        "tolerance": result.tolerance,
        "reference": result.runtime,
        "ran": result.ran,
        "outputs": [_difference_json(output) for output in result.outputs],
        "rounded": [_difference_json(output) for output in result.rounded],
        "layers": [
            {
                "name": layer.name,
                "op": layer.op,
                "skipped": layer.skipped or None,
                "difference": _difference_json(layer.difference) if layer.difference else None,
            }
            for layer in result.layers
        ],
        "first_difference": first.name if first else None,
    }


def timing(result: Timing) -> Group:
    """The whole, then one line per layer where those were timed."""
    board = f"board {escape(result.board)} ({result.isa}), {escape(result.compiler)}"
    times = f"measured: median {result.median_ms:.3f} ms, minimum {result.min_ms:.3f} ms"
    times += f", {result.gflops:.1f} GFLOP/s"
    if result.predicted_ms is not None:
        times += f"; predicted: {result.predicted_ms:.3f} ms"
    lines: list[RenderableType] = [
        f"{board}, 1 thread, {result.runs} runs",
        times,
    ]
    if result.layers:
        total = sum(layer.median_ms for layer in result.layers)
        table = plain_table("", "layer", "op", "median ms", "predicted", "share", "GFLOP/s")
        _justify(table, 0, 3, 4, 5, 6)
        brief = told_apart((layer.name for layer in result.layers), NAME_WIDTH)
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
        lines += ["", table]
    return Group(*lines)


def timing_json(result: Timing) -> dict[str, Any]:
    """The same as one JSON document."""
    document: dict[str, Any] = {
        "board": result.board,
        "isa": result.isa,
        "compiler": result.compiler,
        "threads": 1,
        "runs": result.runs,
        "median_ms": result.median_ms,
        "min_ms": result.min_ms,
        "predicted_ms": result.predicted_ms,
        "gflops": result.gflops,
    }
    if result.layers:
        document["layers"] = [
            {
                "name": layer.name,
                "op": layer.op,
                "median_ms": layer.median_ms,
                "predicted_ms": layer.predicted_ms,
                "gflops": layer.gflops,
            }
            for layer in result.layers
        ]
    return document


def _layer_table(result: Verification) -> Table:
    table = plain_table("", "layer", "op", "relative error", "ULP", "")
    _justify(table, 0, 3, 4)
    brief = told_apart((layer.name for layer in result.layers), NAME_WIDTH)
    for number, layer in enumerate(result.layers):
        row = [str(number), escape(brief[layer.name]), layer.op]
        difference = layer.difference
        if difference is None:
            table.add_row(*row, "", "", f"{layer.skipped}: nothing to compare with")
        else:
            fine = result.rounded or difference.within(result.tolerance)
            mark = "" if fine else "[red]differs[/]"
            table.add_row(*row, f"{difference.relative:.3g}", f"{difference.max_ulp:.0f}", mark)
    return table


def _verdict(result: Verification) -> str:
    limit = f"tolerance {result.tolerance:g} of the largest output"
    quantised = any(output.step for output in result.outputs)
    limit += " or one quantisation step" if quantised else ""
    if result.rounded and result.passed:
        return f"[green]equal[/] to the model with rounded weights within {limit}"
    if result.passed:
        return f"[green]equal[/] within {limit}"
    first = result.first_difference
    where = f"; first layer that differs: {escape(first.name)} ({first.op})" if first else ""
    begins = "." if first else ": --layers shows where it begins."
    ties = f"\n{_TIES}{begins}" if quantised else ""
    return f"[red]DIFFERENT[/] ({limit}){where}{ties}"


def _difference_json(difference: Difference) -> dict[str, Any]:
    return {
        "name": difference.name,
        "relative": _number(difference.relative),
        "max_abs": _number(difference.max_abs),
        "max_ulp": _number(difference.max_ulp),
        "step": difference.step or None,
        "sqnr_db": _number(difference.sqnr_db),
        "worst": list(difference.worst),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _justify(table: Table, *columns: int) -> None:
    for column in columns:
        table.columns[column].justify = "right"
