"""The charts of the page, drawn with Plotly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edgeconv.report.html.figures import arena, bars, regions, roofline
from edgeconv.report.network import Network

# By the id of its place on the page.  None: the report has nothing to draw.
FIGURES: Mapping[str, Callable[[Network], Any]] = {
    "regions": regions.figure,
    "arena": arena.figure,
    "sqnr": bars.sqnr,
    "time": bars.time,
    "energy": bars.energy,
    "traffic": bars.traffic,
    "roofline": roofline.figure,
}
