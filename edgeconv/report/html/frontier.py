"""The frontier as one HTML file: SQNR over flash, RAM and predicted time, and the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from edgeconv.report.frontier import cells, document, formats_of, shown, sqnr_words
from edgeconv.report.html.figures import theme
from edgeconv.report.html.page import rendered
from edgeconv.report.numbers import exact, significant
from edgeconv.search.budget.frontier import Point

HEIGHT = 420
ABOVE = 6.0  # dB between the best finite point and those without noise
NO_NOISE = 100.0  # dB at which those are drawn where there are no others


def figure(points: Sequence[Point]) -> go.Figure:
    """A panel per measure, SQNR upward: every point is in all of them."""
    panels: list[tuple[str, list[float]]] = [
        ("flash", [point.flash for point in points]),
        ("RAM", [point.ram for point in points]),
    ]
    times = [point.ms for point in points if point.ms is not None]
    if points and len(times) == len(points):
        panels.append(("predicted ms", times))
    drawn = make_subplots(cols=len(panels), shared_yaxes=True, horizontal_spacing=0.04)
    drawn.update_layout(theme.layout(x="", y="SQNR, dB", height=HEIGHT, showlegend=False))
    heights = _heights(points)
    for column, (title, values) in enumerate(panels, start=1):
        drawn.add_trace(_marks(points, values, heights), row=1, col=column)
        ticks = {} if title == "predicted ms" else theme.byte_ticks(int(max(values, default=0)))
        drawn.update_xaxes(title_text=title, rangemode="tozero", row=1, col=column, **ticks)
    return drawn


def render(points: Sequence[Point], *, model: str, board: str) -> str:
    """The page."""
    columns = shown(points)
    return rendered(
        "frontier.html.j2",
        {"frontier": figure(points)},
        model=model,
        board=board,
        points=document(points),
        headings=[title for title, _, _ in columns],
        rows=[cells(point, columns) for point in points],
    )


def _heights(points: Sequence[Point]) -> list[float]:
    """SQNR in dB; points without noise stand above all others."""
    finite = [point.sqnr_db for point in points if math.isfinite(point.sqnr_db)]
    top = max(finite) + ABOVE if finite else NO_NOISE
    return [min(point.sqnr_db, top) for point in points]


def _marks(points: Sequence[Point], values: Sequence[float], heights: Sequence[float]) -> Any:
    noiseless = [not math.isfinite(point.sqnr_db) for point in points]
    return go.Scatter(
        mode="markers",
        x=list(values),
        y=list(heights),
        marker={
            "color": [theme.CALM if each else theme.PEAK for each in noiseless],
            "symbol": ["diamond-open" if each else "circle" for each in noiseless],
            "size": 9,
            "opacity": 0.9,
        },
        hovertext=[_hover(point) for point in points],
        hoverinfo="text",
    )


def _hover(point: Point) -> str:
    weights, outputs = formats_of(point.formats)
    unit = " dB" if math.isfinite(point.sqnr_db) else ""
    lines = [
        f"<b>SQNR {sqnr_words(point.sqnr_db)}{unit}</b>",
        f"RAM {exact(point.ram)}",
        f"flash {exact(point.flash)}",
        f"predicted {significant(point.ms)} ms" if point.ms is not None else "",
        f"predicted {significant(point.mj)} mJ" if point.mj is not None else "",
        f"weights: {weights}" if weights else "",
        f"activations: {outputs}" if outputs else "",
    ]
    return "<br>".join(filter(None, lines))
