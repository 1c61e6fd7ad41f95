"""What all charts have in common.

Colours are the variables of style.css, ``var(--name)``: page.js puts in what they stand for under
the reader's colour scheme, and again when that changes.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from edgeconv.base.names import shortened
from edgeconv.report.network import Layer, Network
from edgeconv.report.numbers import significant

TEXT, MUTED, LINES, PAGE = "var(--text)", "var(--muted)", "var(--line)", "var(--page)"
PREDICTED, MEASURED = "var(--predicted)", "var(--measured)"
BOUND, WORKSPACE, PEAK, CALM = "var(--bound)", "var(--workspace)", "var(--peak)", "var(--calm)"
PARTS = tuple(f"var(--part-{number})" for number in range(1, 9))

HEIGHT = 320
_APART = 6  # pixels: so that labels of both axes at 0 do not lie on one another
CROWDED = 100  # layers from which rectangles get thinner edges
_HOVER_WIDTH, _HOVER_MOST = 56, 280
_LEGEND_WIDTH = 28  # characters
_AXIS = {
    "gridcolor": LINES,
    "linecolor": LINES,
    "zeroline": False,
    "ticks": "",
    "automargin": True,
    "title": {"font": {"size": 12, "color": MUTED}, "standoff": 8},
    "tickfont": {"size": 11, "color": MUTED},
}


def layout(*, x: str, y: str, height: int = HEIGHT, **more: Any) -> go.Layout:
    """A layout with titled axes, the legend above, and everything in the page's colours."""
    base: dict[str, Any] = {
        "template": go.layout.Template(
            layout={"xaxis": _AXIS | {"ticklabelstandoff": _APART}, "yaxis": _AXIS}
        ),
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 32, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": TEXT},
        "hoverlabel": {"bgcolor": PAGE, "bordercolor": MUTED, "align": "left"}
        | {"font": {"color": TEXT, "size": 12}},
        "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": 1, "xanchor": "left", "yanchor": "bottom"}
        | {"traceorder": "normal"},
        "bargroupgap": 0,
        "xaxis": {"title": {"text": x}},
        "yaxis": {"title": {"text": y}},
    }
    return go.Layout(base | more)


def step_bars(network: Network, *, y: str, **more: Any) -> go.Layout:
    """The layout of a chart with bars at every step."""
    return layout(x="", y=y, xaxis=steps_axis(network), bargap=0.25, showlegend=True, **more)


def steps_axis(network: Network, **more: Any) -> dict[str, Any]:
    """An x axis of steps from the first layer to the last."""
    return {
        "title": {"text": "step (layer, in execution order)"},
        "range": [-0.6, len(network.layers) - 0.4],
        "showgrid": False,
        "tickformat": "d",
    } | more


def hover_name(name: str) -> str:
    """A name as Plotly shows it literally: its own mark-up escaped, long ones on several lines."""
    lines = textwrap.wrap(shortened(name, _HOVER_MOST), _HOVER_WIDTH, break_on_hyphens=False)
    return "<br>".join(html.escape(line, quote=False) for line in lines)


def legend_name(name: str) -> str:
    """A name as a legend has it, which breaks no line: within the width of a phone."""
    return html.escape(shortened(name, _LEGEND_WIDTH), quote=False)


def layer_title(step: int, layer: Layer) -> str:
    """The head of what is shown over a layer."""
    return f"<b>{hover_name(layer['name'])}</b><br>step {step}, {hover_name(layer['op'])}"


def layer_bars(network: Network, values: Sequence[float | None], **more: Any) -> go.Bar:
    """One bar per layer; ``unit`` follows the value where the pointer is."""
    unit, name = more.pop("unit"), more["name"]
    hover = [
        ""
        if value is None
        else f"{layer_title(step, layer)}<br>{name} {significant(value, 4)} {unit}"
        for step, (layer, value) in enumerate(zip(network.layers, values, strict=True))
    ]
    return go.Bar(
        x=list(range(len(values))),
        y=list(values),
        hovertext=hover,
        hoverinfo="text",
        marker={"color": more.pop("color"), "line": {"width": 0}},
        **more,
    )


def byte_ticks(largest: int) -> dict[str, Any]:
    """Ticks of an axis of bytes at round multiples of a power of 1024."""
    unit, scale = "bytes", 1
    for name, factor in (("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)):
        if largest >= 2 * factor:
            unit, scale = name, factor
    step = _round_tick(largest / scale / 5)
    ticks = [step * count for count in range(int(largest / scale / step) + 2)]
    return {
        "tickmode": "array",
        "tickvals": [tick * scale for tick in ticks],
        "ticktext": [f"{tick:g} {unit}" for tick in ticks],
    }


def _round_tick(wanted: float) -> float:
    """1, 2 or 5 times a power of ten, at least ``wanted``."""
    power = 1.0
    while power * 10 <= wanted:
        power *= 10
    while power > wanted and power > 1e-3:
        power /= 10
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= wanted)
