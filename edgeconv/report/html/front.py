"""The frontier in pictures: SQNR over flash, RAM and predicted time, and choices that stand out.

Four measures do not fit into one picture.  There is one for each that costs something, all with
SQNR upward: the line is what is best in these two, fainter points are better elsewhere, and letters
mark a few points in all pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import plotly.graph_objects as go

from edgeconv.base.sizes import human
from edgeconv.report.frontier import Column, budgets, cells, formats_of, shown, sqnr_words
from edgeconv.report.html.figures import theme
from edgeconv.report.numbers import exact, millijoules, milliseconds
from edgeconv.search.budget.frontier import Point

HEIGHT = 340
ABOVE = 6.0  # dB between the best finite point and those without noise
NO_NOISE = 100.0  # dB at which those are drawn where there are no others
USABLE, ENOUGH = 20.0, 60.0  # dB: what is rounded to less is nobody's first choice; to more, alike
_MARK, _FAINT = 20, 0.35  # pixels of a letter's mark; opacity of what is better elsewhere
_AROUND = 30  # pixels
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


@dataclass(frozen=True)
class Front:
    """What a page says of a frontier.  ``program``: the one that the page is about, if any."""

    points: Sequence[Point]
    program: Point | None = None

    @cached_property
    def columns(self) -> list[Column]:
        """The measures that are known."""
        return shown(self.points)

    @property
    def headings(self) -> list[str]:
        """The titles of the columns."""
        return [title for title, _, _ in self.columns]

    @cached_property
    def picks(self) -> list[Pick]:
        """The choices that stand out."""
        return picks(self.points)

    @property
    def picked(self) -> list[tuple[str, str, list[str], str]]:
        """Each pick: the letter, what it is best at, its measures, and options that ask for
        it."""
        return [
            (one.letter, one.why, cells(one.point, self.columns)[:-2], budgets(one.point))
            for one in self.picks
        ]

    @property
    def here(self) -> list[str]:
        """The measures of the program."""
        return cells(self.program, self.columns)[:-2] if self.program else []

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """Each point: its letter, if it has one, and its measures and formats."""
        letters = {id(pick.point): pick.letter for pick in self.picks}
        return [(letters.get(id(p), ""), cells(p, self.columns)) for p in self.points]

    @cached_property
    def panels(self) -> list[Panel]:
        """The pictures: a measure each that is known of every point."""
        every = [*self.points, *([self.program] if self.program else [])]
        known = [one for one in PANELS if all(one.cost(point) is not None for point in every)]
        return known if self.points else []

    @property
    def figures(self) -> dict[str, go.Figure]:
        """The pictures, by the id of the place of each."""
        return {panel.id: _figure(panel, self) for panel in self.panels}


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


def _figure(panel: Panel, choices: Front) -> go.Figure:
    points, program = choices.points, choices.program
    every = [*points, *([program] if program else [])]
    *costs, own = [panel.cost(point) or 0.0 for point in every] + [0.0] * (program is None)
    *heights, height = _heights(every) + [0.0] * (program is None)
    places = dict(zip(map(id, points), zip(costs, heights, strict=True), strict=True))
    best = front(list(zip(costs, heights, strict=True)))
    right, top = 1.08 * max(*costs, own), max(*heights, height) + ABOVE
    low = min(0.0, height, *heights)
    bytes_of = panel.id != PANELS[-1].id
    ticks: dict[str, Any] = theme.byte_ticks(int(max(*costs, own))) if bytes_of else {"nticks": 6}
    drawn = go.Figure(
        [
            _line(best, right),
            _marks(points, costs, heights, set(best)),
            _letters(
                [(pick.letter, *places[id(pick.point)]) for pick in choices.picks],
                right,
                top - low,
            ),
            *([_here(own, height)] if program else []),
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


def _here(x: float, y: float) -> go.Scatter:
    """A circle around the program."""
    edge = {"color": theme.MEASURED, "width": 2}
    return go.Scatter(
        mode="markers",
        x=[x],
        y=[y],
        marker={"symbol": "circle-open", "size": _AROUND, "line": edge, "color": theme.MEASURED},
        hovertext=["<b>this program</b>"],
        hoverinfo="text",
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
