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
from edgeconv.deciding.int8_model import Int8Model
from edgeconv.deciding.less_ram import taking_turns
from edgeconv.deciding.objective import better, require_prediction
from edgeconv.deciding.planning import Allowed, Decided, Draft, Planner
from edgeconv.fitting import require_labels
from edgeconv.ir.graph import Graph
from edgeconv.options import CompileOptions
from edgeconv.progress import Tell, nobody
from edgeconv.quantising.quantiser import Quantiser


class MadeInt8(Closing):
    """``graph``, a float32 network, made int8 by the user's samples at most once."""

    def __init__(self, planner: Planner, graph: Graph, tell: Tell = nobody) -> None:
        self.planner, self.graph, self.tell = planner, graph, tell
        self.options, self.board = planner.options, planner.board
        self._quantiser: Quantiser | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._model: Int8Model | None = None
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
        predicted to be better, or where it loses too much or does not fit.  Raises EdgeconvError
        where it is asked for and has operators that are not made int8.

        ``plain``: kernels and memory for a graph.  ``turns``: layers may take turns.
        """
        options, planner = self.options, self.planner
        if self._asked and options.calibration:
            int8_model.require_saved(self.graph)
        possible = int8_model.possible(self.graph) and not options.truncate
        if not (options.calibration and possible and (self._asked or options.limited)):
            return None
        if not self._tried:
            self._tried = True
            saved = self._saved(plain)
            if saved is not None:
                self._model = self._made(options.calibration, saved)
        if self._model is None:
            return None
        draft = plain(self._model.graph)
        short = planner.exceeded(draft)
        if turns and (short or options.objective == Objective.MEMORY.value):
            draft = taking_turns(planner, draft)
        if planner.exceeded(draft) and not self._asked:
            return None
        return self._model.into(planner.decided(draft), self.objective.value)

    def _saved(self, plain: Callable[[Graph], Draft]) -> dict[str, float] | None:
        """By layer what it saves in integers; None where all of them together are not predicted to
        be better, unless the user asks for them."""
        options, planner, storage = self.options, self.planner, self.options.storage
        pretended = int8_model.pretended_int8(self.graph, self.board.target, storage)
        without = {key: form for key, form in storage.items() if form != INT8}
        plainly = Planner(replace(options, storage=without), self.board, planner.filtering)
        in_float32 = plainly.draft(self.graph, Allowed(), without)
        now, then = planner.decided(in_float32), planner.decided(plain(pretended))
        if not self._asked:
            if self.objective is Objective.ENERGY:
                require_prediction(in_float32, self.board, self.objective)
            fits = not planner.exceeded(in_float32)
            computing = computing_notes(in_float32.choice)
            if computing or (fits and not better(then, now, self.objective)):
                return None
        return int8_model.saved_by_layer(now, then, self.objective)

    def _made(self, path: Path, saved: Mapping[str, float]) -> Int8Model | None:
        """The network made int8 within the limits."""
        options, graph = self.options, self.graph
        found = samples.load(path, graph)
        require_labels(found, options.max_drop)
        quantiser = Quantiser(graph, self.board.target, found, options.storage, self.tell)
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
