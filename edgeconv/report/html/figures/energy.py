"""Energy of every layer, which is always predicted."""

from __future__ import annotations

import plotly.graph_objects as go

from edgeconv.report.html.figures import theme
from edgeconv.report.network import Network


def figure(network: Network) -> go.Figure | None:
    """Bars in mJ; None when none is predicted."""
    values = [layer["predicted_mj"] for layer in network.layers]
    if not any(values):
        return None
    bars = theme.layer_bars(network, values, name="predicted", color=theme.PREDICTED, unit="mJ")
    return go.Figure(bars, theme.step_bars(network, y="mJ", height=240))
