"""SQNR of every layer's result, where it was measured."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from edgeconv.report import stored
from edgeconv.report.html.figures import theme
from edgeconv.report.network import Network
from edgeconv.report.numbers import significant

HEIGHT = 280


def figure(network: Network) -> go.Figure | None:
    """Bars in dB, a line at the least allowed at the output; None when none is known."""
    values = [layer.get("sqnr_db") for layer in network.layers]
    if all(value is None for value in values):
        return None
    bars = theme.layer_bars(network, values, name="SQNR", color=theme.PEAK, unit="dB")
    bars.hovertext = [
        "" if value is None else f"{text}<br>{theme.hover_name(_stored_as(layer))}"
        for text, value, layer in zip(bars.hovertext, values, network.layers, strict=True)
    ]
    drawn = go.Figure(bars, theme.step_bars(network, y="dB", height=HEIGHT))
    least = (network.report.get("choice") or {}).get("min_sqnr")
    if least is not None:
        drawn.add_trace(_limit(network, least))
    return drawn


def _stored_as(layer: Any) -> str:
    filters, result = stored.of_filters(layer), stored.of_result(layer)
    return f"filters {filters}, result {result}" if filters else f"result {result}"


def _limit(network: Network, least: float) -> go.Scatter:
    return go.Scatter(
        name=f"--min-sqnr {significant(least)} dB, of the output",
        mode="lines",
        x=[-0.6, len(network.layers) - 0.4],
        y=[least, least],
        line={"color": theme.BOUND, "width": 2, "dash": "dash"},
        hoverinfo="skip",
    )
