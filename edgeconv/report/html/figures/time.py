"""Time of every layer: predicted and measured side by side."""

from __future__ import annotations

import plotly.graph_objects as go

from edgeconv.report.html.figures import theme
from edgeconv.report.network import Network


def figure(network: Network) -> go.Figure | None:
    """Grouped bars in ms; None when neither time is known."""
    bars = [
        theme.layer_bars(network, values, name=name, color=colour, unit="ms")
        for name, colour in (("predicted", theme.PREDICTED), ("measured", theme.MEASURED))
        if any(values := [layer[f"{name}_ms"] for layer in network.layers])
    ]
    if not bars:
        return None
    return go.Figure(bars, theme.step_bars(network, y="ms", barmode="group"))
