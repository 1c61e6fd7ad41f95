"""Whether a float32 network is made int8, and the decisions about what it then is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

from edgeconv.budget.tables import Objective
from edgeconv.calibration import samples
from edgeconv.calibration.sqnr import Accuracy
from edgeconv.choice_notes import computing_notes
from edgeconv.choose.storage import INT8
from edgeconv.closing import Closing
from edgeconv.deciding import int8_model
from edgeconv.deciding.fusing import by_price
from edgeconv.deciding.int8_model import Int8Model
from edgeconv.deciding.less_ram import taking_turns
from edgeconv.deciding.objective import better, require_prediction
from edgeconv.deciding.planning import Allowed, Decided, Draft, Planner
from edgeconv.fitting import require_labels
from edgeconv.ir.graph import Graph
from edgeconv.options import CompileOptions
from edgeconv.progress import Tell, nobody
from edgeconv.quantising.by_price import Costs, border, kept_real
from edgeconv.quantising.quantiser import Quantiser


class MadeInt8(Closing):
    """``graph``, a float32 network, made int8 by the user's samples at most once."""

    def __init__(self, planner: Planner, graph: Graph, tell: Tell = nobody) -> None:
        self.planner, self.graph, self.tell = planner, graph, tell
        self.options, self.board = planner.options, planner.board
        self._quantiser: Quantiser | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._model: Int8Model | None = None
        self._real: Decided | None = None
        self._tried = False

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
        """Whether other decisions may be better than those in integers."""
        return not self._asked and self.objective is Objective.MEMORY

    @cached_property
    def _asked(self) -> bool:
        """Whether the user wants results to be int8."""
        return int8_model.asked(self.options, self.graph)

    def decided(self, plain: Callable[[Graph], Draft], turns: bool) -> Decided | None:
        """The decisions with the network made int8; None where that is not asked for and not
        predicted to be better, or where it loses too much or does not fit.

        ``plain``: kernels and memory for a graph.  ``turns``: layers may take turns.
        """
        options, planner = self.options, self.planner
        possible = int8_model.possible(self.graph) and not options.truncate
        if not (options.calibration and possible and (self._asked or options.limited)):
            return None
        if not self._tried:
            self._tried = True
            worth = self._worth(plain)
            if worth is not None:
                self._model = self._made(options.calibration, *worth)
        if self._model is None:
            return None
        draft = plain(self._model.graph)
        short = planner.exceeded(draft)
        if turns and (short or options.objective == Objective.MEMORY.value):
            draft = taking_turns(planner, draft)
        elif turns:
            draft = by_price(planner, draft)
        decided = planner.decided(draft)
        if not self._asked and (planner.exceeded(draft) or not self._gains(decided)):
            return None
        return self._model.into(decided, self.objective.value)

    def _worth(
        self, plain: Callable[[Graph], Draft]
    ) -> tuple[dict[str, float], frozenset[str]] | None:
        """By layer what it saves in integers, and the tensors that stay float32; None where no such
        network is predicted to be better, unless the user asks for it."""
        planner, target, storage = self.planner, self.board.target, self.options.storage
        self._real = self._in_float32()
        now = self._real
        then = planner.decided(plain(int8_model.pretended_int8(self.graph, target, storage)))
        kept: frozenset[str] = frozenset()
        if not self._asked:
            if self.objective is Objective.ENERGY:
                require_prediction(now, self.board, self.objective)
            if computing_notes(now.choice):
                return None
            if self.objective is not Objective.MEMORY:
                then, kept = self._cheapest(now, then, plain)
            if not self._gains(then):
                return None
        return int8_model.saved_by_layer(now, then, self.objective), kept

    def _in_float32(self) -> Decided:
        """The decisions with what the user does not want to be int8."""
        options, planner = self.options, self.planner
        without = {key: form for key, form in options.storage.items() if form != INT8}
        plainly = Planner(
            replace(options, storage=without), self.board, planner.filtering, planner.measured
        )
        return planner.decided(plainly.draft(self.graph, Allowed(), without))

    def _gains(self, decided: Decided) -> bool:
        """Whether it is better than float32, or that does not fit."""
        assert self._real
        return self.planner.exceeded(self._real) or better(decided, self._real, self.objective)

    def _cheapest(
        self, now: Decided, then: Decided, plain: Callable[[Graph], Draft]
    ) -> tuple[Decided, frozenset[str]]:
        """``then``, or a network with tensors that stay float32 if that is better, and these."""
        planner, target, storage = self.planner, self.board.target, self.options.storage
        costs = Costs(*(int8_model.by_layer(each, self.objective) for each in (now, then)))
        between = border(self.graph, target, planner.machine)
        kept = kept_real(self.graph, target, storage, costs, between)
        if not kept:
            return then, kept
        mixed = planner.decided(plain(int8_model.pretended_int8(self.graph, target, storage, kept)))
        fits = planner.exceeded(then) or not planner.exceeded(mixed)
        better_so = fits and better(mixed, then, self.objective)
        return (mixed, kept) if better_so else (then, frozenset())

    def _made(
        self, path: Path, saved: Mapping[str, float], kept: frozenset[str]
    ) -> Int8Model | None:
        """The network made int8 within the limits, but for the tensors ``kept``."""
        options, graph = self.options, self.graph
        found = samples.load(path, graph)
        require_labels(found, options.max_drop)
        quantiser = Quantiser(graph, self.board.target, found, options.storage, self.tell, kept)
        self._quantiser, self._folder = quantiser, TemporaryDirectory(prefix="edgeconv-int8-")
        folder = Path(self._folder.name)
        return int8_model.make(
            quantiser, graph, folder, lambda measured: _within(measured, options), saved
        )


def _within(measured: Accuracy, options: CompileOptions) -> bool:
    """Whether the limits of accuracy are kept."""
    least, most = options.min_sqnr, options.max_drop
    loud = least is not None and measured.sqnr_db < least
    return not loud and (most is None or measured.loses_at_most(most))
