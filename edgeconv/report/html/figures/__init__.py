"""The charts of the page, in order; one module each, drawn with Plotly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edgeconv.report.html.figures import arena, energy, regions, roofline, sqnr, time, traffic
from edgeconv.report.network import Network

# By the id of its place on the page.  None: the report has nothing to draw.
FIGURES: Mapping[str, Callable[[Network], Any]] = {
    "regions": regions.figure,
    "arena": arena.figure,
    "sqnr": sqnr.figure,
    "time": time.figure,
    "energy": energy.figure,
    "traffic": traffic.figure,
    "roofline": roofline.figure,
}
