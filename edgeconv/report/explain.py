"""Every choice and the numbers behind it, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from edgeconv.base.errors import UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.ir.choice import Choice, Layer
from edgeconv.ir.graph import Graph, Node, Tensor
from edgeconv.ir.memory import MemoryMap, Place, Region
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.report.fusion import fusion
from edgeconv.report.integers import float32_lines, integers_lines
from edgeconv.report.movement import movement
from edgeconv.report.movement_text import convolution_tables
from edgeconv.report.narrow_tables import plain_table
from edgeconv.report.regions import extent
from edgeconv.report.slicing import slicing
from edgeconv.report.text import winograd
from edgeconv.search.choose.prices import algorithms_of
from edgeconv.search.memory.workspace_limits import covered
from edgeconv.target.targets import Target

Document = dict[str, Any]


def explain(
    choice: Choice,
    memory: MemoryMap,
    report: Mapping[str, Any],
    target: Target,
    layer: str = "",
    threads: int | None = None,
) -> Document:
    """Layers in execution order with candidates, data movement, tensors, aliases and who streams
    rows with the next; and the memory peak.

    ``layer`` restricts the layers to the one of that name or, where none has it, of that number;
    EdgeconvError (exit status 2) when there is none.  ``threads`` adds bounds for so many
    processors.
    """
    entries = report["layers"]
    steps = [_selected(entries, layer)] if layer else range(len(entries))
    streamed = fusion(choice, target)
    rows = [
        {
            **entries[step],
            **_layer(choice, memory, target, step),
            **_convolution(choice, target, memory.order[step], threads),
            "streaming": streamed.get(memory.order[step]),
        }
        for step in steps
    ]
    return {
        "model": report["model"],
        "board": report["board"],
        "isa": report["isa"],
        "ram": report["ram"],
        "flash": report["flash"],
        **{name: report[name] for name in ("winograd", "search", "integers") if name in report},
        "arena": {
            "bytes": memory.arena_bytes,
            "lower_bound": memory.lower_bound,
            "optimal": memory.optimal,
            "order_changed": memory.order != tuple(sorted(memory.order)),
            "banks": [asdict(bank) for bank in memory.banks],
            "peak": _peak(choice, memory),
        },
        "layers": rows,
    }


def _selected(rows: Sequence[Mapping[str, Any]], layer: str) -> int:
    """The step of the layer."""
    by_name = {row["name"]: step for step, row in enumerate(rows)}
    if layer in by_name:
        return by_name[layer]
    if layer.isdecimal() and int(layer) < len(rows):
        return int(layer)
    hint = did_you_mean(layer, by_name)
    rule = f"a layer has a name, and a number from 0 to {len(rows) - 1}" if rows else ""
    raise UsageError("no such layer", got=repr(layer), rule=rule, hint=hint)


def render(document: Mapping[str, Any]) -> Group:
    """The document for people."""
    arena = document["arena"]
    proof = "proven minimal for its order" if arena["optimal"] else "no smaller one was found"
    order = "changed to lower the peak" if arena["order_changed"] else "the model's own"
    head = [
        (
            f"[bold]{escape(document['model']['name'])}[/] for board {escape(document['board'])} "
            f"({escape(document['isa'])}): {document['model']['macs']:,} multiply-accumulates"
        ),
        f"arena: {arena['bytes']:,} bytes (lower bound {arena['lower_bound']:,}; {proof})",
        *_bank_lines(arena["banks"]),
        f"execution order: {order}",
        *_search_lines(document),
        *winograd(document),
        *integers_lines(document),
        *float32_lines(document["layers"]),
    ]
    lines: list[RenderableType] = [*head, "", *_peak_lines(arena["peak"])]
    for layer in document["layers"]:
        lines += ["", *_layer_lines(layer)]
    return Group(*lines)


def _search_lines(document: Mapping[str, Any]) -> list[str]:
    """How near to the best its layouts and algorithms are."""
    if "search" not in document:
        return []
    found = document["search"]
    size = f"{found['nodes']} nodes and {found['edges']} edges, {found['left_nodes']} and "
    size += f"{found['left_edges']} after exact reductions"
    gap = found["gap"]
    best = f"at most {gap:.1%} from the best" if gap else "the best there is, as predicted"
    return [f"algorithms and layouts: {best} ({size})"]


def _bank_lines(banks: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each memory that the arena was planned for, where any was given."""
    return [
        f"  in {bank['name']}: {bank['bytes']:,} of {bank['capacity']:,} bytes"
        for bank in banks
        if bank["capacity"] is not None
    ]


