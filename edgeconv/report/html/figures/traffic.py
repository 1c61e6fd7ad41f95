"""Bytes that every layer exchanges with the slowest level, and the fewest that any order does."""

from __future__ import annotations

import plotly.graph_objects as go

from edgeconv.report.html.figures import theme
from edgeconv.report.network import Network
from edgeconv.report.numbers import exact, significant

_HALF = 0.45  # of a mark, in steps: a little wider than a bar


def figure(network: Network) -> go.Figure | None:
    """Bars, and a mark at the lower bound; None when nothing is predicted."""
    moved = [network.moved(layer) for layer in network.layers]
    if not any(moved):
        return None
    bounds = [layer["traffic_lower_bound_bytes"] for layer in network.layers]
    name = f"{network.level_name} traffic, predicted"
    bars = theme.layer_bars(network, moved, name=name, color=theme.PREDICTED, unit="bytes")
    bars.hovertext = [_hover(network, step) for step in range(len(moved))]
    marks = go.Scatter(
        name="lower bound",
        mode="markers",
        x=list(range(len(bounds))),
        y=bounds,
        marker={"symbol": "line-ew", "size": 4, "line": {"width": 2, "color": theme.BOUND}},
        error_x={"type": "constant", "value": _HALF, "thickness": 2, "width": 0}
        | {"color": theme.BOUND},
        hovertext=bars.hovertext,
        hoverinfo="text",
    )
    largest = max(filter(None, [*moved, *bounds]))
    axis = {"range": [0, 1.06 * largest], **theme.byte_ticks(largest)}
    return go.Figure([bars, marks], theme.step_bars(network, y="", yaxis=axis))


def _hover(network: Network, step: int) -> str:
    layer = network.layers[step]
    moved, bound = network.moved(layer), layer["traffic_lower_bound_bytes"]
    lines = [theme.layer_title(step, layer)]
    lines += [
        f"{theme.hover_name(network.called(level))} {exact(count)}"
        for level, count in layer["traffic_bytes"].items()
        if count is not None
    ]
    if bound is not None:
        ratio = f", {significant(moved / bound)} times moved" if moved and bound else ""
        lines.append(f"lower bound {exact(bound)}{ratio}")
    return "<br>".join(lines)
