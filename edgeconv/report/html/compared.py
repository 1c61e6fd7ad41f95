"""Two reports as one page: their numbers, arenas and layers side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from edgeconv.base.names import path_ends
from edgeconv.report import compare
from edgeconv.report.html.figures import arena, theme
from edgeconv.report.html.page import NAME_WIDTH, rendered
from edgeconv.report.network import Network

_COLOURS = (theme.CALM, theme.PEAK)


def render(first: Mapping[str, Any], second: Mapping[str, Any], names: tuple[str, str]) -> str:
    """The page."""
    networks = Network.of(first), Network.of(second)
    pairs = compare.layers(first, second)
    return rendered(
        "compared.html.j2",
        {
            "first-arena": arena.figure(networks[0]),
            "second-arena": arena.figure(networks[1]),
            "times": _times(networks, names),
        },
        names=names,
        identities=compare.identities(first, second),
        rows=compare.rows(first, second),
        pairs=pairs,
        words=compare.words_of,
        brief=path_ends((pair.name for pair in pairs), NAME_WIDTH),
        document=compare.to_json(first, second),
    )


def _times(networks: tuple[Network, Network], names: tuple[str, str]) -> go.Figure | None:
    """A bar of each for every layer that both or one of them have."""
    times = [
        {layer["name"]: network.time_ms(layer) for layer in network.layers} for network in networks
    ]
    both = list({**times[0], **times[1]})
    if not any(value is not None for each in times for value in each.values()):
        return None
    brief = path_ends(both, NAME_WIDTH)
    bars = [
        go.Bar(
            name=f"{theme.legend_name(name)}, {network.times}",
            x=list(range(len(both))),
            y=[each.get(layer) for layer in both],
            hovertext=[theme.hover_name(brief[layer]) for layer in both],
            hoverinfo="text+y",
            marker={"color": colour, "line": {"width": 0}},
        )
        for network, name, each, colour in zip(networks, names, times, _COLOURS, strict=True)
    ]
    found = go.Figure(bars, theme.layout(x="layer, as in the table", y="ms", showlegend=True))
    found.update_layout(barmode="group", bargap=0.25)
    return found