def _layer(choice: Choice, memory: MemoryMap, target: Target, step: int) -> Document:
    index = memory.order[step]
    layer = choice.layers[index]
    node, graph = layer.node, choice.graph
    epilogue = node.epilogue
    return {
        "step": step,
        "origin": list(node.origin),
        "epilogue": {
            "before": str(epilogue.before),
            "residual": epilogue.residual or None,
            "after": str(epilogue.after),
        },
        "candidates": _candidates(node, choice.graph, target),
        "reads": [_tensor(graph[n], memory) for n in node.reads() if not graph[n].is_constant],
        "writes": [_tensor(graph[name], memory) for name in node.outputs if name],
        "aliases": _aliases(layer, index, memory),
        "workspace_offset": memory.workspaces[index].offset if index in memory.workspaces else None,
    }


def _convolution(choice: Choice, target: Target, index: int, threads: int | None) -> Document:
    """What is known of convolutions only; null for other layers."""
    layer = choice.layers[index]
    shares = {step.layers[0]: step.shares for step in choice.steps if not step.stream_rows}
    return {
        "movement": movement(layer, choice.graph, target, threads, shares.get(index, ())),
        "slicing": slicing(layer.node, choice.graph, target),
    }


def _candidates(node: Node, graph: Graph, target: Target) -> list[Document]:
    """The algorithms that could compute a convolution, cheapest first, with what `choose` compares:
    microseconds where the board states a clock and a rate."""
    if node.op != "Conv":
        return []
    return [
        {"algorithm": name, "price_us": 1e6 * seconds}
        for name, seconds in algorithms_of(node, graph, target).items()
    ]


def _tensor(tensor: Tensor, memory: MemoryMap) -> Document:
    place = memory.places[tensor.name]
    return {
        "name": tensor.name,
        "shape": list(tensor.shape),
        "layout": str(tensor.layout),
        "storage": str(tensor.storage) if tensor.dtype == FLOAT32 else tensor.dtype,
        "region": place.region.value,
        "bank": memory.banks[place.bank].name if place.region is Region.ARENA else None,
        **extent(place),
    }


def _aliases(layer: Layer, index: int, memory: MemoryMap) -> list[Document]:
    return [
        {
            "inner": alias.inner,
            "outer": alias.outer,
            "offset": alias.offset,
            "kind": "view" if alias.exact else "in place",
            "granted": (index, number) in memory.granted,
        }
        for number, alias in enumerate(layer.aliases)
    ]


def _peak(choice: Choice, memory: MemoryMap) -> Document:
    """The first step at which most bytes of the arena are live, and what is live then."""
    steps = range(-1, len(memory.order) + 1)
    live = {step: _live(choice, memory, step) for step in steps}
    step = max(steps, key=lambda s: (covered(live[s].values(), memory.align), -s))
    names = sorted(live[step], key=lambda n: (live[step][n].bank, live[step][n].offset, n))
    inside = 0 <= step < len(memory.order)
    return {
        "step": step,
        "layer": choice.layers[memory.order[step]].node.name if inside else None,
        "bytes": covered(live[step].values(), memory.align),
        "live": [
            {
                "name": name,
                "bank": memory.banks[live[step][name].bank].name,
                **extent(live[step][name]),
            }
            for name in names
        ],
    }


