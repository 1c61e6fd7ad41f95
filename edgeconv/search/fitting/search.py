"""The search for storage formats within budgets and accuracy limits.

What every format does to the outputs, alone, is measured; an integer program picks
(edgeconv.search.budget); the pick is planned for the board and measured as a whole before it is
taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.graph import Graph
from edgeconv.kernels.storage.base import FLOAT32
from edgeconv.search.budget.fit import Exact, FormatAssignment, Miss, fit, fitted, support
from edgeconv.search.budget.frontier import Point, frontier, undominated
from edgeconv.search.budget.infeasible import Smallest, smallest
from edgeconv.search.budget.program import UnfinishedError, least_excess, optimise
from edgeconv.search.budget.tables import Limits, Objective, Tables, noise_of
from edgeconv.search.calibration.engine import Engine
from edgeconv.search.calibration.inference import InferenceEngine
from edgeconv.search.calibration.rounding import stored
from edgeconv.search.calibration.samples import Samples, require_labels
from edgeconv.search.calibration.sqnr import Accuracy
from edgeconv.search.choose.storage import storable
from edgeconv.search.fitting.measured import Measured
from edgeconv.search.fitting.offered import Lower, offered, tables_of
from edgeconv.target.board import Board

# --max-drop: the SQNR is sought at which few enough labels are lost, between these, to so many dB.
LEAST_DB, FIRST_DB, MOST_DB, CLOSE_DB = 0.0, 20.0, 60.0, 2.0
_SILENT = 1e-15  # noise that formats may add where a network has as much itself as is allowed


class UnfitError(EdgeconvError):
    """No storage formats keep the limits; the text says how far the model gets.

    ``nearest``: bytes of RAM and flash of the choice that is nearest to the budgets, if known.
    ``final``: no program can, however small its code is.
    """

    def __init__(
        self, why: EdgeconvError, nearest: tuple[int, ...] = (), *, final: bool = False
    ) -> None:
        super().__init__(
            why.what,
            where=why.where,
            got=why.got,
            rule=why.rule,
            hint=why.hint,
            details=why.details,
        )
        self.nearest, self.final = nearest, final


class MissedError(UnfitError):
    """``search`` found nothing within ``limits``: budgets, and the noise that is allowed."""

    def __init__(self, search: Search, limits: Limits) -> None:
        super().__init__(EdgeconvError("no choice of storage formats fits"))
        self.search, self.limits = search, limits


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """What the user asks of the formats.

    ``storage``: formats that are given, by the keys of ``search.choose.select``.  ``min_sqnr`` in
    dB; ``max_drop``: share of labels that may be lost.  ``truncate``: rather than round to nearest.
    """

    storage: Mapping[str, str]
    min_sqnr: float | None = None
    max_drop: float | None = None
    objective: Objective = Objective.LATENCY
    truncate: bool = False


@dataclass(frozen=True, slots=True)
class FormatChoice:
    """Formats within the limits: the graph with its rounded constants, and ``storage`` for it."""

    graph: Graph
    storage: Mapping[str, str]
    fitted: FormatAssignment
    accuracy: Accuracy


class Search:
    """A network on a board, measured; formats for any budgets are asked of it.

    ``lower`` makes a plan of a graph and formats; there the results ``kept`` have formats that lose
    nothing.  ``real``: the network in float32, where ``graph`` is rounded itself: accuracies are
    against it.  ``among``: formats of filters that alone are looked at.
    Raises EdgeconvError: unusable samples or labels that are missing (exit status 2), no
    compiler (3).
    """

    def __init__(
        self,
        graph: Graph,
        board: Board,
        samples: Samples,
        format_options: FormatOptions,
        lower: Lower,
        progress: Progress = no_progress,
        *,
        kept: frozenset[str] = frozenset(),
        real: InferenceEngine | None = None,
        among: Collection[str] | None = None,
    ) -> None:
        self.graph, self.board = graph, board
        self.samples, self.format_options, self.lower, self.progress = (
            samples,
            format_options,
            lower,
            progress,
        )
        require_labels(samples, format_options.max_drop)
        self.beside = 0  # bytes of RAM outside of the arena
        self.engine = Engine(graph, progress, truncate=format_options.truncate)
        offers = offered(graph, format_options.storage, kept, among)
        self.storable = offers.storable
        self.measured = Measured(
            self.engine,
            samples,
            offers.weights,
            offers.results,
            progress,
            truncate=format_options.truncate,
            real=real,
        )

    def close(self) -> None:
        """Let go of the network that was measured."""
        self.engine.close()

    def find(self, ram: int | None, flash: int | None) -> FormatChoice:
        """The best formats for budgets in bytes (None: no limit).

        Raises MissedError where there are none, and UnfitError where no budgets would do.
        """
        format_options, known = self.format_options, self._known()
        self.progress("choosing storage formats")
        limits = self._limits(ram, flash)
        try:
            if format_options.max_drop is None:
                found = self._fit(known, limits, format_options.objective)
            else:
                found = self._within_drop(
                    known, limits, format_options.max_drop, format_options.objective
                )
        except UnfinishedError:
            raise EdgeconvError(
                "no storage formats were found in time",
                rule="the integer program found nothing within the limits in 60 s",
                hint="relax a budget, or fix some layers with --storage",
            ) from None
        return self._found(found)

    def _found(self, chosen: FormatAssignment) -> FormatChoice:
        rounded, accuracy = self.measured.best(chosen.formats)
        return FormatChoice(
            graph=stored(self.graph, rounded),
            storage=self._all(chosen.formats),
            fitted=chosen,
            accuracy=accuracy,
        )

    def lightest(self, ram: int | None) -> FormatChoice:
        """The formats that take the least flash within a budget of RAM and --min-sqnr.

        Raises MissedError where those cannot be kept.
        """
        known = self._known()
        limits = self._limits(ram, None)
        found = self._fit(known, limits, Objective.FLASH)
        if limits.noise is None:  # fit has then looked for the least noise
            light = optimise(known, limits, (Objective.FLASH, Objective.RAM))
            assert light is not None
            found = replace(found, formats=known.formats(light.picked), picked=light.picked)
        return self._found(found)

    def nearest(self, ram: int | None, flash: int | None) -> FormatChoice:
        """The formats that exceed budgets in bytes by the smallest part, within --min-sqnr.

        Raises MissedError where that cannot be kept.
        """
        known = self._known()
        limits = self._limits(ram, flash)
        near = least_excess(known, limits)
        if near is None:
            raise MissedError(self, limits)
        sizes = known.ram_bytes(near.picked), known.flash_bytes(near.picked)
        # of which the noise that is measured decides
        return self._found(self._fit(known, self._limits(*sizes), Objective.MEMORY))

    def frontier(self, ram: int | None, flash: int | None) -> tuple[Point, ...]:
        """Choices within budgets in bytes, and --min-sqnr, of which none is better in every
        respect; each planned, its noise the sum of its parts'."""
        known = self._known()
        limits = self._limits(ram, flash)
        return frontier(known, limits, self._exact(limits))

    def measure(self, points: Sequence[Point]) -> tuple[Point, ...]:
        """The points with their noise as it is measured, without those that others then beat."""
        self.progress(f"measuring {len(points)} choices")
        noises = self.measured.best_noise([point.formats for point in points])
        pairs = zip(points, noises, strict=True)
        return tuple(undominated([replace(point, noise=noise) for point, noise in pairs]))

    def on(self, lower: Lower, kept: frozenset[str]) -> Search:
        """A search of the same network with other kernels: what was measured stays.  Not to be
        closed."""
        other = copy(self)
        other.__dict__.pop("tables", None)
        other.lower = lower
        able = set(storable(self.graph)) - kept
        other.storable = tuple(name for name in self.storable if name in able)
        return other

    def planned_by(self, lower: Lower) -> Search:
        """A search of the same formats and tables, planned by ``lower``.  Not to be closed."""
        self.tables  # noqa: B018 - which both then have
        other = copy(self)
        other.lower = lower
        return other

    def _known(self) -> Tables:
        """The tables, with what is known to lie beside the arena and the weights."""
        base = self.lower(self.graph, {})
        self.beside = base.ram - base.memory.arena_bytes
        return replace(self.tables, ram=self.beside, flash=self.tables.flash + base.code)

    @cached_property
    def tables(self) -> Tables:
        """Everything that the integer program chooses from."""
        found = self.measured
        return tables_of(
            self.graph,
            self.board,
            self.lower,
            found.weight_noise,
            found.activation_noise,
            self.storable,
            self.progress,
        )

    def _all(self, chosen: Mapping[str, str]) -> dict[str, str]:
        """``chosen`` without what is float32 anyway."""
        return {key: form for key, form in chosen.items() if form != FLOAT32}

    def _limits(self, ram: int | None, flash: int | None) -> Limits:
        """Budgets in bytes, with the noise that --min-sqnr leaves."""
        least, own = self.format_options.min_sqnr, self.measured.own
        return Limits(ram, flash, None if least is None else max(noise_of(least) - own, _SILENT))

    def _fit(self, known: Tables, limits: Limits, objective: Objective) -> FormatAssignment:
        """The best choice by ``objective``; MissedError where none is within ``limits``."""
        found = fit(known, limits, objective, self._exact(limits), self.measured.bounded)
        if isinstance(found, Miss):
            raise MissedError(self, found.limits)
        return found

    def _within_drop(
        self, known: Tables, limits: Limits, drop: float, objective: Objective
    ) -> FormatAssignment:
        """The best choice by ``objective`` that loses no more labels than allowed: its SQNR is
        sought, since labels are lost in steps and no sum of parts tells how many."""
        best, missed = self._sought(known, limits, drop, objective)
        if best:
            return best
        if not missed:
            raise UnfitError(
                EdgeconvError(
                    "no choice of storage formats loses few enough labels",
                    got=f"--max-drop {drop:g}",
                    rule=f"more are lost at every level up to {MOST_DB:.0f} dB",
                )
            )
        free, _ = self._sought(known, Limits(noise=limits.noise), drop, objective)
        allowed = free.noise if free else noise_of(MOST_DB)
        raise MissedError(self, replace(limits, noise=allowed))

    def _sought(
        self, known: Tables, limits: Limits, drop: float, objective: Objective
    ) -> tuple[FormatAssignment | None, bool]:
        """The best choice found, and whether budgets were missed on the way."""
        low, high, asked = LEAST_DB, MOST_DB, FIRST_DB
        best: FormatAssignment | None = None
        missed = False
        measure = self.measured.noise if limits.noise is None else self.measured.bounded
        while high - low > CLOSE_DB:
            noise = min(noise_of(asked), limits.noise or 1.0)
            found = fit(
                known,
                replace(limits, noise=noise),
                objective,
                self._exact(limits),
                measure,
            )
            if isinstance(found, Miss):  # too little noise is left for the budgets
                missed, high = True, asked
            else:
                accuracy = self.measured.accuracy(found.formats)
                self.progress(
                    f"at {asked:.0f} dB {accuracy.top1_drop or 0.0:.1%} of the labels are lost"
                )
                if accuracy.loses_at_most(drop):
                    best, high = found, asked
                else:
                    low = asked
            asked = (low + high) / 2
        return best, missed

    def smallest(self, limits: Limits) -> Smallest:
        """How far one gets towards the budgets of ``limits``, within their noise.

        Raises EdgeconvError where no formats are so accurate.
        """
        return smallest(self._known(), limits, self._exact(Limits()))

    def least(self, objective: Objective) -> FormatChoice:
        """The formats with which the tables have the least ``objective``, RAM or flash, within the
        limits of accuracy.  Raises UnfitError where these cannot be kept."""
        known, free, drop = self._known(), self._limits(None, None), self.format_options.max_drop
        if drop is not None:
            return self._found(self._within_drop(known, free, drop, objective))
        if free.noise is not None:
            return self._found(self._fit(known, free, objective))
        other = Objective.FLASH if objective is Objective.RAM else Objective.RAM
        answer = optimise(known, free, (objective, other))  # of which some formats are the least
        assert answer is not None
        real = self._exact(free)(known.formats(answer.picked))
        return self._found(fitted(known, answer, real))

    def _exact(self, limits: Limits) -> Callable[[Mapping[str, str]], Exact]:
        """Plans formats: bytes as the tables count them."""

        def plan(chosen: Mapping[str, str]) -> Exact:
            planned = self.lower(self.graph, self._all(chosen))
            arena = planned.ram - self.beside
            if planned.ram_missing and limits.ram is not None:
                arena = max(arena, limits.ram - self.beside + planned.ram_missing)
            return Exact(
                arena, planned.weights + planned.code, support(planned.choice, planned.memory)
            )

        return plan
