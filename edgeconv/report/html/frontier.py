"""The frontier as one HTML file: SQNR over flash, RAM and predicted time, and the table.

Four measures do not fit into one picture.  There is one for each that costs something, all with
SQNR upward: the line is what is best in these two, fainter points are better elsewhere, and letters
mark a few points in all pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from edgeconv.base.sizes import human
from edgeconv.report.frontier import cells, document, formats_of, shown, sqnr_words
from edgeconv.report.html.figures import theme
from edgeconv.report.html.page import rendered
from edgeconv.report.numbers import exact, millijoules, milliseconds
from edgeconv.search.budget.frontier import Point

HEIGHT = 340
ABOVE = 6.0  # dB between the best finite point and those without noise
NO_NOISE = 100.0  # dB at which those are drawn where there are no others
USABLE, ENOUGH = 20.0, 60.0  # dB: what is rounded to less is nobody's first choice; to more, alike
_MARK, _FAINT = 20, 0.35  # pixels of a letter's mark; opacity of what is better elsewhere
_NEAR = (0.09, 0.08)  # of an axis, nearer marks would lie on one another


@dataclass(frozen=True, slots=True)
class Panel:
    """A measure that SQNR is drawn over.  ``cost``: what a point takes of it."""

    id: str
    title: str
    cost: Callable[[Point], float | None]


@dataclass(frozen=True, slots=True)
class Pick:
    """A point that is pointed out.  ``why``: what it is best at."""

    letter: str
    why: str
    point: Point


PANELS = (
    Panel("front-flash", "flash", lambda point: point.flash),
    Panel("front-ram", "RAM", lambda point: point.ram),
    Panel("front-time", "predicted ms a run", lambda point: point.ms),
)


def figures(points: Sequence[Point]) -> dict[str, go.Figure]:
    """By the id of its place a picture per measure that is known of every point."""
    chosen = picks(points)
    known = [one for one in PANELS if points and all(one.cost(p) is not None for p in points)]
    return {panel.id: _figure(panel, points, chosen) for panel in known}


def render(points: Sequence[Point], *, model: str, board: str) -> str:
    """The page."""
    columns = shown(points)
    drawn, chosen = figures(points), picks(points)
    letters = {id(pick.point): pick.letter for pick in chosen}
    return rendered(
        "frontier.html.j2",
        drawn,
        model=model,
        board=board,
        panels=[panel for panel in PANELS if panel.id in drawn],
        points=document(points),
        headings=[title for title, _, _ in columns],
        rows=[(letters.get(id(point), ""), cells(point, columns)) for point in points],
        picks=[(pick, cells(pick.point, columns)[:-2]) for pick in chosen],
    )


def picks(points: Sequence[Point]) -> list[Pick]:
    """A few points to choose from, each best at something."""
    if not points:
        return []
    usable = [point for point in points if point.sqnr_db >= USABLE] or list(points)
    timed = [point for point in usable if point.ms is not None]
    found = [("most accurate", min(points, key=lambda p: (-p.sqnr_db, p.ms or 0, p.flash)))]
    if timed:
        found.append(("fastest", min(timed, key=lambda p: (p.ms, -p.sqnr_db))))
    found += [
        ("least flash", min(usable, key=lambda p: (p.flash, -p.sqnr_db))),
        ("least RAM", min(usable, key=lambda p: (p.ram, -p.sqnr_db))),
        ("balanced", min(usable, key=lambda p: _distance(p, usable))),
    ]
    reasons: dict[int, list[str]] = {}
    for why, point in found:
        reasons.setdefault(id(point), []).append(why)
    by_id = {id(point): point for _, point in found}
    return [
        Pick(letter, ", ".join(why), by_id[key])
        for letter, (key, why) in zip("ABCDE", reasons.items(), strict=False)
    ]


def _distance(point: Point, points: Sequence[Point]) -> float:
    """How far a point is from the best of the points in every measure at once: a doubling of bytes
    or time counts as much as 6 dB of error, and beyond ``ENOUGH`` nobody sees the error."""
    costs = [panel.cost for panel in PANELS if all(panel.cost(p) for p in points)]
    doublings = (
        math.log2((cost(point) or 1) / min(cost(p) or 1 for p in points)) for cost in costs
    )
    return sum(doublings) + max(0.0, ENOUGH - point.sqnr_db) / (20 * math.log10(2))


def _figure(panel: Panel, points: Sequence[Point], chosen: Sequence[Pick]) -> go.Figure:
    costs = [panel.cost(point) or 0.0 for point in points]
    heights = _heights(points)
    places = dict(zip(map(id, points), zip(costs, heights, strict=True), strict=True))
    best = front(list(zip(costs, heights, strict=True)))
    right, top = 1.08 * max(costs), max(heights) + ABOVE
    low = min(0.0, *heights)
    bytes_of = panel.id != PANELS[-1].id
    ticks: dict[str, Any] = theme.byte_ticks(int(max(costs))) if bytes_of else {"nticks": 6}
    drawn = go.Figure(
        [
            _line(best, right),
            _marks(points, costs, heights, set(best)),
            _letters([(pick.letter, *places[id(pick.point)]) for pick in chosen], right, top - low),
        ],
        theme.layout(x=panel.title, y="SQNR, dB", height=HEIGHT, showlegend=False),
    )
    drawn.update_layout(margin={"t": 8})  # no legend
    drawn.update_xaxes(range=[-0.05 * right, right], **ticks)
    drawn.update_yaxes(range=[low, top])
    return drawn


def front(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The pairs of cost and gain that no other is better than, the cheapest first."""
    best: list[tuple[float, float]] = []
    for cost, gain in sorted(set(places), key=lambda place: (place[0], -place[1])):
        if not best or gain > best[-1][1]:
            best.append((cost, gain))
    return best


