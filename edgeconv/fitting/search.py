"""The search for storage formats within budgets and accuracy limits.

What every format does to the outputs, alone, is measured; an integer program picks
(edgeconv.budget); the pick is planned for the board and measured as a whole before it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from edgeconv.board import Board
from edgeconv.budget.derive import Uniform, tables, uniform
from edgeconv.budget.fit import Exact, Fitted, Miss, fit, support
from edgeconv.budget.frontier import Point, frontier, undominated
from edgeconv.budget.infeasible import refusal, smallest
from edgeconv.budget.program import UnfinishedError, least_excess, optimise
from edgeconv.budget.tables import Limits, Objective, Tables, noise_of
from edgeconv.calibration import samples as calibration_samples
from edgeconv.calibration.engine import Engine
from edgeconv.calibration.rounding import stored
from edgeconv.calibration.samples import Samples
from edgeconv.calibration.sqnr import Accuracy
from edgeconv.choose.storage import ROUNDED, by_kind, storable, tensor_formats, weight_formats
from edgeconv.errors import EdgeconvError, UsageError
from edgeconv.fitting.measured import Measured, output_keys
from edgeconv.ir.choice import Choice
from edgeconv.ir.filters import WEIGHTED
from edgeconv.ir.graph import Graph
from edgeconv.ir.memory import MemoryMap
from edgeconv.progress import Tell, nobody
from edgeconv.storage import formats
from edgeconv.storage.base import FLOAT32

# --max-drop: the SQNR is sought at which few enough labels are lost, between these, to so many dB.
LEAST_DB, FIRST_DB, MOST_DB, CLOSE_DB = 0.0, 20.0, 60.0, 2.0


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


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asks of the formats.

    ``storage``: formats that are given, by the keys of ``choose.select``.  ``min_sqnr`` in dB;
    ``max_drop``: share of labels that may be lost.  ``truncate``: rather than round to nearest.
    """

    storage: Mapping[str, str]
    min_sqnr: float | None = None
    max_drop: float | None = None
    objective: Objective = Objective.LATENCY
    truncate: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """A choice with its memory, in bytes.

    ``ram``: all that counts against the budget.  ``weights``: the image; ``code``: what else counts
    against the budget of flash, as far as that is known.  ``ram_missing``: what the board's regions
    lack.
    """

    choice: Choice
    memory: MemoryMap
    ram: int
    weights: int
    code: int
    ram_missing: int


Lower = Callable[[Graph, Mapping[str, str]], Planned]


@dataclass(frozen=True, slots=True)
class Found:
    """Formats within the limits: the graph with its rounded constants, and ``storage`` for it."""

    graph: Graph
    storage: Mapping[str, str]
    fitted: Fitted
    accuracy: Accuracy


def require_labels(samples: Samples, max_drop: float | None) -> None:
    """Raises EdgeconvError (exit status 2) where a share of labels is to be kept, and there are
    none."""
    if max_drop is not None and samples.labels is None:
        raise UsageError(
            "--max-drop needs labels",
            got=samples.source,
            rule="the share of right answers is measured on labelled samples",
            hint=f"--calibration X.npz with an array `{calibration_samples.LABEL}`",
        )


