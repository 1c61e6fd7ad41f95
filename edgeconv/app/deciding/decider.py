"""The order of decisions: kernels for the given formats, less RAM where that is short, a search for
formats where that is not enough."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace

from edgeconv.app.choice_notes import integers_of
from edgeconv.app.deciding import preprocess_model, stream_model
from edgeconv.app.deciding.float16_hint import require_plain
from edgeconv.app.deciding.formats import Formats
from edgeconv.app.deciding.int8_window import Int8Window
from edgeconv.app.deciding.less_ram import trade_offs, ways
from edgeconv.app.deciding.minimum_footprint import soon_decided
from edgeconv.app.deciding.objective import (
    better,
    predicted_amount,
)
from edgeconv.app.deciding.planning import Decision, NetworkPlan, Planner
from edgeconv.app.deciding.post_training_quantisation import PostTrainingQuantisation
from edgeconv.app.deciding.sequences import simplified
from edgeconv.app.deciding.winograd import WinogradDecision
from edgeconv.base.closing import Closing
from edgeconv.base.errors import EdgeconvError
from edgeconv.base.progress import Progress, no_progress
from edgeconv.codegen.port_names import port_names
from edgeconv.ir.graph import Graph
from edgeconv.ir.loop import LOOP
from edgeconv.ir.requantisation import TFLITE
from edgeconv.ir.states import with_integer_states
from edgeconv.model import frontend
from edgeconv.model.recurrences.form import Form
from edgeconv.run.machine import own_rates
from edgeconv.search.budget.bound import minimum_flash, minimum_ram, refusal
from edgeconv.search.budget.frontier import POINTS, Point, thinned, undominated
from edgeconv.search.budget.tables import Limits, Objective
from edgeconv.search.choose.attention import with_attention
from edgeconv.search.choose.bit_for_bit import require_kernels, with_integer_results
from edgeconv.search.choose.dynamic_quantisation import in_integers
from edgeconv.search.choose.known_calls import KNOWN
from edgeconv.search.choose.storage import EVERY_LAYER, OUTPUT
from edgeconv.search.fitting import AtBest, UnfitError, offered
from edgeconv.search.loops import with_programs
from edgeconv.search.memory.sizes import Overhead, Sizes
from edgeconv.search.options import CompileOptions
from edgeconv.search.predict import predict
from edgeconv.target.price.measured import Measured


def decide(options: CompileOptions, progress: Progress = no_progress) -> Decision:
    """Everything but emission.  Raises EdgeconvError for a model that cannot be compiled, and where
    accuracy limits or budgets allow no storage formats."""
    with Decider(options, progress) as decider:
        return decider.decide()


class Decider(Closing):
    """Decides about one model; again, once it is known what the program takes beside its data.

    ``measured``: times that are better known than predicted.  Raises EdgeconvError for a model or
    board that cannot be read.
    """

    def __init__(
        self,
        options: CompileOptions,
        progress: Progress = no_progress,
        measured: Measured | None = None,
    ) -> None:
        require_plain(options)
        stream_model.require_plain(options)
        preprocess_model.require_plain(options)
        self.options, self.progress = options, progress
        self._window: Int8Window | None = None
        self._learnt: list[Overhead] = []
        self._requested: Decider | None = None  # whose budgets reports are to be of
        self.board = own_rates.load(options.board, progress)
        self.planner = self._planner(options, measured)
        progress("reading the model")
        graph = frontend.load(
            options.model,
            input_shapes=options.input_shapes,
            cut_at=replace(options.cut, dynamic_quantisation=options.requantise == TFLITE),
            max_sizes=options.max_sizes,
            states=options.states,
            initial_states=options.initial_states,
            loops=not options.asks_of_layers,
        )
        progress("simplifying the graph")
        graph = replace(graph, requantise=options.requantise)
        require_kernels(graph)
        graph, recurrences = self._simplified(graph)
        if options.streams:
            if options.int8:
                stream_model.slid(graph, options)  # or a refusal would come after the long part
                self._window = Int8Window(graph, options, progress)
                graph = self._window.model.graph
            progress("sliding the window")
            stream = stream_model.make(graph, options)
            left = self._window.options if self._window else options
            self.planner = self._planner(stream.asked(left), measured)
            self.planner.stream, graph = stream, stream.graph
        if options.preprocess:
            self.planner.frames = preprocess_model.make(graph, options.preprocess)
            graph = self.planner.frames.graph
        self.planner.recurrences = recurrences
        graph = with_programs(graph, self.board.target)
        simple = with_integer_results(graph)
        self.graph = _in_integers(simple, self.planner)
        graph = self.graph
        kept = [state.names[0] for state in graph.states]
        ports = graph.input_ports, graph.output_ports
        port_names(*ports, options.renames, kept, signature=graph.signature)  # now: it is short
        self._integers = PostTrainingQuantisation(self.planner, self.graph, progress)
        self._formats = Formats(self.planner, self.graph, progress)

    def _simplified(self, graph: Graph) -> tuple[Graph, Form]:
        loops = not self.options.asks_of_layers and any(node.op == LOOP for node in graph.nodes)
        ram, target = self.planner.budgets.ram, self.board.target
        graph = with_integer_states(graph)
        made, sequences = simplified(graph, self.options, target, self.planner.io, ram)
        return made, Form(loops, sequences)

    def _planner(self, options: CompileOptions, measured: Measured | None) -> Planner:
        filtering = WinogradDecision(options, self.progress, bare_metal=self.board.bare_metal)
        return Planner(options, self.board, filtering, measured)

    def close(self) -> None:
        """Let go of the networks that were measured, if any were, and of known kernel calls."""
        KNOWN.clear()
        self._integers.close()
        self._formats.close()
        if self._window:
            self._window.close()

    def within_less(self) -> Iterator[Decider]:
        """Others of the same model for less RAM, the largest first, of which nothing built is
        known: kernels that take less of it have less code.  Their reports are of our budgets.  None
        where weights alone exceed these, or the network is large.  Not to be closed."""
        for ram in self._formats.less_ram():
            other = copy(self)
            other._formats = self._formats.within(ram, self.planner.budgets.flash)
            other.planner = other._formats.planner
            other.planner.overhead, other._learnt, other._requested = Overhead(), [], self
            yield other

    def _reported(self, decided: Decision) -> Decision:
        """``decided`` with the budgets that were asked for, and what int8 costs a window."""
        if self._requested is not None and "int8" not in decided.report["model"]:
            decided = self._requested._formats.again(decided)
        return self._window.into(decided) if self._window else decided

    def learn(self, built: Sizes, planned: Sizes) -> bool:
        """Take the overhead from the sizes of a built program; whether that is news.

        What was learnt before is forgotten, since other formats need other code; where that leads
        back to where it was, the most that any of them needed counts.
        """
        found = Overhead(
            built.ram.total - planned.ram.total, built.flash.total - planned.flash.total
        )
        if found in self._learnt:
            found = Overhead(
                max(each.ram for each in self._learnt), max(each.flash for each in self._learnt)
            )
        self._learnt.append(found)
        grown, self.planner.overhead = found != self.planner.overhead, found
        return grown

    def lightest(self) -> Decision:
        """The decisions with the least flash within --min-sqnr, whatever its budget: what the code
        of a small program takes is learnt from it."""
        searched = self._formats.searched(self._plain())
        ram = self.board.ram_bytes if self.board.bare_metal else None  # or it cannot be linked
        return self._reported(self._formats.with_found(searched, searched.search.lightest(ram)))

    def nearest(self) -> Decision:
        """The decisions that exceed the budgets by the smallest part, within --min-sqnr, as far as
        it is known what the program takes beside its data."""
        searched, budgets = self._formats.searched(self._plain()), self.planner.budgets
        found = searched.search.nearest(budgets.ram, budgets.flash)
        return self._reported(self._formats.with_found(searched, found))

    def decide(self, streaming: bool = True) -> Decision:
        """The decisions; formats are searched for where the user sets a limit of accuracy, gives
        samples to round by, or where float32 does not fit.  ``streaming``: layers may stream
        rows."""
        self._require_possible()
        made = self._integers.decided(self._in_integers, streaming)
        if made and not (self._integers.compared and self._may_be_better(made)):
            return made
        if not made:
            return self._reported(self._formats.decide(streaming))
        try:
            other = self._formats.attempt(streaming).decided
        except UnfitError:
            return made
        return made if other is None or better(made, other, self._integers.objective) else other

    def _may_be_better(self, made: Decision) -> bool:
        """Whether float32 with filters and results in fewer bits could be better than the network
        quantised to int8, whatever that did to its outputs: else nothing of it is measured."""
        objective, planner = self._integers.objective, self.planner
        now = predicted_amount(made, objective)
        if objective is Objective.MEMORY or now is None:
            return objective is Objective.MEMORY
        self.progress("pricing formats in float32")
        draft = self._plain()
        offers = offered(self.graph, planner.options.storage)
        best = AtBest(self.graph, self.board, planner.lower(draft.settled), offers, self.progress)
        least = best.least(objective, planner.budgets.ram, planner.budgets.flash)
        return least is not None and least < now

    def _require_possible(self) -> None:
        """Raises UnfitError where a budget is below what is needed in any case, before anything
        long.  What a small network needs is found to the byte as fast."""
        options, board, budgets = self.options, self.board, self.planner.budgets
        has = Limits(board.ram_bytes, board.flash_bytes) if board.bare_metal else Limits()
        limits = Limits(budgets.ram, budgets.flash)
        if limits == Limits() or soon_decided(self.graph):
            return
        together = with_attention(self.graph, board.target, minimum_ram=True)
        bounds = [minimum_ram(each, self.planner.io) for each in (self.graph, together)]
        ram = min(bounds, key=lambda bound: bound.bytes)
        if why := refusal(ram, minimum_flash(self.graph), limits, has):
            where = f"{options.model.name} on board {board.name}"
            text = why.one_line()
            error = EdgeconvError("does not fit", where=where, rule=text, details=why.details)
            raise UnfitError(error, final=True)

    def frontier(self) -> tuple[Point, ...]:
        """What formats trade, within the budgets that the user sets and --min-sqnr, with each of
        the kernels that `plain` chooses among: those that take time and those that take RAM; and
        what row streaming trades of RAM for time, without any loss."""
        search = self._formats.searched(self._plain()).search
        ram, flash = self.options.ram, self.options.flash
        found: list[Point] = []
        for number, allowed in enumerate(ways(self.graph, self.board)):
            draft = self.planner.draft(self.graph, allowed, self.planner.options.storage)
            kept = integers_of(draft.choice)
            points = search.on(self.planner.lower(draft.settled), kept).frontier(ram, flash)
            found += points
            # Of the fastest kernels: with others RAM costs more time still.
            for point in [] if number else [point for point in points if not point.noise][:1]:
                found += (self._traded(point, each) for each in trade_offs(self.planner, draft))
        return search.measure(thinned(undominated(found), POINTS))

    def _traded(self, point: Point, plan: NetworkPlan) -> Point:
        """``point``, planned so."""
        sizes, predicted = plan.sizes, predict(plan.choice, plan.memory, self.board)
        ms, mj = predicted.ms, predicted.mj
        return replace(point, ram=sizes.ram.total, flash=sizes.flash.total, ms=ms, mj=mj)

    def _in_integers(self, graph: Graph) -> NetworkPlan:
        """Kernels and memory for the model quantised to int8."""
        return self._plain(graph, self._integers.objective)

    def plain(self) -> Decision:
        """The decisions with the formats that the user gives, and float32 elsewhere."""
        decided = self.planner.decided(self._plain())
        return self._window.into(decided) if self._window else decided

    def _plain(self, graph: Graph | None = None, objective: Objective | None = None) -> NetworkPlan:
        return self._formats.drafts(graph or self.graph, objective)[0]


def _in_integers(graph: Graph, planner: Planner) -> Graph:
    """``graph`` with the layers that it quantises at run time in integers, where that is faster and
    the user asks for nothing else."""
    asked = {name.removesuffix(OUTPUT) for name in planner.options.storage}
    asked |= planner.options.algorithms.keys()
    if EVERY_LAYER in asked:
        return graph
    return in_integers(graph, planner.board.target, planner.machine, frozenset(asked))
