"""What storage formats could make of a network at best: a bound, before anything is measured."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.graph import Graph
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.search.budget.program import UnfinishedError, optimise
from edgeconv.search.budget.tables import Limits, Objective, Tables
from edgeconv.search.fitting.offered import Lower, Offered, silent, tables_of
from edgeconv.target.board import Board


class AtBest:
    """What storage formats make at best of ``graph`` on ``board``, whatever its formats do to the
    outputs: plans of ``lower``."""

    def __init__(
        self,
        graph: Graph,
        board: Board,
        lower: Lower,
        offers: Offered,
        progress: Progress = no_progress,
    ) -> None:
        found = tables_of(
            graph,
            board,
            lower,
            silent(offers.weights),
            silent(offers.results),
            offers.storable,
            progress,
        )
        base = lower(graph, {})
        beside = base.ram - base.memory.arena_bytes
        self.tables: Tables = replace(found, ram=beside, flash=found.flash + base.code)

    def least(self, objective: Objective, ram: int | None, flash: int | None) -> float | None:
        """The least value of ``objective`` within budgets in bytes; None where none is kept."""
        try:
            found = optimise(self.tables, Limits(ram, flash), (objective,))
        except UnfinishedError:
            return 0.0
        return None if found is None else found.value

    def plain(self, objective: Objective) -> float:
        """The value in float32, but for formats that the user gives."""
        items = self.tables.items
        names = [[option.format for option in item.options] for item in items]
        picked = [each.index(FLOAT32) if FLOAT32 in each else 0 for each in names]
        return self.tables.cost(objective, picked)
