"""Every layer under the roofs of the board.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
multicore architectures", CACM 52(4), 2009.
"""

from __future__ import annotations

import math

import plotly.graph_objects as go

from edgeconv.report.html.figures import theme
from edgeconv.report.network import Network, Roof, gflops, speeds
from edgeconv.report.numbers import significant

HEIGHT = 420
_DASHES = ("dot", "dashdot", "longdash", "dash")
_MARKS = (
    ("predicted", theme.PREDICTED, "circle-open"),
    ("measured", theme.MEASURED, "diamond"),
)
_WIDE = 300.0  # from the first to the last value of an axis
_DECADE = 10**0.3  # room left and right of the points


def figure(network: Network) -> go.Figure | None:
    """Points at (operations per byte, GFLOP/s); None without roofs or without a point."""
    roof = network.roof
    intensities = [network.intensity(layer) for layer in network.layers]
    known = [value for value in intensities if value is not None]
    points = [p for name, *how in _MARKS if (p := _points(network, intensities, name, *how))]
    if roof is None or not known or not points:
        return None
    ridge = roof.peak / roof.bandwidth
    left, right = min(*known, ridge) / _DECADE, max(*known, ridge) * _DECADE
    rates = [rate for trace in points for rate in trace.y]
    low = min(*rates, roof.peak / 10) / _DECADE
    axes = {
        "xaxis": _log_axis(f"operations per byte of {network.level_name} traffic", left, right),
        "yaxis": _log_axis("GFLOP/s", low, max(*rates, roof.peak) * _DECADE),
        "showlegend": True,
    }
    roofs = _roofs(network, roof, left, right)
    return go.Figure([*roofs, *points], theme.layout(x="", y="", height=HEIGHT, **axes))


def _points(
    network: Network, intensities: list[float | None], name: str, colour: str, symbol: str
) -> go.Scatter | None:
    some = [
        (step, x, rate)
        for step, (layer, x) in enumerate(zip(network.layers, intensities, strict=True))
        if x is not None and (rate := gflops(layer, layer[f"{name}_ms"]))
    ]
    if not some:
        return None
    return go.Scatter(
        name=name,
        mode="markers",
        x=[x for _, x, _ in some],
        y=[rate for _, _, rate in some],
        marker={"color": colour, "symbol": symbol, "size": 8, "opacity": 0.9},
        customdata=[step for step, _, _ in some],
        hovertext=[
            f"{theme.layer_title(step, network.layers[step])}<br>{name} {significant(rate)} "
            f"GFLOP/s<br>{significant(x)} operations per byte"
            for step, x, rate in some
        ],
        hoverinfo="text",
    )


def _roofs(network: Network, slowest: Roof, left: float, right: float) -> list[go.Scatter]:
    """One line per level, the slowest solid: the only one that the x axis is about."""
    levels = speeds(network.report)
    dashes = iter(_DASHES * len(levels))
    return [
        go.Scatter(
            name=f"{theme.hover_name(name)} {significant(speed)} GB/s",
            mode="lines",
            x=[left, max(left, min(right, slowest.peak / speed)), right],
            y=[
                min(slowest.peak, speed * x)
                for x in (left, max(left, min(right, slowest.peak / speed)), right)
            ],
            line={
                "color": theme.TEXT if name == slowest.level else theme.MUTED,
                "width": 2 if name == slowest.level else 1,
                "dash": "solid" if name == slowest.level else next(dashes),
            },
            hoverinfo="skip",
        )
        for name, speed in levels.items()
    ]


def _log_axis(title: str, low: float, high: float) -> dict[str, object]:
    return {
        "type": "log",
        "title": {"text": theme.hover_name(title)},
        "range": [math.log10(low), math.log10(high)],
        "tickmode": "array",
        "tickvals": (ticks := _log_ticks(low, high)),
        "ticktext": [f"{tick:,g}" for tick in ticks],  # whole: "2" may be 20 on a log axis
        "minor": {"ticks": "", "showgrid": False},
    }


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten in a range, or the powers alone in a wide one."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if high / low < _WIDE else (1,)
    found = [factor * 10.0**decade for decade in decades for factor in factors]
    return [tick for tick in found if low <= tick <= high]