def _heights(points: Sequence[Point]) -> list[float]:
    """SQNR in dB; points without noise stand above all others."""
    finite = [point.sqnr_db for point in points if math.isfinite(point.sqnr_db)]
    top = max(finite) + ABOVE if finite else NO_NOISE
    return [min(point.sqnr_db, top) for point in points]


def _line(best: Sequence[tuple[float, float]], right: float) -> go.Scatter:
    """What can be had for a cost: steps from each of the best to the next."""
    return go.Scatter(
        mode="lines",
        x=[*(cost for cost, _ in best), right],
        y=[*(gain for _, gain in best), best[-1][1]],
        line={"color": theme.PEAK, "width": 2, "shape": "hv"},
        hoverinfo="skip",
    )


def _marks(
    points: Sequence[Point],
    costs: Sequence[float],
    heights: Sequence[float],
    best: set[tuple[float, float]],
) -> go.Scatter:
    noiseless = [not math.isfinite(point.sqnr_db) for point in points]
    on_front = [place in best for place in zip(costs, heights, strict=True)]
    return go.Scatter(
        mode="markers",
        x=list(costs),
        y=list(heights),
        marker={
            "color": [theme.PEAK if each else theme.CALM for each in on_front],
            "symbol": ["diamond" if each else "circle" for each in noiseless],
            "size": [9 if each else 7 for each in on_front],
            "opacity": [1.0 if each else _FAINT for each in on_front],
        },
        hovertext=[_hover(point) for point in points],
        hoverinfo="text",
    )


def _letters(picked: Sequence[tuple[str, float, float]], wide: float, high: float) -> go.Scatter:
    """The letters of the picks; those that would lie on one another share a mark."""
    placed: list[tuple[str, float, float]] = []
    for letter, x, y in picked:
        near = (
            number
            for number, (_, other_x, other_y) in enumerate(placed)
            if abs(x - other_x) < _NEAR[0] * wide and abs(y - other_y) < _NEAR[1] * high
        )
        if (at := next(near, None)) is None:
            placed.append((letter, x, y))
        else:
            placed[at] = (placed[at][0] + letter, *placed[at][1:])
    return go.Scatter(
        mode="markers+text",
        x=[x for _, x, _ in placed],
        y=[y for _, _, y in placed],
        text=[letters for letters, _, _ in placed],
        textfont={"size": 12, "color": theme.PAGE},
        marker={
            "color": theme.MEASURED,
            "size": [_MARK + 7 * (len(letters) - 1) for letters, _, _ in placed],
            "line": {"width": 1, "color": theme.PAGE},
            "opacity": 1,
        },
        hoverinfo="skip",
    )


def _hover(point: Point) -> str:
    weights, outputs = formats_of(point.formats)
    unit = " dB" if math.isfinite(point.sqnr_db) else ""
    lines = [
        f"<b>SQNR {sqnr_words(point.sqnr_db)}{unit}</b>",
        f"RAM {human(point.ram)} ({exact(point.ram)})",
        f"flash {human(point.flash)} ({exact(point.flash)})",
        f"predicted {milliseconds(point.ms)}" if point.ms is not None else "",
        f"predicted {millijoules(point.mj)}" if point.mj is not None else "",
        f"weights: {weights}" if weights else "",
        f"activations: {outputs}" if outputs else "",
    ]
    return "<br>".join(filter(None, lines))
