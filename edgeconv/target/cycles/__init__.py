"""Most cycles of each instruction on cores whose manuals say it, for a bound in time."""

from __future__ import annotations

from edgeconv.target.cycles.cortex_m import TABLES
from edgeconv.target.cycles.table import CycleTable


def table_of(cpu: str) -> CycleTable | None:
    """The table of a core, by ``cpu`` of a board's file; None where there is none."""
    return next((table for table in TABLES if cpu in table.cores), None)


__all__ = ["TABLES", "CycleTable", "table_of"]
