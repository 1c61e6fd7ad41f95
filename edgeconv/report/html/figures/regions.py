"""Who takes what of every memory region: one bar each, full at its size."""

from __future__ import annotations

import plotly.graph_objects as go

from edgeconv.base.sizes import human
from edgeconv.report.html.figures import theme
from edgeconv.report.html.memory import PART_NAMES, Region, regions
from edgeconv.report.network import Network
from edgeconv.report.numbers import share, size

_COLOURS = dict(zip(PART_NAMES, theme.PARTS, strict=True))
_ROW, _REST = 46, 56  # height of one bar; of the axis
_EMPTY = 15.0  # percent of the fullest region


def figure(network: Network) -> go.Figure | None:
    """Stacked bars in percent of the region's size, or of what is used where it has none."""
    found = [region for region in regions(network.report) if region.used]
    if not found:
        return None
    bars = [_part(found, name, colour) for name, colour in _COLOURS.items()]
    most = max(100.0 * region.used / _whole(region) for region in found)
    layout = theme.layout(
        x="",
        y="",
        height=_ROW * len(found) + _REST,
        barmode="stack",
        showlegend=False,  # the page has one that wraps
        margin={"l": 8, "r": 8, "t": 4, "b": 8},
        xaxis={"range": [0, _shown(most)], "ticksuffix": " %"}
        | {"title": {"text": "share of the region"}},
        yaxis={"autorange": "reversed", "showgrid": False},
        shapes=[_full(most)] if most > 100 else [],
    )
    return go.Figure([bar for bar in bars if any(bar.x)], layout)


def _shown(most: float) -> float:
    """The end of the axis, in percent: the whole of a region, unless all of them are so empty that
    nothing could be told apart."""
    return 1.1 * most if most < _EMPTY else max(101.0, 1.02 * most)


def _part(found: list[Region], name: str, colour: str) -> go.Bar:
    counts = [region.parts.get(name) or 0 for region in found]
    return go.Bar(
        name=name,
        orientation="h",
        y=[_label(region) for region in found],
        x=[100 * count / _whole(region) for count, region in zip(counts, found, strict=True)],
        marker={"color": colour, "line": {"color": theme.PAGE, "width": 1}},
        hovertext=[
            f"<b>{theme.hover_name(region.name)}</b><br>{name} {size(count)}"
            f"<br>{share(count, _whole(region))} of {human(_whole(region))}"
            for count, region in zip(counts, found, strict=True)
        ],
        hoverinfo="text",
    )


def _label(region: Region) -> str:
    name = theme.hover_name(region.name)
    return f"{name}<br>{human(region.size)}" if region.size is not None else name


def _whole(region: Region) -> int:
    return region.size or region.used


def _full(most: float) -> dict[str, object]:
    line = {"color": theme.BOUND, "width": 2, "dash": "dash"}
    return {"type": "line", "x0": 100, "x1": 100, "y0": 0, "y1": 1, "yref": "paper", "line": line}
