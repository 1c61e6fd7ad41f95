"""The order of decisions: kernels for the given formats, less RAM where that is short, a search for
formats where that is not enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from edgeconv import board as boards
from edgeconv import frontend, passes
from edgeconv.budget.bound import least_flash, least_ram, refusal
from edgeconv.budget.frontier import POINTS, Point, thinned, undominated
from edgeconv.budget.tables import Limits, Objective
from edgeconv.calibration import samples
from edgeconv.calibration.sqnr import Accuracy
from edgeconv.choice_notes import computing_notes, integers_of
from edgeconv.choose.storage import INT8
from edgeconv.closing import Closing
from edgeconv.codegen.port_names import port_names
from edgeconv.deciding import int8_model
from edgeconv.deciding.faster import with_faster
from edgeconv.deciding.int8_model import Int8Model
from edgeconv.deciding.less_flash import less_flash
from edgeconv.deciding.less_ram import taking_turns, tightened, ways
from edgeconv.deciding.minimal_filtering import MinimalFiltering
from edgeconv.deciding.planning import Allowed, Decided, Draft, Planner
from edgeconv.errors import EdgeconvError, Exit, UsageError
from edgeconv.fitting import Found, Lower, Planned, Search, UnfitError, Wishes, require_labels
from edgeconv.ir.graph import Graph
from edgeconv.memory.link import kept_free
from edgeconv.memory.sizes import Overhead, Sizes
from edgeconv.ops import operators
from edgeconv.options import CompileOptions
from edgeconv.predict import predict
from edgeconv.progress import Tell, nobody
from edgeconv.quantising.quantiser import Quantiser
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

    Raises EdgeconvError for a model or board that cannot be read.
    """

    def __init__(self, options: CompileOptions, tell: Tell = nobody) -> None:
        self.options, self.tell = options, tell
        self._learnt: list[Overhead] = []
        self.board = boards.load(options.board)
        self.planner = Planner(options, self.board, MinimalFiltering(options, tell))
        tell("reading the model")
        graph = frontend.load(options.model, input_shapes=options.input_shapes, cut_at=options.cut)
        tell("simplifying the graph")
        self.graph = passes.optimise(graph)
        port_names(self.graph.inputs, self.graph.outputs, options.renames)  # before anything long
        self._quantiser: Quantiser | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._int8: Int8Model | None = None
        self._int8_tried = False
        self._search: Search | None = None
        self._searched_among = Allowed()

    def close(self) -> None:
        """Let go of the networks that were measured, if any were."""
        for used in (self._search, self._quantiser):
            if used:
                used.close()
        if self._folder:
            self._folder.cleanup()

    @property
    def objective(self) -> Objective:
        """What the user wants smallest; latency where the board predicts it, else memory."""
        if self.options.objective:
            return Objective(self.options.objective)
        predicts = self.board.macs_per_cycle is not None
        return Objective.LATENCY if predicts else Objective.MEMORY

    @property
    def _limited(self) -> bool:
        """Whether accuracy has a limit, within which bytes or time may be saved."""
        return self.options.min_sqnr is not None or self.options.max_drop is not None

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
        made = self._made_int8(turns)
        if made and (self._int8_asked or self.objective is not Objective.MEMORY):
            return made
        try:
            other = self._in_float32(turns)
        except UnfitError:
            if made:
                return made
            raise
        return made if made and better(made, other, self.objective) else other

    def _in_float32(self, turns: bool) -> Decided:
        """The decisions with arithmetic as the model has it."""
        drafts, options, planner = self._drafts(), self.options, self.planner
        plain = drafts[0]
        wished = self._limited
        calibrated = bool(options.calibration and options.storage)
        short = planner.exceeded(plain) and not computing_notes(plain.choice)
        wanted = short or options.objective == Objective.MEMORY.value
        if turns and wanted and not (wished or calibrated):
            # Where integers are computed it may be other kernels that take turns with less.
            others = (each for each in drafts[1:] if integers_of(each.choice))
            turning = [taking_turns(planner, each) for each in (plain, *others)]
            plain = min(turning, key=lambda each: each.sizes.ram.total)
            short = short and planner.exceeded(plain)
        if not (wished or calibrated or short):
            unused = (_UNUSED,) if options.calibration else ()
            plain = replace(plain, notes=(*plain.notes, *unused))
            return with_faster(planner, self.graph, planner.decided(plain))
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

    @property
    def _int8_asked(self) -> bool:
        """Whether the user wants results of a float32 network to be int8."""
        return int8_model.asked(self.options, self.graph)

    def _made_int8(self, turns: bool) -> Decided | None:
        """The decisions with the network made int8 by the user's samples; None where that is not
        asked for and not predicted to be better, or where it loses too much or does not fit."""
        options, planner, asked = self.options, self.planner, self._int8_asked
        possible = int8_model.possible(self.graph) and not options.truncate
        if not (options.calibration and possible and (asked or self._limited)):
            return None
        if not self._int8_tried:
            self._int8_tried = True
            worth = self._worth_int8()
            if worth is not None:
                self._int8 = self._int8_model(options.calibration, worth)
        if self._int8 is None:
            return None
        draft = self._plain(self._int8.graph)
        short = planner.exceeded(draft)
        if turns and (short or options.objective == Objective.MEMORY.value):
            draft = taking_turns(planner, draft)
        if planner.exceeded(draft) and not asked:
            return None
        return self._int8.into(planner.decided(draft), self.objective.value)

    def _worth_int8(self) -> dict[str, float] | None:
        """By layer what it saves in integers; None where all of them together are not predicted to
        be better, unless the user asks for them."""
        options, planner = self.options, self.planner
        target, storage = self.board.target, options.storage
        pretended = int8_model.pretended_int8(self.graph, target, storage)
        without = {key: form for key, form in storage.items() if form != INT8}
        plain = Planner(replace(options, storage=without), self.board, planner.filtering).draft(
            self.graph, Allowed(), without
        )
        now, then = planner.decided(plain), planner.decided(self._plain(pretended))
        if not self._int8_asked:
            self._require_prediction(plain)
            fits = not planner.exceeded(plain)
            if computing_notes(plain.choice) or (fits and not better(then, now, self.objective)):
                return None
        return int8_model.saved_by_layer(now, then)

    def _int8_model(self, path: Path, saved: Mapping[str, float]) -> Int8Model | None:
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

    def _require_possible(self) -> None:
        """Raises UnfitError where a budget is below what is needed in any case, before anything
        long.  What a small network needs is found to the byte as fast."""
        options, board, budgets = self.options, self.board, self.planner.budgets
        has = Limits(board.ram_bytes, board.flash_bytes) if board.bare_metal else Limits()
        limits = Limits(budgets.ram, budgets.flash)
        if limits == Limits() or _macs(self.graph) < _SOON_SEARCHED:
            return
        ram = least_ram(self.graph, board.target, self.planner.io)
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
            found += search.on(self._lower(draft.settled), kept).frontier(ram, flash)
        return search.measure(thinned(undominated(found), POINTS))

    def plain(self) -> Decided:
        """The decisions with the formats that the user gives, and float32 elsewhere."""
        return self.planner.decided(self._plain())

    def _plain(self, graph: Graph | None = None) -> Draft:
        return self._drafts(graph)[0]

    def _drafts(self, graph: Graph | None = None) -> list[Draft]:
        """Of ``graph``, by default the model, the least RAM first: more than one where it is to be
        small."""
        self.tell("choosing layouts and kernels")
        planner, graph = self.planner, graph or self.graph
        made: list[Draft] = []
        wanted = self.options.objective == Objective.MEMORY.value
        wanted = wanted or (self._limited and self.objective is Objective.MEMORY)
        for allowed in ways(graph, self.board):
            if made:
                self.tell("choosing again for less RAM")
            draft = less_flash(planner, graph, planner.draft(graph, allowed, self.options.storage))
            made.append(draft)
            if wanted:
                continue
            if not (planner.budgets.ram and planner.exceeded(draft, "ram")):
                break
            if not allowed.workspace and (partly := tightened(planner, graph, draft)):
                return [partly]
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
        if self._limited:
            self._require_prediction(plain)
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
                self._lower(plain.settled),
                self.tell,
                kept=integers_of(plain.choice),
            )
        return self._search

    def _lower(self, allowed: Allowed) -> Lower:
        return lambda graph, storage: self._planned(graph, allowed, storage)

    def _require_prediction(self, plain: Draft) -> None:
        """Before anything is measured: EdgeconvError where nothing predicts the objective."""
        predicted = predict(plain.choice, plain.memory, self.board)
        known = {
            Objective.LATENCY: (predicted.ms, predicted.time_source),
            Objective.ENERGY: (predicted.mj, predicted.energy_source),
        }
        value, source = known.get(self.objective, (0.0, ""))
        if value is None:
            raise UsageError(
                f"cannot minimise {self.objective.value}",
                got=f"board {self.board.name}",
                rule=source,
                hint="--objective memory needs no prediction",
            )

    def _planned(self, graph: Graph, allowed: Allowed, storage: Mapping[str, str]) -> Planned:
        draft, overhead = self.planner.draft(graph, allowed, storage), self.planner.overhead
        excess = draft.sizes.excess()
        return Planned(
            draft.choice,
            draft.memory,
            draft.sizes.ram.total + overhead.ram,
            draft.sizes.flash.total,
            overhead.flash,
            sum(each.bytes for each in excess if each.kind == "ram" and each.region),
        )


def _within(measured: Accuracy, options: CompileOptions) -> bool:
    """Whether the limits of accuracy are kept."""
    least, most = options.min_sqnr, options.max_drop
    loud = least is not None and measured.sqnr_db < least
    return not loud and (most is None or measured.loses_at_most(most))


def better(one: Decided, other: Decided, objective: Objective) -> bool:
    """Whether ``one`` is better by what the user wants to be small."""
    return _amount(one, objective) < _amount(other, objective)


def _amount(decided: Decided, objective: Objective) -> float:
    sizes, predicted = decided.sizes, decided.predicted
    if objective is Objective.LATENCY:
        return predicted.ms or 0.0
    if objective is Objective.ENERGY:
        return predicted.mj or 0.0
    return sizes.ram.total + sizes.flash.total


def _macs(graph: Graph) -> int:
    return sum(operators()[node.op].macs(node, graph) for node in graph.nodes)


_NO_COMPILER = "float32 does not fit, and other formats cannot be measured here: {}"
_UNUSED = (
    "--calibration was not needed: everything fits as it is, and neither --min-sqnr nor --max-drop "
    "allows any loss"
)
