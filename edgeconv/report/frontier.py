"""The frontier of RAM, flash, time and SQNR: as a table, in report.json; drawn by
report/html/front.py."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.table import Table

from edgeconv.base.sizes import human
from edgeconv.report.narrow_tables import plain_table
from edgeconv.report.numbers import finite, significant
from edgeconv.search.budget.frontier import Point
from edgeconv.search.budget.tables import noise_of
from edgeconv.search.choose.storage import OUTPUT


def sqnr_words(db: float) -> str:
    """``41.3``; what nothing was rounded for has no noise."""
    return f"{db:.1f}" if math.isfinite(db) else "exact"


# Title, value of a point (None: unknown), and how it reads.
Column = tuple[str, Callable[[Point], float | None], Callable[[Any], str]]
COLUMNS: tuple[Column, ...] = (
    ("RAM", lambda point: point.ram, human),
    ("flash", lambda point: point.flash, human),
    ("pred. ms", lambda point: point.ms, significant),
    ("pred. mJ", lambda point: point.mj, significant),
    ("SQNR, dB", lambda point: point.sqnr_db, sqnr_words),
)


def frontier_table(points: Sequence[Point]) -> Table:
    """One line per point; times and energies only where some point has one."""
    columns = shown(points)
    table = plain_table(*(f">{title}" for title, _, _ in columns), "weights", "activations")
    for point in points:
        table.add_row(*cells(point, columns))
    return table


def document(points: Sequence[Point]) -> list[dict[str, Any]]:
    """The points as JSON has them: no infinity, but null for an SQNR without noise."""
    return [_to_json(point) for point in points]


def _to_json(point: Point) -> dict[str, Any]:
    return {
        "ram": point.ram,
        "flash": point.flash,
        "predicted_ms": point.ms,
        "predicted_mj": point.mj,
        "sqnr_db": finite(point.sqnr_db),
        "storage": dict(point.formats),
    }


def with_frontier(
    report: Mapping[str, Any], points: Sequence[Point], program: Point | None
) -> dict[str, Any]:
    """``report`` with the frontier; ``program``: the one that it is of, None where the noise of
    that is not known."""
    found: dict[str, Any] = {"points": document(points)}
    if program is not None:
        found["program"] = _to_json(program)
    return {**report, "frontier": found}


def noted(report: Mapping[str, Any]) -> tuple[tuple[Point, ...], Point | None]:
    """The points and the program that `with_frontier` noted; none in a report without."""
    found = report.get("frontier") or {"points": ()}
    program = found.get("program")
    return tuple(map(_point, found["points"])), _point(program) if program else None


def _point(entry: Mapping[str, Any]) -> Point:
    sqnr = entry["sqnr_db"]
    return Point(
        entry["ram"],
        entry["flash"],
        entry["predicted_ms"],
        entry["predicted_mj"],
        0.0 if sqnr is None else noise_of(sqnr),
        entry["storage"],
    )


def budgets(point: Point) -> str:
    """The options of `compile` that ask for a program as good as the point: its bytes, and its SQNR
    rounded down."""
    given = f"--ram {point.ram} --flash {point.flash}"
    sqnr = finite(point.sqnr_db)
    return given if sqnr is None else f"{given} --min-sqnr {math.floor(10 * sqnr) / 10:.1f}"


def shown(points: Sequence[Point]) -> list[Column]:
    """The columns that have a value for some point."""
    return [each for each in COLUMNS if any(each[1](point) is not None for point in points)]


def cells(point: Point, columns: Sequence[Column]) -> list[str]:
    """A row of the table: nothing where nothing is known, and the formats."""
    found = [(value(point), show) for _, value, show in columns]
    texts = ["" if value is None else show(value) for value, show in found]
    return [*texts, *formats_of(point.formats)]


def formats_of(formats: Mapping[str, str]) -> tuple[str, str]:
    """How many weight tensors and activations have which format: ``12 int8, 3 float32``."""
    weights = Counter(form for key, form in formats.items() if not key.endswith(OUTPUT))
    outputs = Counter(form for key, form in formats.items() if key.endswith(OUTPUT))
    return _counted(weights), _counted(outputs)


def _counted(counts: Counter[str]) -> str:
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{count} {form}" for form, count in ranked)
