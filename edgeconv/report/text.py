"""A report as tables for people, at most 100 columns wide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from edgeconv.base.names import path_ends
from edgeconv.base.sizes import human
from edgeconv.ir.candidate import (
    FLOAT,
    HALF,
    IN_WHOLE_NUMBERS,
    INT16,
    INTEGERS,
    REAL,
    WIDE_REAL,
)
from edgeconv.ir.encoding import kind_of
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.report.advice import suggestions
from edgeconv.report.integers import integers_lines
from edgeconv.report.narrow_tables import ByRoom, plain_table
from edgeconv.report.network import Network
from edgeconv.report.quantised_layers import quantised_layers
from edgeconv.report.resumable import resumable_lines
from edgeconv.report.stored_advice import faster_ways
from edgeconv.search.memory.sizes import Excess, Sizes

SUGGESTIONS = 4
NAME_WIDTH = 24  # of a layer in a table; report.json and `explain` have all of it


def render(report: Mapping[str, Any]) -> Group:
    """Everything: the summary, one line per layer, and what would save most."""
    return Group(summary(report), "", layer_table(report["layers"]), *_advice(report))


def compiled(report: Mapping[str, Any], directory: Path) -> Group:
    """What ``compile`` prints: the summary, and where the project is."""
    return Group(summary(report), f"project: {escape(str(directory))}")


def summary(report: Mapping[str, Any]) -> Group:
    """Memory against the budgets, work, time and energy."""
    model, ram, flash = report["model"], report["ram"], report["flash"]
    memory = plain_table("", ">bytes", ">", "")
    arena = f"lower bound {ram['arena_lower_bound']}"
    if ram["workspace"]:
        arena += f"; {ram['workspace']} of it workspace"
    if states := report.get("states"):
        arena += f"; {sum(state['bytes'] for state in states)} of it states"
    _memory_row(memory, "RAM: arena", ram["arena"], arena)
    io = _linked(ram, "io", ram["io"])
    _memory_row(memory, "RAM: inputs and outputs", io, "in the arena" * (not io))
    if _is_linked(ram):
        _memory_row(memory, "RAM: variables", _linked(ram, "data", 0), "")
        _memory_row(memory, "RAM: stack", _linked(ram, "stack", 0), _stack_note(ram))
        _memory_row(memory, "RAM: alignment", _linked(ram, "padding", 0), "")
    else:
        _memory_row(memory, "RAM: model structure", ram["model_struct"], "")
        _memory_row(memory, "RAM: stack", ram["stack_bound"], _stack_note(ram))
    _memory_row(memory, "RAM: total", ram["total"], _verdict(report, "ram"))
    _memory_row(memory, "flash: weights", flash["weights"], "")
    _memory_row(memory, "flash: code", flash["code"], "")
    _memory_row(memory, "flash: constants", flash["rodata"], "")
    if _is_linked(flash):
        _memory_row(memory, "flash: alignment", _linked(flash, "padding", 0), "")
    partial = "" if flash["code"] is not None else "weights only"
    verdict = "; ".join(filter(None, (partial, _verdict(report, "flash"))))
    _memory_row(memory, "flash: total", flash["total"], verdict)
    title = (
        f"[bold]{escape(report['program']['name'])}[/] for board {escape(report['board'])} "
        f"({escape(report['isa'])}): {escape(model['name'])}, "
        f"{model['macs']:,} multiply-accumulates"
    )
    return Group(
        title,
        memory,
        *region_table(report),
        *_time_and_energy(report),
        *_computed(report),
        *resumable_lines(report),
        *winograd(report),
        *_verified(report),
        *quantised_layers(model.get("int8", {}).get("layers", ())),
    )


def region_table(report: Mapping[str, Any]) -> list[RenderableType]:
    """Who takes what of each memory region of a bare-metal board: nothing for other boards."""
    rows = [*report["ram"].get("regions", ()), *report["flash"].get("regions", ())]
    if not rows:
        return []
    wide = plain_table("region", *(f">{title}" for title in _PARTS.values()), ">free", ">of")
    cells = [_region_cells(region) for region in rows]
    for row in cells:
        wide.add_row(*row)
    names = (f">{name}" for name, *_ in cells)
    narrow = plain_table("region", *names)
    titles = (*_PARTS.values(), "free", "of")
    for title, *row in zip(titles, *(row[1:] for row in cells), strict=True):
        narrow.add_row(title, *row)
    return ["", ByRoom(wide, narrow)]


def _region_cells(region: Mapping[str, Any]) -> list[str]:
    """Name, parts, what is free, and size of a memory region."""
    free = region["size"] - region["used"]
    left = f"[red]{free:,}[/]" if free < 0 else f"{free:,}"
    parts = (_part(region, part) for part in _PARTS)
    return [escape(region["name"]), *parts, left, human(region["size"])]


_PARTS = {
    "arena": "arena",
    "io": "in/out",
    "data": "data",
    "stack": "stack",
    "weights": "weights",
    "code": "code",
    "rodata": "const.",
    "padding": "pad",
}


def _part(region: Mapping[str, Any], part: str) -> str:
    if part in region and region[part] is None:
        return "?"
    return f"{region[part]:,}" if region.get(part) else ""


def _is_linked(memory: Mapping[str, Any]) -> bool:
    """Whether a linker has placed everything: firmware that was built."""
    regions = memory.get("regions", ())
    return bool(regions) and all(region["padding"] is not None for region in regions)


def _linked(memory: Mapping[str, Any], part: str, planned: int) -> int:
    """Bytes of a part of firmware as the linker placed it, ``planned`` where it has not."""
    if not _is_linked(memory):
        return planned
    return sum(int(region[part]) for region in memory["regions"])


def _stack_note(ram: Mapping[str, Any]) -> str:
    if ram.get("stack_bound") is None:
        return "no bound, see report.json" if ram.get("stack_source") else ""
    words = f"at most {ram['stack_bound']:,}"
    if _is_linked(ram):
        words += ", and an exception"
    if ram.get("stack_measured") is not None:
        words += f"; verified image {ram['stack_measured']:,}"
        if ram.get("stack_measured_bound") is not None:
            words += f" of {ram['stack_measured_bound']:,}"
    return words


def layer_table(layers: Sequence[Mapping[str, Any]]) -> Table:
    """One line per layer, in execution order; times only where some layer has one."""
    times = {
        key: heading
        for key, heading in (("predicted_ms", ">pred. ms"), ("measured_ms", ">meas. ms"))
        if any(layer[key] is not None for layer in layers)
    }
    bounds = [layer.get("cycles_max") for layer in layers]
    bounded = [">max cycles"] if any(each is not None for each in bounds) else []
    headings = (">", "layer", "op", "algorithm", ">MACs", ">weights", ">output", *times.values())
    table = plain_table(*headings, *bounded)
    brief = path_ends((layer["name"] for layer in layers), NAME_WIDTH)
    table.columns[1].overflow = "fold"
    for number, layer in enumerate(layers):
        table.add_row(
            str(number),
            escape(brief[layer["name"]]),
            escape(layer["op"]),
            escape(layer["algorithm"]),
            f"{layer['macs']:,}" if layer["macs"] else "",
            _stored(layer["weight_bytes"], layer["storage"]["weights"]),
            _stored(layer["output_bytes"], kind_of(layer["storage"]["output"])),
            *("" if layer[key] is None else f"{layer[key]:.4f}" for key in times),
            *("" if bounds[number] is None else f"{bounds[number]:,}" for _ in bounded),
        )
    return table


def _stored(size: int, form: str | None) -> str:
    """Bytes, and their format where it is not float32."""
    if not size:
        return ""
    return human(size) if form in (None, FLOAT32) else f"{human(size)} {escape(form)}"


def _advice(report: Mapping[str, Any]) -> list[RenderableType]:
    """The first few suggestions; the page of `report --html` has all of them, with reasons."""
    found = suggestions(Network.of(report))[:SUGGESTIONS]
    if not found:
        return []
    table = plain_table("what to change", "saves")
    for suggestion in found:
        table.add_row(escape(suggestion.title), escape(suggestion.saving))
    return ["", table]


def budget_lines(sizes: Sizes, *, known: bool = False) -> tuple[str, ...]:
    """One sentence for each `Excess`; ``known`` as in `Sizes.excess`."""
    return tuple(
        f"{_where(each)}: {each.needed} bytes needed, {each.allowed} allowed: {each.bytes} too many"
        for each in sizes.excess(known=known)
    )


def _where(excess: Excess) -> str:
    return f"{excess.kind} region {excess.region}" if excess.region else excess.kind


def _memory_row(table: Table, name: str, size: int | None, note: str) -> None:
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


def _time_and_energy(report: Mapping[str, Any]) -> list[str]:
    """What is known of both, each said to be predicted or measured."""
    time, energy = report["time"], report["energy"]
    lines = []
    if time["predicted_ms"] is not None:
        lines.append(f"predicted: {time['predicted_ms']:.3f} ms per run")
    if time.get("cycles_max") is not None:
        lines.append(f"at most: {time['cycles_max']:,} cycles per run, interrupts left out")
    if time["measured_ms"] is not None:
        lines.append(f"measured: {time['measured_ms']:.3f} ms per run")
    if energy["predicted_mj"] is not None:
        lines.append(f"predicted: {energy['predicted_mj']:.3f} mJ per run")
    lines += [
        f"{name}: {source}"
        for name, source in (
            ("time", time.get("source")),
            ("cycles", time.get("cycles_source")),
            ("energy", energy["source"]),
        )
        if source
    ]
    lines += faster_ways(report)
    return ["", *map(escape, lines)] if lines else []


_SUMS = {
    INTEGERS: "sums in int32",
    INT16: "sums in int32 or int64",
    REAL: "sums in int32",
    WIDE_REAL: "sums in int32",
}


def _computed(report: Mapping[str, Any]) -> list[str]:
    """Where layers compute with other numbers than float32, and what that leaves of the network."""
    found = Counter(layer["compute"] for layer in report["layers"] if "compute" in layer)
    accuracy = report["accuracy"]
    sqnr = accuracy["sqnr_db"] if accuracy else None
    cost = "not measured yet" if sqnr is None else f"{sqnr:.1f} dB"
    whole = {name: found.pop(name) for name in IN_WHOLE_NUMBERS if name in found}
    lines = [f"compute: {name} in {count} layer(s), {_SUMS[name]}" for name, count in whole.items()]
    lines += integers_lines(report)
    return lines + [
        f"compute: {name} in {count} layer(s), sums in {HALF if name == HALF else FLOAT}; SQNR of "
        f"the network {cost}"
        for name, count in found.items()
    ]


def winograd(report: Mapping[str, Any]) -> list[str]:
    """What is promised of the outputs where layers are computed by Winograd's algorithm."""
    found = report.get("winograd")
    if not found:
        return []
    measured = "not measured"
    if found["measured"] is not None:
        on = f"{found['samples']} of {found['source']}"
        measured = f"{found['measured']:.1g} when compiling, on {on}"
    promised = f"promised: outputs off by no more than {found['promised']:.1g} of the largest"
    return [f"Winograd's algorithm, {promised}; {measured}"]


