"""The frontier: no point beats another, limits hold, and how it is shown."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from edgeconv.report.frontier import budgets, document, frontier_table, noted, with_frontier
from edgeconv.report.html import front as pictures
from edgeconv.report.html import frontier as page
from edgeconv.report.html.front import Front
from edgeconv.search.budget import Exact, Limits, Point, Tables, frontier
from edgeconv.search.budget.tables import WEIGHTS, Item, Option, Step
from tests.html_page import Page
from tests.unit.budget_tables import assignments, random_tables, two_layers


@pytest.fixture(scope="module")
def points() -> tuple[Point, ...]:
    return frontier(two_layers())


def beats(a: Point, b: Point) -> bool:
    pairs = list(zip(a.measures(), b.measures(), strict=True))
    return all(x <= y for x, y in pairs) and any(x < y for x, y in pairs)


def test_the_quietest_is_an_end_though_nobody_can_tell() -> None:
    """1e-12 of noise is more than none: a byte of flash is saved for it, or not."""
    options = (Option("float32", flash=1), Option("flyte24", noise=1e-12))
    found = frontier(Tables((Item("w", WEIGHTS, options),), (Step("s", {}, {}),)))
    assert [(point.noise, point.flash) for point in found] == [(0.0, 1), (1e-12, 0)]


@settings(max_examples=10)
@given(random_tables())
def test_no_point_beats_another_and_the_ends_are_there(tables: Tables) -> None:
    found = frontier(tables)
    assert not any(beats(a, b) for a in found for b in found)
    every = list(assignments(tables))
    # The loudest level is 10 dB, unless even the quietest choice is louder.
    quietest = min(map(tables.noise, every))
    assert min(point.noise for point in found) == pytest.approx(quietest, rel=1e-2, abs=1e-15)
    loud = [picked for picked in every if tables.noise(picked) <= 0.1]
    if loud:
        assert min(point.ram for point in found) == min(map(tables.ram_bytes, loud))
        assert min(point.flash for point in found) == min(map(tables.flash_bytes, loud))


def test_limits_hold_and_planned_bytes_are_told() -> None:
    tables = two_layers()
    limits = Limits(flash=3000, noise=1e-3)
    found = frontier(tables, limits, lambda _: Exact(5000, 2999))
    assert found
    assert all((p.ram, p.flash) == (5100, 2999) and p.noise <= 1e-3 for p in found)
    assert frontier(tables, limits, lambda _: Exact(5000, 3001)) == ()  # as planned, too large


def test_as_many_as_asked_for(points: tuple[Point, ...]) -> None:
    few = frontier(two_layers(), points=4)
    assert len(few) == 4 < len(points)
    # The ends stay.
    assert (few[0].noise, few[-1].noise) == (points[0].noise, points[-1].noise)


def test_nothing_is_found_in_no_time() -> None:
    assert frontier(two_layers(), seconds=0.0) == ()


def test_table_tells_formats_and_leaves_unknown_columns_out(points: tuple[Point, ...]) -> None:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(frontier_table(points))
    heading, first, *rest = capture.get().splitlines()
    assert "pred. ms" in heading
    assert "mJ" not in heading
    assert "exact" in first
    assert "2 float32" in first
    assert len(rest) == len(points) - 1


def test_page_is_one_file_with_every_point(points: tuple[Point, ...]) -> None:
    text = page.render(points, model="net <1>", board="some-board")
    assert "net &lt;1&gt;" in text
    assert "<script src" not in text
    assert 'rel="stylesheet"' not in text
    assert json.loads(Page(text).scripts["points"]) == document(points)
    drawn = Front(points).figures
    assert list(drawn) == ["front-flash", "front-ram", "front-time"]
    assert all(len(figure.data[1].x) == len(points) for figure in drawn.values())
    assert all(math.isfinite(y) for figure in drawn.values() for y in figure.data[1].y)
    untimed = [replace(point, ms=None) for point in points]
    assert len(Front(untimed).figures) == 2
    assert Front([]).figures == {}
    assert Page(page.render([], model="net", board="some-board")).words


def test_points_that_are_best_at_something_have_a_letter_in_every_picture(
    points: tuple[Point, ...],
) -> None:
    picks = pictures.picks(points)
    assert len({id(pick.point) for pick in picks}) == len(picks) <= 5
    reasons = ", ".join(pick.why for pick in picks).split(", ")
    assert reasons[0] == "most accurate"
    assert sorted(reasons) == sorted(set(reasons))
    (small,) = (pick for pick in picks if "least flash" in pick.why)
    usable = [point for point in points if point.sqnr_db >= pictures.USABLE]
    assert small.point.flash == min(point.flash for point in usable)
    for figure in Front(points).figures.values():
        assert sorted("".join(figure.data[2].text)) == [pick.letter for pick in picks]
    shown = Page(page.render(points, model="net", board="some-board"))
    letters = [row[0].text for row in shown.tables["points-table"][1:] if row[0].text]
    assert sorted(letters) == [pick.letter for pick in picks]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_the_front_is_what_nothing_is_better_than(places: list[tuple[float, float]]) -> None:
    def better(one: tuple[float, float], than: tuple[float, float]) -> bool:
        return one[0] <= than[0] and one[1] >= than[1] and one != than

    expected = {each for each in places if not any(better(one, each) for one in places)}
    assert pictures.front(places) == sorted(expected)


def test_a_report_has_the_points_and_the_program(points: tuple[Point, ...]) -> None:
    for program in (points[1], None):
        report = json.loads(json.dumps(with_frontier({"schema": 1}, points, program)))
        found, own = noted(report)
        assert document(found) == document(points)
        assert (own is None) == (program is None)
        assert own is None or own.measures()[:3] == points[1].measures()[:3]
        shown = Front(found, own)
        assert shown.here[:1] == [row[0] for _, row in shown.rows[1:2] if program]
        circles = [len(figure.data) - 3 for figure in shown.figures.values()]
        assert circles == [int(program is not None)] * 3
    assert noted({}) == ((), None)


def test_a_choice_says_what_asks_for_it(points: tuple[Point, ...]) -> None:
    """SQNR is rounded down, or the point itself would be refused."""
    loud = replace(points[0], noise=10**-5.5199)
    assert budgets(loud) == f"--ram {loud.ram} --flash {loud.flash} --min-sqnr 55.1"
    assert budgets(replace(loud, noise=0.0)) == f"--ram {loud.ram} --flash {loud.flash}"
