"""The order of decisions: kernels for the given formats, less RAM where that is short, a search for
formats where that is not enough."""

from __future__ import annotations

from dataclasses import replace

from edgeconv import frontend, passes
from edgeconv.budget.bound import least_flash, least_ram, refusal
from edgeconv.budget.frontier import POINTS, Point, thinned, undominated
from edgeconv.budget.tables import Limits, Objective
from edgeconv.calibration import samples
from edgeconv.choice_notes import computing_notes, integers_of
from edgeconv.choose.attention import with_attention
from edgeconv.choose.bit_for_bit import require_kernels
from edgeconv.choose.run_time_scales import in_integers
from edgeconv.choose.storage import EVERY_LAYER, OUTPUT
from edgeconv.closing import Closing
from edgeconv.codegen.port_names import port_names
from edgeconv.deciding.faster import with_faster
from edgeconv.deciding.fusing import by_price
from edgeconv.deciding.less_flash import less_flash
from edgeconv.deciding.less_ram import fastest_within, taking_turns, ways
from edgeconv.deciding.made_int8 import MadeInt8
from edgeconv.deciding.minimal_filtering import MinimalFiltering
from edgeconv.deciding.objective import (
    better,
    predictable,
    predicted_amount,
    require_prediction,
)
from edgeconv.deciding.planning import Allowed, Decided, Draft, Planner
from edgeconv.deciding.unasked import with_filtering
from edgeconv.errors import EdgeconvError, Exit, UsageError
from edgeconv.fitting import AtBest, Found, Search, UnfitError, Wishes, offered
from edgeconv.ir.graph import Graph
from edgeconv.machine import own_rates
from edgeconv.memory.link import kept_free
from edgeconv.memory.sizes import Overhead, Sizes
from edgeconv.ops import operators
from edgeconv.options import CompileOptions
from edgeconv.price.measured import Measured
from edgeconv.progress import Tell, nobody
from edgeconv.report import accuracy
from edgeconv.report.text import budget_lines

_SOON_SEARCHED = 2_000_000  # multiply-adds of a network in which the search takes no second


def decide(options: CompileOptions, tell: Tell = nobody) -> Decided:
    """Everything but emission.  Raises EdgeconvError for a model that cannot be compiled, and where
    accuracy limits or budgets allow no storage formats."""
    with Decider(options, tell) as decider:
        return decider.decide()


