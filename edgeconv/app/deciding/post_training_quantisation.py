"""Whether a float32 network is quantised to int8, and the decisions about what it then is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from edgeconv.app.choice_notes import computing_notes
from edgeconv.app.deciding import int8_model
from edgeconv.app.deciding.fewer_bits import FORMATS, InFewerBits, filters_in, in_fewer_bits
from edgeconv.app.deciding.fusing import by_price
from edgeconv.app.deciding.int8_model import Int8Model
from edgeconv.app.deciding.less_flash import less_flash
from edgeconv.app.deciding.less_ram import with_streaming
from edgeconv.app.deciding.objective import better, require_prediction
from edgeconv.app.deciding.planning import Allowed, Decision, NetworkPlan, Planner
from edgeconv.base.closing import Closing
from edgeconv.base.progress import Progress, no_progress
from edgeconv.ir.graph import Graph
from edgeconv.search.budget.tables import Objective
from edgeconv.search.calibration.sqnr import Accuracy
from edgeconv.search.choose.storage import INT8
from edgeconv.search.memory.sizes import Overhead
from edgeconv.search.quantising.accepted import Limits
from edgeconv.search.quantising.by_price import Costs, border, kept_real
from edgeconv.search.quantising.grids import quantisable
from edgeconv.search.quantising.quantiser import Quantiser


class PostTrainingQuantisation(Closing):
    """``graph``, a float32 network, quantised to int8 by the user's samples at most once."""

    def __init__(self, planner: Planner, graph: Graph, progress: Progress = no_progress) -> None:
        self.planner, self.graph, self.progress = planner, graph, progress
        self.options, self.board = planner.options, planner.board
        self._quantiser: Quantiser | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._model: Int8Model | None = None
        self._real: Decision | None = None
        self._tried = False
        self._fewer: list[InFewerBits | None] | None = None
        self._fewer_for: Overhead | None = None

    def close(self) -> None:
        """Let go of the network that was measured, if one was."""
        if self._quantiser:
            self._quantiser.close()
        if self._folder:
            self._folder.cleanup()

    @property
    def objective(self) -> Objective:
        """What integers are to make small: time, unless the user says what.  Prices compare on
        boards too that state too little to predict it."""
        return Objective(self.options.objective or Objective.LATENCY)

    @property
    def compared(self) -> bool:
        """Whether other decisions count too: nobody asks for integers."""
        return not self._is_requested

    @cached_property
    def _is_requested(self) -> bool:
        """Whether the user wants results to be int8."""
        return int8_model.is_requested(self.options, self.graph)

    def decided(self, plain: Callable[[Graph], NetworkPlan], streaming: bool) -> Decision | None:
        """The decisions with the network quantised to int8; None where that is not asked for and
        not predicted to be better, or where it loses too much or does not fit.

        ``plain``: kernels and memory for a graph.  ``streaming``: layers may stream rows.
        """
        options, planner = self.options, self.planner
        if options.int8:
            int8_model.require_possible(self.graph, options)
        possible = quantisable(self.graph) and not options.truncate
        if not (options.calibration and possible and (self._is_requested or options.limited)):
            return None
        if not self._tried:
            self._tried = True
            worth = self._worth(plain)
            if worth is not None:
                self._model = self._made(*worth)
        if self._model is None:
            return None
        draft = plain(self._model.graph)
        found = [(self._model, self._with_streaming(draft) if streaming else draft)]
        if options.limited and not (self._is_requested and not planner.exceeded(draft)):
            found += self._in_fewer_bits(self._model, draft, streaming)
        ways = [(model, planner.decided(each)) for model, each in found]
        if not self._is_requested:
            ways = [each for each in ways if self._stands(each[1])]
        best: tuple[Int8Model, Decision] | None = None
        for model, decided in ways:
            if best is None or self._improves(decided, best[1]):
                best = model, decided
        return best[0].into(best[1], self.objective.value) if best else None

    def _stands(self, decided: Decision) -> bool:
        """It fits, and is better than float32."""
        return not self.planner.exceeded(decided) and self._gains(decided)

    def _improves(self, decided: Decision, other: Decision) -> bool:
        """It fits where the other one does not, or is better."""
        short, otherwise = map(self.planner.exceeded, (decided, other))
        return otherwise if short != otherwise else better(decided, other, self.objective)

    def _with_streaming(self, draft: NetworkPlan) -> NetworkPlan:
        """``draft`` with layers that stream rows where that is worth it."""
        planner = self.planner
        small = self.options.objective == Objective.MEMORY.value
        if small or planner.exceeded(draft):
            return with_streaming(planner, draft)
        return by_price(planner, draft)

    def _in_fewer_bits(
        self, model: Int8Model, draft: NetworkPlan, streaming: bool
    ) -> list[tuple[Int8Model, NetworkPlan]]:
        """``model``, of which there is ``draft``, with its float32 filters in fewer bits; nothing
        where that is no better."""
        quantiser, planner = self._quantiser, self.planner
        assert quantiser
        assert self._folder
        if self._fewer is None or self._fewer_for != planner.overhead:
            self._fewer_for = planner.overhead
            folder = Path(self._folder.name)
            engine, own = quantiser.engine, quantiser.samples
            self._fewer = [in_fewer_bits(planner, model, draft, engine, own, folder, self.progress)]
        found: list[tuple[Int8Model, NetworkPlan]] = []
        for each in filter(None, self._fewer):
            formats = {**self.options.storage, **each.storage}
            made = planner.draft(each.model.graph, draft.settled, formats)
            found.append((each.model, self._with_streaming(made) if streaming else made))
        return found

    def _worth(
        self, plain: Callable[[Graph], NetworkPlan]
    ) -> tuple[dict[str, float], frozenset[str]] | None:
        """By layer what it saves in integers, and the tensors that stay float32; None where no such
        network is predicted to be better, unless the user asks for it."""
        planner, storage = self.planner, self.options.storage
        self._real = self._in_float32()
        now = self._real
        then = planner.decided(plain(int8_model.pretended_int8(self.graph, storage)))
        kept: frozenset[str] = frozenset()
        if not self._is_requested:
            if self.objective is Objective.ENERGY:
                require_prediction(now, self.board, self.objective)
            if computing_notes(now.choice):
                return None
            if self.objective is not Objective.MEMORY:
                then, kept = self._cheapest(now, then, plain)
            if not self._gains(then):
                return None
        return int8_model.saved_by_layer(now, then, self.objective), kept

    def _in_float32(self) -> Decision:
        """The decisions with what the user does not want to be int8."""
        options, planner = self.options, self.planner
        without = {key: form for key, form in options.storage.items() if form != INT8}
        plainly = Planner(
            replace(options, storage=without), self.board, planner.filtering, planner.measured
        )
        draft = plainly.draft(self.graph, Allowed(), without)
        return planner.decided(less_flash(plainly, self.graph, draft))

    def _gains(self, decided: Decision) -> bool:
        """Whether it is better than float32, or that does not fit."""
        assert self._real
        return self.planner.exceeded(self._real) or better(decided, self._real, self.objective)

    def _cheapest(
        self, now: Decision, then: Decision, plain: Callable[[Graph], NetworkPlan]
    ) -> tuple[Decision, frozenset[str]]:
        """``then``, or a network with tensors that stay float32 if that is better, and these."""
        planner, storage = self.planner, self.options.storage
        costs = Costs(*(int8_model.by_layer(each, self.objective) for each in (now, then)))
        between = border(self.graph, self.board.target, planner.machine)
        kept = kept_real(self.graph, storage, costs, between)
        if not kept:
            return then, kept
        graph = int8_model.pretended_int8(self.graph, storage, kept)
        mixed = planner.decided(self._fitting(graph, plain(graph)))
        return (mixed, kept) if self._improves(mixed, then) else (then, frozenset())

    def _fitting(self, graph: Graph, draft: NetworkPlan) -> NetworkPlan:
        """``draft``, made of ``graph``; where it has too little flash, with float32 filters in the
        format of most bits with which it fits."""
        planner, storage = self.planner, self.options.storage
        for form in FORMATS if planner.exceeded(draft, "flash") else ():
            formats = {**filters_in(graph, form), **storage}
            fewer = planner.draft(graph, draft.settled, formats)
            if not planner.exceeded(fewer):
                return fewer
        return draft

    def _made(self, saved: Mapping[str, float], kept: frozenset[str]) -> Int8Model | None:
        """The network quantised to int8 within the limits, but for the tensors ``kept``."""
        options, graph = self.options, self.graph
        quantiser = int8_model.quantiser_of(graph, options, self.progress, kept)
        self._quantiser, self._folder = quantiser, TemporaryDirectory(prefix="edgeconv-int8-")
        limits = Limits(options.min_sqnr, options.max_drop)
        keeps = limits.keep if options.int8 or options.limited else _whatever
        made = int8_model.make(quantiser, graph, Path(self._folder.name), keeps, saved)
        if made is None and options.int8:
            raise limits.missed(options.model.name, quantiser.samples.source)
        return made


def _whatever(measured: Accuracy) -> bool:
    """No limit of accuracy."""
    del measured
    return True
