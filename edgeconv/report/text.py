"""A report as tables for people, at most 100 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.table import Table

from edgeconv.names import shortened
from edgeconv.report.document import excess
from edgeconv.sizes import human

NAME_WIDTH = 30  # of a layer in a table; report.json and `explain` have all of it


def render(report: Mapping[str, Any]) -> Group:
    """Everything: the summary, then one line per layer."""
    return Group(summary(report), "", layer_table(report["layers"]))


def compiled(report: Mapping[str, Any], directory: Path) -> Group:
    """What ``compile`` prints: the summary, and where the project is."""
    return Group(summary(report), f"project: {escape(str(directory))}")


def summary(report: Mapping[str, Any]) -> Group:
    """Memory against the budgets, work, and what has been measured."""
    model, ram, flash = report["model"], report["ram"], report["flash"]
    memory = plain_table("", "bytes", "", "")
    arena = f"lower bound {ram['arena_lower_bound']}"
    if ram["workspace"]:
        arena += f"; {ram['workspace']} of it workspace"
    _memory_row(memory, "RAM: arena", ram["arena"], arena)
    _memory_row(memory, "RAM: inputs and outputs", ram["io"], "in the arena" * (not ram["io"]))
    _memory_row(memory, "RAM: model structure", ram["model_struct"], "")
    _memory_row(memory, "RAM: total", ram["total"], _verdict(report, "ram"))
    _memory_row(memory, "flash: weights", flash["weights"], "")
    _memory_row(memory, "flash: code", flash["code"], "")
    _memory_row(memory, "flash: constants", flash["rodata"], "")
    partial = "" if flash["code"] is not None else "weights only"
    verdict = "; ".join(filter(None, (partial, _verdict(report, "flash"))))
    _memory_row(memory, "flash: total", flash["total"], verdict)
    title = (
        f"[bold]{escape(report['program']['name'])}[/] for board {escape(report['board'])} "
        f"({report['isa']}): {escape(model['name'])}, {model['macs']:,} multiply-accumulates"
    )
    return Group(title, memory, *_measured(report))


def layer_table(layers: Iterable[Mapping[str, Any]]) -> Table:
    """One line per layer, in execution order."""
    table = plain_table("", "layer", "op", "algorithm", "MACs", "weights", "output", "layout")
    for column in (0, 4, 5, 6):
        table.columns[column].justify = "right"
    for number, layer in enumerate(layers):
        table.add_row(
            str(number),
            escape(shortened(layer["name"], NAME_WIDTH)),
            layer["op"],
            layer["algorithm"],
            f"{layer['macs']:,}" if layer["macs"] else "",
            human(layer["weight_bytes"]) if layer["weight_bytes"] else "",
            human(layer["output_bytes"]),
            layer["layout_out"],
        )
    return table


def plain_table(*headings: str) -> Table:
    """A table without frames, which reads the same in a terminal and in a pipe."""
    table = Table(box=None, pad_edge=False, show_header=any(headings), header_style="dim")
    for heading in headings:
        table.add_column(heading)
    return table


def budget_lines(report: Mapping[str, Any]) -> tuple[str, ...]:
    """One sentence per budget that is exceeded."""
    return tuple(
        f"{kind}: {needed} bytes needed, {allowed} allowed: {needed - allowed} too many"
        for kind, needed, allowed in excess(report)
    )


def _memory_row(table: Table, name: str, size: int | None, note: str) -> None:
    table.columns[1].justify = table.columns[2].justify = "right"
    if size is None:
        table.add_row(name, "-", "", note or "not built yet")
    else:
        table.add_row(name, f"{size:,}", human(size), note)


def _verdict(report: Mapping[str, Any], kind: str) -> str:
    budget = report["budget"][kind]
    if budget is None:
        return ""
    word = "[green]fits[/]" if report[kind]["total"] <= budget else "[red]exceeds[/]"
    return f"{word} the budget of {budget:,}"


def _measured(report: Mapping[str, Any]) -> list[str]:
    lines = []
    if (time := report["time"]["measured_ms"]) is not None:
        lines.append(f"measured: {time:.3f} ms per run")
    if (accuracy := report["accuracy"]) is not None:
        error, sqnr = accuracy["max_abs_error"], accuracy["sqnr_db"]
        text = f"largest error {error:.3g}" if error is not None else "outputs that are not finite"
        text += f", SQNR {sqnr:.1f} dB" if sqnr is not None else ""
        lines.append(f"verified: {text} on {accuracy['samples']} input(s)")
    return lines
