"""The arena as a map: time across, addresses upward, one rectangle per tensor.

Rectangles may lie over one another, where a layer writes over what it reads.  Names are in
invisible ones above all, each as large as what is seen of its tensor: none is cut or covered.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from edgeconv.base.names import path_ends
from edgeconv.report.html.figures import theme
from edgeconv.report.network import Network
from edgeconv.report.numbers import exact, size
from edgeconv.report.occupancy import Entry, is_workspace

LABEL_WIDTH, LABEL_SIZE = 20, 10  # of a name on the map: characters, and pixels of a letter
NAMES = "names"  # of the trace that has them
HEIGHT, MORE_HEIGHT = 440, 200  # of one bank; of every further one
_KINDS = (
    ("tensor", theme.CALM, ""),
    ("live at the memory peak", theme.PEAK, ""),
    ("workspace", theme.WORKSPACE, "/"),
)


Box = tuple[float, float, float, float]  # left, right; low, high


def figure(network: Network) -> go.Figure | None:
    """One panel per bank; None when the report has no map."""
    names = list(network.used)
    if not names:
        return None
    height = HEIGHT + MORE_HEIGHT * (len(names) - 1)
    drawn = make_subplots(rows=len(names), shared_xaxes=True, vertical_spacing=0.09)
    drawn.update_layout(theme.layout(x="", y="", height=height))
    for row, (bank, used) in enumerate(network.used.items(), start=1):
        inside = [entry for entry in network.report["arena_map"] if entry["bank"] == bank]
        at_peak = {id(entry) for entry in used.at_peak}
        above: list[Entry] = []  # in the order of drawing
        for number, (kind, colour, shape) in enumerate(_KINDS):
            some = [entry for entry in inside if _kind(entry, at_peak) == number]
            some.sort(key=lambda entry: -entry["bytes"])  # what lies within others on top
            above += some
            if some:
                drawn.add_trace(_rectangles(network, some, kind, colour, shape), row=row, col=1)
        drawn.add_trace(_names(network, above), row=row, col=1)
        _bank_axis(drawn, network, bank, inside, row, alone=len(names) == 1)
    last = len(network.layers)
    drawn.update_xaxes(theme.steps_axis(network, range=[-1.6, last + 0.6], title=None))
    drawn.update_xaxes(title_text="step (layer, in execution order)", row=len(names), col=1)
    # A name that does not fit is left out rather than made too small to read.
    drawn.update_layout(barmode="overlay", bargap=0)
    drawn.update_layout(uniformtext={"minsize": LABEL_SIZE, "mode": "hide"})
    _one_legend_entry_each(drawn)
    return drawn


def _kind(entry: Entry, at_peak: set[int]) -> int:
    return 2 if is_workspace(entry) else int(id(entry) in at_peak)


def _rectangles(
    network: Network, entries: list[Entry], kind: str, colour: str, shape: str
) -> go.Bar:
    """Bars that float: from ``offset`` upward, as wide as the lifetime."""
    return go.Bar(
        name=kind,
        legendgroup=kind,
        x=[(entry["first"] + entry["last"]) / 2 for entry in entries],
        width=[entry["last"] - entry["first"] + 1 for entry in entries],
        base=[entry["offset"] for entry in entries],
        y=[entry["bytes"] for entry in entries],
        marker={
            "color": colour,
            "line": {
                "color": theme.PAGE,
                "width": 1 if len(network.layers) <= theme.CROWDED else 0.5,
            },
            "pattern": {"shape": shape, "size": 5, "fgcolor": theme.PAGE},
        },
        customdata=[_written_at(network, entry) for entry in entries],
        hovertext=[_hover(network, entry) for entry in entries],
        hoverinfo="text",
    )


def _names(network: Network, entries: list[Entry]) -> go.Bar:
    """The names of tensors, each over the largest part of its rectangle that none of those drawn
    later covers, as invisible bars: Plotly leaves out what does not fit into one."""
    labels = _labels(network)
    boxes = [_box(entry) for entry in entries]
    seen = [
        (entry, largest_uncovered(box, boxes[number + 1 :]))
        for number, (entry, box) in enumerate(zip(entries, boxes, strict=True))
    ]
    shown = [(entry, box) for entry, box in seen if box and not is_workspace(entry)]
    return go.Bar(
        name=NAMES,
        showlegend=False,
        hoverinfo="skip",
        marker={"color": "rgba(0,0,0,0)", "line": {"width": 0}},
        text=[labels[entry["name"]] for entry, _ in shown],
        textposition="inside",
        insidetextanchor="middle",
        constraintext="inside",
        textangle=0,
        insidetextfont={"size": LABEL_SIZE, "color": theme.PAGE},
        x=[(left + right) / 2 for _, (left, right, _, _) in shown],
        width=[right - left for _, (left, right, _, _) in shown],
        base=[low for _, (_, _, low, _) in shown],
        y=[high - low for _, (_, _, low, high) in shown],
    )


def _box(entry: Entry) -> Box:
    low = float(entry["offset"])
    return entry["first"] - 0.5, entry["last"] + 0.5, low, low + entry["bytes"]


def largest_uncovered(box: Box, above: Sequence[Box]) -> Box | None:
    """The largest rectangle within ``box`` that none of those ``above`` touches; None where they
    hide all of it."""
    left, right, low, high = box
    over = [
        (max(left, x0), min(right, x1), max(low, y0), min(high, y1))
        for x0, x1, y0, y1 in above
        if x0 < right and x1 > left and y0 < high and y1 > low
    ]
    xs = sorted({left, right, *(x for one in over for x in one[:2])})
    ys = sorted({low, high, *(y for one in over for y in one[2:])})
    best, most = None, 0.0
    for x0, x1 in itertools.combinations(xs, 2):
        beside = [one for one in over if one[0] < x1 and one[1] > x0]
        marks = [low, *sorted({y for one in beside for y in one[2:]}), high]
        for y0, y1 in itertools.combinations(marks if beside else ys[:: len(ys) - 1], 2):
            area = (x1 - x0) * (y1 - y0)
            if area > most and all(one[2] >= y1 or one[3] <= y0 for one in beside):
                best, most = (x0, x1, y0, y1), area
    return best


def _labels(network: Network) -> dict[str, str]:
    """By tensor: the end of its name where that fits and tells it, else what writes it."""
    entries = [one for one in network.report["arena_map"] if not is_workspace(one)]
    brief = path_ends((one["name"] for one in entries), LABEL_WIDTH)
    found = {}
    for entry in entries:
        name, step = entry["name"], entry["first"]
        told = name.endswith(brief[name])
        written = 0 <= step < len(network.layers)
        text = brief[name] if told or not written else f"{step} {network.layers[step]['op']}"
        found[name] = theme.hover_name(text)
    return found


def _written_at(network: Network, entry: Entry) -> int:
    """The step of the layer that writes it, for a click that leads to its row; -1 for none."""
    return max(-1, entry["first"]) if entry["layer"] is not None else -1


def _hover(network: Network, entry: Entry) -> str:
    first, last = entry["first"], entry["last"]
    writer = entry["layer"]
    lines = [
        f"<b>{theme.hover_name(entry['name'])}</b>",
        f"written by {theme.hover_name(writer)}" if writer is not None else "filled by the caller",
        exact(entry["bytes"]),
        f"addresses {entry['offset']:,} to {entry['offset'] + entry['bytes'] - 1:,}",
        f"live {_lifetime(first, last, len(network.layers))}",
    ]
    if is_workspace(entry):
        del lines[1]
    return "<br>".join(lines)


def _lifetime(first: int, last: int, layers: int) -> str:
    begin = "from before the run" if first < 0 else f"from step {first}"
    end = "until after the run" if last >= layers else f"to step {last}"
    return f"in step {first}" if first == last and 0 <= first < layers else f"{begin} {end}"


def _bank_axis(
    drawn: go.Figure, network: Network, bank: str, entries: list[Entry], row: int, *, alone: bool
) -> None:
    """The addresses of one bank, and the line below which it cannot be."""
    highest = max(entry["offset"] + entry["bytes"] for entry in entries)
    if alone:
        bound, words = network.report["ram"]["arena_lower_bound"], "lower bound"
    else:
        bound, words = network.used[bank].peak_bytes, "most that is live"
    title = "address in the arena" if alone else f"address in {theme.hover_name(bank)}"
    top = 1.06 * max(highest, bound)
    drawn.update_yaxes(range=[0, top], row=row, col=1, **theme.byte_ticks(int(top)))
    drawn.update_yaxes(title_text=title, row=row, col=1)
    line = {"color": theme.BOUND, "width": 1.5, "dash": "dash"}
    drawn.add_hline(y=bound, line=line, row=row, col=1)
    where = "" if alone else f" in {theme.hover_name(bank)}"
    said = go.Scatter(  # in the legend: beside its line there is no place that is always free
        name=f"{words}{where}: {size(bound)}", mode="lines", x=[None], y=[None], line=line
    )
    drawn.add_trace(said, row=row, col=1)


def _one_legend_entry_each(drawn: go.Figure) -> None:
    """Every kind once in the legend, whichever banks it appears in."""
    seen: set[Any] = set()
    for trace in drawn.data:
        trace.showlegend = trace.name not in seen and trace.name != NAMES
        seen.add(trace.name)
