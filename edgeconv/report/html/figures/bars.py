"""Charts with a bar for every layer."""

from __future__ import annotations

import plotly.graph_objects as go

from edgeconv.report import stored
from edgeconv.report.html.figures import theme
from edgeconv.report.network import Layer, Network
from edgeconv.report.numbers import exact, significant

_HALF = 0.45  # of a mark, in steps: a little wider than a bar


def time(network: Network) -> go.Figure | None:
    """Predicted and measured side by side, in ms; None when neither is known."""
    bars = [
        theme.layer_bars(network, values, name=name, color=colour, unit="ms")
        for name, colour in (("predicted", theme.PREDICTED), ("measured", theme.MEASURED))
        if any(values := [layer[f"{name}_ms"] for layer in network.layers])
    ]
    return go.Figure(bars, theme.step_bars(network, y="ms", barmode="group")) if bars else None


def energy(network: Network) -> go.Figure | None:
    """In mJ, always predicted; None when it is not."""
    values = [layer["predicted_mj"] for layer in network.layers]
    if not any(values):
        return None
    bars = theme.layer_bars(network, values, name="predicted", color=theme.PREDICTED, unit="mJ")
    return go.Figure(bars, theme.step_bars(network, y="mJ", height=240))


def traffic(network: Network) -> go.Figure | None:
    """Bytes exchanged with the slowest level, and a mark at the fewest that any order exchanges;
    None when nothing is predicted."""
    moved = [network.moved(layer) for layer in network.layers]
    if not any(moved):
        return None
    bounds = [layer["traffic_lower_bound_bytes"] for layer in network.layers]
    name = f"{network.level_name} traffic, predicted"
    bars = theme.layer_bars(network, moved, name=name, color=theme.PREDICTED, unit="bytes")
    bars.hovertext = [_exchanged(network, step) for step in range(len(moved))]
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


def _exchanged(network: Network, step: int) -> str:
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


def sqnr(network: Network) -> go.Figure | None:
    """The SQNR of every result, in dB, and a line at the least allowed at the output; None when
    none is known."""
    values = [layer.get("sqnr_db") for layer in network.layers]
    if all(value is None for value in values):
        return None
    bars = theme.layer_bars(network, values, name="SQNR", color=theme.PEAK, unit="dB")
    bars.hovertext = [
        "" if value is None else f"{text}<br>{theme.hover_name(_stored_as(layer))}"
        for text, value, layer in zip(bars.hovertext, values, network.layers, strict=True)
    ]
    drawn = go.Figure(bars, theme.step_bars(network, y="dB", height=280))
    least = (network.report.get("choice") or {}).get("min_sqnr")
    if least is not None:
        limit = go.Scatter(
            name=f"--min-sqnr {significant(least)} dB, of the output",
            mode="lines",
            x=[-0.6, len(network.layers) - 0.4],
            y=[least, least],
            line={"color": theme.BOUND, "width": 2, "dash": "dash"},
            hoverinfo="skip",
        )
        drawn.add_trace(limit)
    return drawn


def _stored_as(layer: Layer) -> str:
    filters, result = stored.of_filters(layer), stored.of_result(layer)
    return f"filters {filters}, result {result}" if filters else f"result {result}"