class Search:
    """A network on a board, measured; formats for any budgets are asked of it.

    ``lower`` makes a plan of a graph and formats; there the results ``kept`` have formats that lose
    nothing.  Raises EdgeconvError: unusable samples or labels that are missing (exit status 2), no
    compiler (3).
    """

    def __init__(
        self,
        graph: Graph,
        board: Board,
        samples: Samples,
        wishes: Wishes,
        lower: Lower,
        tell: Tell = nobody,
        *,
        kept: frozenset[str] = frozenset(),
    ) -> None:
        self.graph, self.board = graph, board
        self.storable = [name for name in storable(graph, board.target) if name not in kept]
        self.samples, self.wishes, self.lower, self.tell = samples, wishes, lower, tell
        require_labels(samples, wishes.max_drop)
        self.filters, self.outputs = by_kind(graph, wishes.storage)
        self.beside = 0  # bytes of RAM outside of the arena
        self.engine = Engine(graph, tell, truncate=wishes.truncate)
        weights, activations = self._offered_weights(), self._offered_activations()
        self.measured = Measured(
            self.engine, samples, weights, activations, tell, truncate=wishes.truncate
        )

    def close(self) -> None:
        """Let go of the network that was measured."""
        self.engine.close()

    def find(self, ram: int | None, flash: int | None) -> Found:
        """The best formats for budgets in bytes (None: no limit).

        Raises EdgeconvError (exit status 1) where there are none, with how far the model gets.
        """
        wishes, known = self.wishes, self._known()
        self.tell("choosing storage formats")
        limits = self._limits(ram, flash)
        try:
            if wishes.max_drop is None:
                fitted = self._fit(known, limits, wishes.objective)
            else:
                fitted = self._within_drop(known, limits, wishes.max_drop)
        except UnfinishedError:
            raise EdgeconvError(
                "no storage formats were found in time",
                rule="the integer program found nothing within the limits in 60 s",
                hint="relax a budget, or fix some layers with --storage",
            ) from None
        return self._found(fitted)

    def _found(self, fitted: Fitted) -> Found:
        rounded, accuracy = self.measured.best(fitted.formats)
        return Found(
            graph=stored(self.graph, rounded),
            storage=self._all(fitted.formats),
            fitted=fitted,
            accuracy=accuracy,
        )

    def lightest(self, ram: int | None) -> Found:
        """The formats that take the least flash within a budget of RAM and --min-sqnr.

        Raises UnfitError where those cannot be kept.
        """
        known = self._known()
        limits = self._limits(ram, None)
        found = self._fit(known, limits, Objective.FLASH)
        if limits.noise is None:  # fit has then looked for the least noise
            light = optimise(known, limits, (Objective.FLASH, Objective.RAM))
            assert light is not None
            found = replace(found, formats=known.formats(light.picked), picked=light.picked)
        return self._found(found)

    def nearest(self, ram: int | None, flash: int | None) -> Found:
        """The formats that exceed budgets in bytes by the smallest part, within --min-sqnr.

        Raises UnfitError where that cannot be kept.
        """
        known = self._known()
        limits = self._limits(ram, flash)
        near = least_excess(known, limits)
        if near is None:
            raise self._unfit(known, Miss(limits, 0))
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
        self.tell(f"measuring {len(points)} choices")
        noises = self.measured.best_noise([point.formats for point in points])
        pairs = zip(points, noises, strict=True)
        return tuple(undominated([replace(point, noise=noise) for point, noise in pairs]))

    def on(self, lower: Lower, kept: frozenset[str]) -> Search:
        """The same network with other kernels: what was measured stays.  Not to be closed."""
        other = copy(self)
        other.__dict__.pop("tables", None)
        other.lower = lower
        able = set(storable(self.graph, other.board.target)) - kept
        other.storable = [name for name in self.storable if name in able]
        return other

    def _known(self) -> Tables:
        """The tables, with what is known to lie beside the arena and the weights."""
        base = self.lower(self.graph, {})
        self.beside = base.ram - base.memory.arena_bytes
        return replace(self.tables, ram=self.beside, flash=self.tables.flash + base.code)

    @cached_property
    def tables(self) -> Tables:
        """Everything that the integer program chooses from."""
        weights, outputs = self.measured.weight_noise, self.measured.activation_noise
        keys = output_keys(self.graph, outputs)
        offered = {form for forms in weights.values() for form in forms} | {FLOAT32}
        stored_as = {form for forms in outputs.values() for form in forms} - {FLOAT32}
        by_format = {}
        for form in [FLOAT32, *sorted(offered - {FLOAT32})]:
            self.tell(f"planning with filters in {form}")
            by_format[form] = self._uniform(dict.fromkeys(weights, form))
        by_tensor_format = {}
        for form in sorted(stored_as):
            self.tell(f"planning with results in {form}")
            by_tensor_format[form] = self._uniform(dict.fromkeys(keys.values(), form))
        return tables(
            by_format,
            weights,
            activations=by_tensor_format,
            activation_noise=outputs,
            storable=self.storable,
        )

    def _uniform(self, storage: Mapping[str, str]) -> Uniform:
        return uniform(self.lower(self.graph, storage).choice, self.board)

    def _all(self, chosen: Mapping[str, str]) -> dict[str, str]:
        """``chosen`` without what is float32 anyway."""
        return {key: form for key, form in chosen.items() if form != FLOAT32}

    def _offered_weights(self) -> dict[str, list[str]]:
        """By layer: the formats to choose from, the one that the user gives, or none where the
        model has its own."""
        found: dict[str, list[str]] = {}
        for node in self.graph.nodes:
            if node.op not in WEIGHTED:
                continue
            given = self.filters.get(node.name, self.filters.get("*"))
            if given:
                found[node.name] = [given]
            elif "storage" not in node.attrs:
                finite = bool(np.isfinite(self.graph[node.inputs[1]].constant()).all())
                found[node.name] = [FLOAT32, *_coarser(weight_formats(), units=finite)]
        return found

    def _offered_activations(self) -> dict[str, list[str]]:
        writers = self.graph.producers()
        found = {}
        for name in self.storable:
            given = self.outputs.get(writers[name].name, self.outputs.get("*"))
            coarser = [FLOAT32, *_coarser(tensor_formats(), units=True)]
            # Those that int8 is possible for are not among them.
            found[name] = [given] if given and given not in ROUNDED.values() else coarser
        return found

    def _limits(self, ram: int | None, flash: int | None) -> Limits:
        """Budgets in bytes, with the noise that --min-sqnr leaves."""
        least = self.wishes.min_sqnr
        return Limits(ram, flash, None if least is None else noise_of(least))

    def _fit(self, known: Tables, limits: Limits, objective: Objective) -> Fitted:
        """The best choice by ``objective``; UnfitError where none is within ``limits``."""
        found = fit(known, limits, objective, self._exact(limits), self.measured.noise)
        if isinstance(found, Miss):
            raise self._unfit(known, found)
        return found

    def _within_drop(self, known: Tables, limits: Limits, drop: float) -> Fitted:
        """The best choice that loses no more labels than allowed: its SQNR is sought, since labels
        are lost in steps and no sum of parts tells how many."""
        best, missed = self._sought(known, limits, drop)
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
        free, _ = self._sought(known, Limits(noise=limits.noise), drop)
        allowed = free.noise if free else noise_of(MOST_DB)
        raise self._unfit(known, Miss(replace(limits, noise=allowed), 0))

    def _sought(self, known: Tables, limits: Limits, drop: float) -> tuple[Fitted | None, bool]:
        """The best choice found, and whether budgets were missed on the way."""
        low, high, asked = LEAST_DB, MOST_DB, FIRST_DB
        best: Fitted | None = None
        missed = False
        while high - low > CLOSE_DB:
            noise = min(noise_of(asked), limits.noise or 1.0)
            found = fit(
                known,
                replace(limits, noise=noise),
                self.wishes.objective,
                self._exact(limits),
                self.measured.noise,
            )
            if isinstance(found, Miss):  # too little noise is left for the budgets
                missed, high = True, asked
            else:
                accuracy = self.measured.accuracy(found.formats)
                self.tell(
                    f"at {asked:.0f} dB {accuracy.top1_drop or 0.0:.1%} of the labels are lost"
                )
                if accuracy.loses_at_most(drop):
                    best, high = found, asked
                else:
                    low = asked
            asked = (low + high) / 2
        return best, missed

    def _unfit(self, known: Tables, miss: Miss) -> UnfitError:
        try:
            found = smallest(known, miss.limits, self._exact(Limits()))
            return UnfitError(refusal(found), found.nearest)
        except EdgeconvError as error:
            return UnfitError(error)

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


def _coarser(known: Collection[str], *, units: bool) -> list[str]:
    """The formats of fewer bits than float32, most bits first; ``units``: those with units too."""
    forms = [formats()[name] for name in known if name != FLOAT32]
    kept = [form for form in forms if units or form.units is None]
    return [form.name for form in sorted(kept, key=lambda form: (-form.bits, form.name))]