class Decider(Closing):
    """Decides about one model; again, once it is known what the program takes beside its data.

    ``measured``: times that are better known than predicted.  Raises EdgeconvError for a model or
    board that cannot be read.
    """

    def __init__(
        self, options: CompileOptions, tell: Tell = nobody, measured: Measured | None = None
    ) -> None:
        self.options, self.tell = options, tell
        self._learnt: list[Overhead] = []
        self.board = own_rates.load(options.board, tell)
        bare_metal = self.board.bare_metal
        filtering = MinimalFiltering(options, tell, bare_metal=bare_metal)
        self.planner = Planner(options, self.board, filtering, measured)
        tell("reading the model")
        graph = frontend.load(
            options.model,
            input_shapes=options.input_shapes,
            cut_at=options.cut,
            max_sizes=options.max_sizes,
        )
        tell("simplifying the graph")
        graph = replace(graph, requantise=options.requantise)
        require_kernels(graph)
        simple = passes.optimise(graph)
        self.graph = _in_integers(simple, self.planner)
        port_names(self.graph.inputs, self.graph.outputs, options.renames)  # before anything long
        self._integers = MadeInt8(self.planner, self.graph, tell)
        self._search: Search | None = None
        self._searched_among = Allowed()

    def close(self) -> None:
        """Let go of the networks that were measured, if any were."""
        self._integers.close()
        if self._search:
            self._search.close()

    @property
    def objective(self) -> Objective:
        """What the user wants smallest; latency where the board predicts it, else memory."""
        return predictable(self.options, self.board)

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

    def lightest(self) -> Decided:
        """The decisions with the least flash within --min-sqnr, whatever its budget: what the code
        of a small program takes is learnt from it."""
        search = self._searched(self.plain())
        ram = self.board.ram_bytes if self.board.bare_metal else None  # or it cannot be linked
        return self._with(search, search.lightest(ram))

    def nearest(self) -> Decided:
        """The decisions that exceed the budgets by the smallest part, within --min-sqnr, as far as
        it is known what the program takes beside its data."""
        plain = self.plain()
        search, budgets = self._searched(plain), self.planner.budgets
        return self._with(search, search.nearest(budgets.ram, budgets.flash))

    def _with(self, search: Search, found: Found) -> Decided:
        draft = self.planner.draft(found.graph, self._searched_among, found.storage)
        best = self.planner.decided(draft)
        source = search.samples.source
        options = replace(self.options, objective=self.objective.value)
        report = accuracy.with_found(best.report, found, options, source)
        notes = (*best.notes, *accuracy.notes(found, source, alike=search.samples.alike))
        return replace(best, report=report, notes=notes, found=found)

    def decide(self, turns: bool = True) -> Decided:
        """The decisions; formats are searched for where the user sets a limit of accuracy, gives
        samples to round by, or where float32 does not fit.  ``turns``: layers may take turns."""
        self._require_possible()
        made = self._integers.decided(self._in_integers, turns)
        if made and not (self._integers.compared and self._may_be_better(made)):
            return made
        try:
            other = self._in_float32(turns)
        except UnfitError:
            if made:
                return made
            raise
        return made if made and better(made, other, self._integers.objective) else other

    def _may_be_better(self, made: Decided) -> bool:
        """Whether float32 with filters and results in fewer bits could be better than the network
        made int8, whatever that did to its outputs: else nothing of it is measured."""
        objective, planner = self._integers.objective, self.planner
        now = predicted_amount(made, objective)
        if objective is Objective.MEMORY or now is None:
            return objective is Objective.MEMORY
        self.tell("pricing formats in float32")
        draft = self._plain()
        offers = offered(self.graph, self.board, self.options.storage)
        best = AtBest(self.graph, self.board, planner.lower(draft.settled), offers, self.tell)
        least = best.least(objective, planner.budgets.ram, planner.budgets.flash)
        return least is not None and least < now

    def _in_float32(self, turns: bool) -> Decided:
        """The decisions with arithmetic as the model has it."""
        options, planner = self.options, self.planner
        wished = options.limited
        calibrated = bool(options.calibration and options.storage)
        drafts = self._drafts(turns=turns and not (wished or calibrated))
        plain = drafts[0]
        short = planner.exceeded(plain) and not computing_notes(plain.choice)
        wanted = short or options.objective == Objective.MEMORY.value
        if turns and wanted and not (wished or calibrated):
            # Where integers are computed it may be other kernels that take turns with less.
            others = (each for each in drafts[1:] if integers_of(each.choice))
            turning = [taking_turns(planner, each) for each in (plain, *others)]
            plain = min(turning, key=lambda each: each.sizes.ram.total)
            short = short and planner.exceeded(plain)
        if not (wished or calibrated or short):
            plain = by_price(planner, plain) if turns and not wanted else plain
            unused = (_UNUSED,) if options.calibration else ()
            plain = replace(plain, notes=(*plain.notes, *unused))
            decided = with_faster(planner, self.graph, planner.decided(plain))
            return with_filtering(planner, self.graph, decided)
        try:
            search = self._searched(plain)
        except EdgeconvError as error:
            if error.code is Exit.MISSING_TOOL and not (wished or calibrated):
                noted = (*plain.notes, _NO_COMPILER.format(error.what))
                return planner.decided(replace(plain, notes=noted))
            raise
        try:
            found = search.find(planner.budgets.ram, planner.budgets.flash)
        except UnfitError as error:
            raise self._unfit(error, plain) from None
        return self._with(search, found)

    def _require_possible(self) -> None:
        """Raises UnfitError where a budget is below what is needed in any case, before anything
        long.  What a small network needs is found to the byte as fast."""
        options, board, budgets = self.options, self.board, self.planner.budgets
        has = Limits(board.ram_bytes, board.flash_bytes) if board.bare_metal else Limits()
        limits = Limits(budgets.ram, budgets.flash)
        if limits == Limits() or _macs(self.graph) < _SOON_SEARCHED:
            return
        together = with_attention(self.graph, board.target, least_ram=True)
        bounds = [least_ram(each, board.target, self.planner.io) for each in (self.graph, together)]
        ram = min(bounds, key=lambda bound: bound.bytes)
        if why := refusal(ram, least_flash(self.graph), limits, has):
            where = f"{options.model.name} on board {board.name}"
            text = why.one_line()
            error = EdgeconvError("does not fit", where=where, rule=text, details=why.details)
            raise UnfitError(error, final=True)

    def frontier(self) -> tuple[Point, ...]:
        """What formats trade, within the budgets that the user sets and --min-sqnr, with each of
        the kernels that `plain` chooses among: those that take time and those that take RAM."""
        search = self._searched(self._plain())
        ram, flash = self.options.ram, self.options.flash
        found: list[Point] = []
        for allowed in ways(self.graph, self.board):
            draft = self.planner.draft(self.graph, allowed, self.options.storage)
            kept = integers_of(draft.choice)
            found += search.on(self.planner.lower(draft.settled), kept).frontier(ram, flash)
        return search.measure(thinned(undominated(found), POINTS))

    def _in_integers(self, graph: Graph) -> Draft:
        """Kernels and memory for the model made int8."""
        return self._plain(graph, self._integers.objective)

    def plain(self) -> Decided:
        """The decisions with the formats that the user gives, and float32 elsewhere."""
        return self.planner.decided(self._plain())

    def _plain(self, graph: Graph | None = None, objective: Objective | None = None) -> Draft:
        return self._drafts(graph, objective)[0]

    def _drafts(
        self,
        graph: Graph | None = None,
        objective: Objective | None = None,
        *,
        turns: bool = False,
    ) -> list[Draft]:
        """Of ``graph``, by default the model, the least RAM first: more than one where it is to be
        small.  ``turns``: layers may take turns where RAM is short."""
        self.tell("choosing layouts and kernels")
        planner, graph = self.planner, graph or self.graph
        made: list[Draft] = []
        wanted = self.options.objective == Objective.MEMORY.value
        smallest = (objective or self.objective) is Objective.MEMORY
        wanted = wanted or (self.options.limited and smallest)
        for allowed in ways(graph, self.board):
            if made:
                self.tell("choosing again for less RAM")
            draft = less_flash(planner, graph, planner.draft(graph, allowed, self.options.storage))
            made.append(draft)
            if wanted:
                continue
            if not (planner.budgets.ram and planner.exceeded(draft, "ram")):
                break
            if not allowed.workspace:
                fitting = fastest_within(planner, graph, draft, turns=turns)
                if fitting:
                    return [fitting]
        made.reverse()  # of equally small ones the last: without workspaces
        return sorted(made, key=lambda each: each.sizes.ram.total)

    def _unfit(self, error: UnfitError, plain: Draft) -> UnfitError:
        """``error``, with what float32 would take, and no hint that the board cannot follow."""
        lossless = "without rounding" if integers_of(plain.choice) else "in float32"
        lines = tuple(f"{lossless}, {line}" for line in budget_lines(plain.sizes))
        if self.board.bare_metal:
            kept, region = kept_free(self.board), self.board.ram[0].name
            stack = "are kept free for stack and variables, which --build tells"
            lines += (f"{kept:,} bytes of {region} {stack}",)
        sizes = (("RAM", self.board.ram_bytes), ("flash", self.board.flash_bytes))
        beyond = [
            f"the board has {has:,} bytes of {name}"
            for (name, has), needed in zip(sizes, error.nearest, strict=False)
            if self.board.bare_metal and has is not None and needed > has
        ]
        hint = f"{' and '.join(beyond)}: no budget helps" if beyond else error.hint
        why = EdgeconvError(error.what, got=error.got, rule=error.rule, hint=hint)
        return UnfitError(
            EdgeconvError(
                "does not fit",
                where=f"{self.options.model.name} on board {self.board.name}",
                rule=why.one_line(),
                details=(*lines, *error.details),
            )
        )

    def _searched(self, plain: Draft) -> Search:
        options = self.options
        if computing := computing_notes(plain.choice):
            raise UsageError(
                "storage formats are searched for in float32 only",
                rule=computing[0].partition(":")[0],
                hint="name the formats with --storage, or leave that --algorithm out",
            )
        if self.options.limited:
            require_prediction(plain, self.board, self.objective)
        if self._search is None:
            self._searched_among = plain.settled
            self._search = Search(
                self.graph,
                self.board,
                samples.load(options.calibration, self.graph),
                Wishes(
                    options.storage,
                    options.min_sqnr,
                    options.max_drop,
                    self.objective,
                    options.truncate,
                ),
                self.planner.lower(plain.settled),
                self.tell,
                kept=integers_of(plain.choice),
            )
        return self._search


def _in_integers(graph: Graph, planner: Planner) -> Graph:
    """``graph`` with the layers that it quantises at run time in integers, where that is faster and
    the user asks for nothing else."""
    asked = {name.removesuffix(OUTPUT) for name in planner.options.storage}
    asked |= planner.options.algorithms.keys()
    if EVERY_LAYER in asked:
        return graph
    return in_integers(graph, planner.board.target, planner.machine, frozenset(asked))


def _macs(graph: Graph) -> int:
    return sum(operators()[node.op].macs(node, graph) for node in graph.nodes)


_NO_COMPILER = "float32 does not fit, and other formats cannot be measured here: {}"
_UNUSED = (
    "--calibration was not needed: everything fits as it is, and neither --min-sqnr nor --max-drop "
    "allows any loss"
)
