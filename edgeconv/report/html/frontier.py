"""The frontier as one HTML file: its pictures (`front`) and the table."""

from __future__ import annotations

from collections.abc import Sequence

from edgeconv.report.frontier import document
from edgeconv.report.html.front import Front
from edgeconv.report.html.page import rendered
from edgeconv.search.budget.frontier import Point


def render(points: Sequence[Point], *, model: str, board: str) -> str:
    """The page."""
    front = Front(points)
    return rendered(
        "frontier.html.j2",
        front.figures,
        model=model,
        board=board,
        front=front,
        points=document(points),
    )