def _verified(report: Mapping[str, Any]) -> list[str]:
    accuracy = report["accuracy"]
    if accuracy is None:
        return []
    error, sqnr = accuracy["max_abs_error"], accuracy["sqnr_db"]
    text = f"largest error {error:.3g}" if error is not None else "outputs that are not finite"
    text += f", SQNR {sqnr:.1f} dB" if sqnr is not None else ""
    if accuracy.get("top1_drop") is not None:
        text += f", top-1 {accuracy['top1']:.1%} ({accuracy['top1_drop']:.1%} less than float32)"
    if "source" not in accuracy:
        word = "verified" if accuracy.get("passed", True) else "DIFFERS from the model"
        steps = accuracy.get("steps")
        on = f"{steps} steps in sequence" if steps else f"{accuracy['samples']} input(s)"
        return [f"{word}: {text} on {on}"]
    promised = "" if accuracy["promised"] else "; nothing is promised of other inputs"
    if accuracy.get("confidence") and accuracy.get("at_least_db") is not None:
        least, sure = accuracy["at_least_db"], accuracy["confidence"]
        promised = f"; at least {least:.1f} dB on others like them, with {sure:.0%} confidence"
    lines = [f"accuracy: {text} on {accuracy['samples']} of {accuracy['source']}{promised}"]
    verified = accuracy.get("verified")
    if not accuracy.get("passed", True):
        worst = "not finite" if verified is None else f"{verified:.3g}"
        lines.append(f"DIFFERS from the model with these numbers: worst error {worst}")
    elif verified is not None:
        lines.append(f"verified: every number stored as planned, worst error {verified:.3g}")
    return lines