def _live(choice: Choice, memory: MemoryMap, step: int) -> dict[str, Place]:
    places = dict(memory.places)
    for index, place in memory.workspaces.items():
        places[f"workspace of {choice.layers[index].node.name}"] = place
    return {
        name: place
        for name, place in places.items()
        if place.region is Region.ARENA and place.bytes and place.first <= step <= place.last
    }


def _peak_lines(peak: Mapping[str, Any]) -> list[RenderableType]:
    at = f"step {peak['step']}, {escape(peak['layer'])}" if peak["layer"] else "between runs"
    table = plain_table(">offset", ">bytes", "steps", "live at the peak")
    table.columns[3].overflow = "fold"
    for row in peak["live"]:
        lives = f"{row['first']} to {row['last']}"
        bank = "" if row["bank"] == "arena" else f"{row['bank']} + "
        offset = f"{bank}{row['offset']:,}"
        table.add_row(offset, f"{row['bytes']:,}", lives, escape(row["name"]))
    return [f"memory peak: {peak['bytes']:,} bytes at {at}", table]


def _layer_lines(layer: Mapping[str, Any]) -> list[RenderableType]:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("algorithm", f"{layer['algorithm']}{_pairs(layer['plan'])}")
    if layer["candidates"]:
        costs = (f"{c['algorithm']} {c['price_us']:,.1f}" for c in layer["candidates"])
        table.add_row("candidates", f"{', '.join(costs)} (us)")
    words = [layer["epilogue"][key] for key in ("before", "residual", "after")]
    fused = [escape(word) for word in words if word not in (None, "none")]
    if fused:
        table.add_row("fused", ", ".join(fused))
    if layer["streaming"]:
        table.add_row("row streaming", _streaming_line(layer["streaming"]))
    for label, key in (("reads", "reads"), ("writes", "writes")):
        for tensor in layer[key]:
            table.add_row(label, _tensor_line(tensor))
    for alias in layer["aliases"]:
        granted = "granted" if alias["granted"] else "not possible, copied"
        inner, outer = escape(alias["inner"]), escape(alias["outer"])
        table.add_row(alias["kind"], f"{inner} in {outer} + {alias['offset']}: {granted}")
    numbers = {key: layer[key] for key in ("macs", "weight_bytes", "workspace_bytes")}
    texts = [f"{value:,} {key.replace('_', ' ')}" for key, value in numbers.items() if value]
    if texts:
        table.add_row("size", "; ".join(texts).replace("macs", "MACs"))
    origin = [name for name in layer["origin"] if name != layer["name"]]
    title = f"[bold]{layer['step']}: {layer['op']} {escape(layer['name'])}[/]"
    title += f" [dim](of {escape(', '.join(origin))})[/]" if origin else ""
    return [title, table, *convolution_tables(layer)]


def _streaming_line(streamed: Mapping[str, Any]) -> str:
    """Whether a layer streams rows to the next one, and what that changes."""
    other, rows, change = escape(streamed["next"]), streamed["stream_rows"], streamed["change"]
    who = (
        f"with {other}, {rows} row(s) of the last result at a time" if rows else f"not with {other}"
    )
    predicted = "" if change is None else f" (time predicted: {100 * change:+.1f} %)"
    return f"{who}: {escape(streamed['why'])}{predicted}"


def _pairs(plan: Mapping[str, Any]) -> str:
    return f" ({', '.join(f'{key} {value}' for key, value in plan.items())})" if plan else ""


def _tensor_line(tensor: Mapping[str, Any]) -> str:
    shape = "x".join(map(str, tensor["shape"])) or "scalar"
    where = f"{tensor['bank'] or tensor['region']} + {tensor['offset']:,}"
    return f"{escape(tensor['name'])}: {shape} {tensor['layout']} {tensor['storage']}, {where}"
