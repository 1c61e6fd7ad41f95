"""Programs side by side as one page: a bar for each in every measure, and their layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from edgeconv.base.names import path_ends
from edgeconv.report.against import text
from edgeconv.report.against.figures import (
    MEASURES,
    Figures,
    Measure,
    beaten_by,
    best,
    measures_of,
    ratio,
)
from edgeconv.report.html.figures import theme
from edgeconv.report.html.page import NAME_WIDTH, rendered
from edgeconv.report.numbers import milliseconds

_FEWEST_DRAWN = 3  # programs: of two the bars say everything
_SYMBOLS = ("star", "circle", "square", "diamond", "cross", "triangle-up", "x", "hexagon")
HEIGHT = 360


@dataclass(frozen=True, slots=True)
class Bar:
    """A program in a measure.  ``times``: how often the first's; ``percent``: of the longest."""

    name: str
    value: str
    times: str
    percent: float
    is_best: bool


@dataclass(frozen=True, slots=True)
class LayerTimes:
    """The times of a layer in every program that has layers; a dash where none is called so."""

    name: str
    times: tuple[str, ...]


def render(programs: Sequence[Figures]) -> str:
    """The page; the first program is what the others are compared with."""
    measures = measures_of(programs)
    layers = layer_times(programs)
    return rendered(
        "against.html.j2",
        {"ram-time": _trade(programs, MEASURES[0]), "flash-time": _trade(programs, MEASURES[1])},
        programs=programs,
        bars={one.title: bars(one, programs) for one in measures},
        sentences=list(filter(None, (text.sentence(each, programs[0]) for each in programs[1:]))),
        measures=measures,
        shown=text.shown,
        notes=text.notes(programs),
        front=[each.name for each in programs if beaten_by(each, programs) is None],
        layers=layers,
        timed=[each.name for each in programs if each.layers],
        brief=path_ends((one.name for one in layers), NAME_WIDTH),
        document=text.to_json(programs),
    )


def bars(measure: Measure, programs: Sequence[Figures]) -> list[Bar]:
    """One for every program that has the measure."""
    known = [(each.name, value) for each in programs if (value := each.known(measure)) is not None]
    longest = max((value for _, value in known), default=0.0)
    first, top = programs[0].known(measure), best(measure, programs)
    return [
        Bar(
            name,
            measure.show(value),
            ""
            if (factor := ratio(measure, value, first)) is None or name == programs[0].name
            else text.times(factor),
            max(0.0, 100 * value / longest) if longest > 0 else 0.0,
            value == top,
        )
        for name, value in known
    ]


def layer_times(programs: Sequence[Figures]) -> list[LayerTimes]:
    """The layers of the first program that names some, and then those that only others have."""
    timed = [each for each in programs if each.layers]
    if len(timed) < 2:  # nothing to compare
        return []
    names = dict.fromkeys(name for each in timed for name in each.layers)
    return [
        LayerTimes(
            name,
            tuple(
                milliseconds(each.layers[name]) if name in each.layers else text.UNKNOWN
                for each in timed
            ),
        )
        for name in names
    ]


def _trade(programs: Sequence[Figures], measure: Measure) -> go.Figure | None:
    """Time over a measure of bytes, a mark for each program, named in the legend: a name beside
    its mark would lie on others."""
    time = next(one for one in MEASURES if one.key == "time_ms")
    drawn = [
        (number, each, x, y)
        for number, each in enumerate(programs)
        if (x := each.known(measure)) is not None and (y := each.known(time)) is not None
    ]
    if len(drawn) < _FEWEST_DRAWN:
        return None
    marks = [
        go.Scatter(
            name=theme.legend_name(each.name),
            mode="markers",
            x=[x],
            y=[y],
            marker={
                "symbol": _SYMBOLS[number % len(_SYMBOLS)],
                "size": 13,
                "color": theme.PARTS[number % len(theme.PARTS)],
                "line": {"width": 1, "color": theme.PAGE},
            },
            hovertext=[
                "<br>".join(
                    (
                        f"<b>{theme.hover_name(each.name)}</b>",
                        f"{measure.title} {measure.show(x)}",
                        f"{milliseconds(y)} a run",
                    )
                )
            ],
            hoverinfo="text",
        )
        for number, each, x, y in drawn
    ]
    largest = max(x for _, _, x, _ in drawn)
    layout = theme.layout(x=measure.title, y="ms a run", height=HEIGHT, showlegend=True)
    figure = go.Figure(marks, layout)
    figure.update_xaxes(range=[-0.04 * largest, 1.08 * largest], **theme.byte_ticks(int(largest)))
    slowest = max(y for _, _, _, y in drawn)
    figure.update_yaxes(range=[-0.06 * slowest, 1.1 * slowest])
    return figure
