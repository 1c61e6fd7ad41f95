"""From a model to every decision about it: kernels, memory and, where needed, storage formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from edgeconv import board as boards
from edgeconv import choose, frontend, memory, passes
from edgeconv.board import Board
from edgeconv.budget.bound import least_flash, least_ram, refusal
from edgeconv.budget.frontier import POINTS, Point, thinned, undominated
from edgeconv.budget.tables import Limits, Objective
from edgeconv.calibration import samples
from edgeconv.choice_notes import computing_notes, integer_notes, integers_of
from edgeconv.choose.storage import EVERY_LAYER, INT8, OUTPUT, lossless
from edgeconv.closing import Closing
from edgeconv.codegen.emit import weight_image
from edgeconv.codegen.port_names import port_names
from edgeconv.errors import EdgeconvError, Exit, UsageError
from edgeconv.fitting import Found, Lower, Planned, Search, UnfitError, Wishes
from edgeconv.ir.choice import Choice
from edgeconv.ir.graph import Graph
from edgeconv.ir.memory import MemoryMap
from edgeconv.memory.by_turns import by_turns
from edgeconv.memory.link import kept_free
from edgeconv.ops import operators
from edgeconv.options import CompileOptions
from edgeconv.progress import Tell, nobody
from edgeconv.report import accuracy, document
from edgeconv.report.document import Facts, Report, excess
from edgeconv.report.stored_advice import faster_ways
from edgeconv.report.text import budget_lines
from edgeconv.storage.base import FLOAT32

Workspace = Mapping[str, int]  # bytes at most by layer, as `choose.select` takes it
_TIGHTENINGS = 6  # plans tried for a budget that leaves room for some workspaces
_SOON_SEARCHED = 2_000_000  # multiply-adds of a network in which the search takes no second


@dataclass(frozen=True, slots=True)
class Decided:
    """Every decision about a model on a board, and the report of them.

    ``workspace``: the bytes that kernels may take by layer where RAM is short, see `choose.select`.
    ``found``: the formats that were searched for; None where the user gave all, or none was needed.
    """

    options: CompileOptions
    board: Board
    workspace: Workspace
    choice: Choice
    memory: MemoryMap
    report: Report
    notes: tuple[str, ...] = ()
    found: Found | None = None


@dataclass(frozen=True, slots=True)
class Overhead:
    """Bytes that count against the budgets and that only a built program tells: code, constants,
    stack, variables."""

    ram: int = 0
    flash: int = 0


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
        self.overhead = Overhead()
        self._learnt: list[Overhead] = []
        self._integers = False
        self.board = boards.load(options.board)
        tell("reading the model")
        graph = frontend.load(options.model, input_shapes=options.input_shapes, cut_at=options.cut)
        tell("simplifying the graph")
        self.graph = passes.optimise(graph)
        port_names(self.graph.inputs, self.graph.outputs, options.renames)  # before anything long
        self._search: Search | None = None
        self._searched_within: Workspace = {}

    def close(self) -> None:
        """Let go of the network that was measured, if one was."""
        if self._search:
            self._search.close()

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

    def learn(self, built: Mapping[str, Any], planned: Mapping[str, Any]) -> bool:
        """Take the overhead from the report of a built program; whether that is news.

        What was learnt before is forgotten, since other formats need other code; where that leads
        back to where it was, the most that any of them needed counts.
        """
        found = Overhead(
            built["ram"]["total"] - planned["ram"]["total"],
            built["flash"]["total"] - planned["flash"]["total"],
        )
        if found in self._learnt:
            found = Overhead(
                max(each.ram for each in self._learnt), max(each.flash for each in self._learnt)
            )
        self._learnt.append(found)
        grown, self.overhead = found != self.overhead, found
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
        search, budget = self._searched(plain), plain.report["budget"]
        return self._with(search, search.nearest(budget["ram"], budget["flash"]))

    def _with(self, search: Search, found: Found) -> Decided:
        best = self._choose(found.graph, self._searched_within, found.storage)
        source = search.samples.source
        options = replace(self.options, objective=self.objective.value)
        report = accuracy.with_found(best.report, found, options, source)
        notes = (*best.notes, *accuracy.notes(found, source, alike=search.samples.alike))
        return replace(best, report=report, notes=notes, found=found)

    def decide(self, turns: bool = True) -> Decided:
        """The decisions; formats are searched for where the user sets a limit of accuracy, gives
        samples to round by, or where float32 does not fit.  ``turns``: layers may take turns."""
        self._require_possible()
        plain, options = self.plain(), self.options
        wished = self._limited
        calibrated = bool(options.calibration and options.storage)
        short = self._exceeded(plain.report) and not computing_notes(plain.choice)
        wanted = short or options.objective == Objective.MEMORY.value
        if turns and wanted and not (wished or calibrated):
            plain = self._by_turns(plain)
            short = short and self._exceeded(plain.report)
        if not (wished or calibrated or short):
            unused = (_UNUSED,) if options.calibration else ()
            return self._with_faster(replace(plain, notes=(*plain.notes, *unused)))
        try:
            search = self._searched(plain)
        except EdgeconvError as error:
            if error.code is Exit.MISSING_TOOL and not (wished or calibrated):
                return replace(plain, notes=(*plain.notes, _NO_COMPILER.format(error.what)))
            raise
        budget = plain.report["budget"]
        try:
            found = search.find(budget["ram"], budget["flash"])
        except UnfitError as error:
            raise self._unfit(error, plain.report) from None
        return self._with(search, found)

    def _require_possible(self) -> None:
        """Raises UnfitError where a budget is below what is needed in any case, before anything
        long.  What a small network needs is found to the byte as fast."""
        options, board = self.options, self.board
        has = Limits(board.ram_bytes, board.flash_bytes) if board.bare_metal else Limits()
        limits = Limits(
            self._budget(options.ram, board.ram_bytes),
            self._budget(options.flash, board.flash_bytes),
        )
        if limits == Limits() or _macs(self.graph) < _SOON_SEARCHED:
            return
        ram = least_ram(self.graph, board.target, options.io)
        if why := refusal(ram, least_flash(self.graph), limits, has):
            where = f"{options.model.name} on board {board.name}"
            text = why.one_line()
            error = EdgeconvError("does not fit", where=where, rule=text, details=why.details)
            raise UnfitError(error, final=True)

    def frontier(self) -> tuple[Point, ...]:
        """What formats trade, within the budgets that the user sets and --min-sqnr, with each of
        the kernels that `plain` chooses among: those that take time and those that take RAM."""
        search = self._searched(self.plain())
        ram, flash = self.options.ram, self.options.flash
        found: list[Point] = []
        for workspace, integers in self._ways():
            self._integers = integers
            kept = integers_of(self._choose(self.graph, workspace, self.options.storage).choice)
            found += search.on(self._lower(workspace), kept).frontier(ram, flash)
        return search.measure(thinned(undominated(found), POINTS))

    def plain(self) -> Decided:
        """The decisions with the formats that the user gives, and float32 elsewhere."""
        self.tell("choosing layouts and kernels")
        made: list[tuple[bool, Decided]] = []
        wanted = self.options.objective == Objective.MEMORY.value
        wanted = wanted or (self._limited and self.objective is Objective.MEMORY)
        for workspace, integers in self._ways():
            if made:
                self.tell("choosing again for less RAM")
            self._integers = integers
            made.append((integers, self._choose(self.graph, workspace, self.options.storage)))
            if wanted:
                continue
            if not self._short_of_ram(made[-1][1]):
                break
            if not workspace and (partly := self._tightened(made[-1][1])):
                return partly
        made.reverse()  # of equally small ones the last: without workspaces
        self._integers, best = min(made, key=lambda each: int(each[1].report["ram"]["total"]))
        return best

    def _short_of_ram(self, decided: Decided) -> bool:
        report = decided.report
        return bool(report["budget"]["ram"]) and self._exceeded(report, "ram")

    def _tightened(self, decided: Decided) -> Decided | None:
        """``decided`` with less workspace for those layers alone that the budget has no room for
        beside their tensors; None where that does not fit.  Kernels with less of it may have
        other layouts, so that it is planned again, with as much less as was still too much."""
        workspace: dict[str, int] = {}
        ram = decided.report["ram"]
        room = decided.report["budget"]["ram"] - self.overhead.ram - ram["total"] + ram["arena"]
        for _ in range(_TIGHTENINGS):
            more = memory.room_for_workspaces(decided.choice, decided.memory, room)
            if all(workspace.get(name) == size for name, size in more.items()):
                room -= max(1, decided.memory.arena_bytes - room)  # offsets leave gaps
                continue
            workspace |= more
            decided = self._choose(self.graph, workspace, self.options.storage)
            if not self._short_of_ram(decided):
                return decided
        return None

    def _ways(self) -> list[tuple[Workspace, bool]]:
        """Limits of workspaces, and whether results of quantised models stay integers, that of the
        most RAM and the least time first.  Without an operating system RAM is worth the time to
        decode them."""
        able = bool(lossless(self.graph, self.board.target))
        ways: list[tuple[Workspace, bool]] = []
        if not (able and self.board.bare_metal):
            ways.append(({}, False))
        if able:
            ways.append(({}, True))
        return [*ways, ({EVERY_LAYER: 0}, able)]

    def _with_faster(self, plain: Decided) -> Decided:
        """Says so where a quantised model is predicted to be faster with numbers in float32, and
        what that takes: integers are stored, but computed with in float32."""
        now = plain.report["time"]["predicted_ms"]
        given = bool(self.options.storage)  # whoever names formats knows what for
        if not self._integers or not now or given or self._exceeded(plain.report):
            return plain
        faster: list[dict[str, Any]] = []
        self._integers = False
        for storage in ({EVERY_LAYER + OUTPUT: FLOAT32}, _ALL_FLOAT32):
            try:
                report = self._choose(self.graph, {}, storage).report
            except EdgeconvError:  # a format or an algorithm that was asked for
                continue
            ms = report["time"]["predicted_ms"]
            if ms < (faster[-1]["predicted_ms"] if faster else now) * _WORTH:
                more = {
                    f"more_{kind}": report[kind]["total"] - plain.report[kind]["total"]
                    for kind in ("ram", "flash")
                }
                fits = not self._exceeded(report)
                words = [f"{key}={form}" for key, form in storage.items()]
                faster.append({"storage": words, "predicted_ms": ms, **more, "fits": fits})
        self._integers = True
        time = {**plain.report["time"], "faster": faster}
        report = {**plain.report, "time": time}
        notes = tuple(faster_ways(report))
        return replace(plain, report=report, notes=(*plain.notes, *notes)) if faster else plain

    def _unfit(self, error: UnfitError, plain: Report) -> UnfitError:
        """``error``, with what float32 would take, and no hint that the board cannot follow."""
        lossless = "without rounding" if self._integers else "in float32"
        lines = tuple(f"{lossless}, {line}" for line in budget_lines(plain))
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

    def _exceeded(self, report: Report, kind: str = "") -> bool:
        """Whether a budget is, with what a built program is known to take beside."""
        more = {"ram": self.overhead.ram, "flash": self.overhead.flash}
        return any(name.startswith(kind) for name, _, _ in excess(report)) or any(
            name.startswith(kind)
            and report["budget"][name] is not None
            and report[name]["total"] + size > report["budget"][name]
            for name, size in more.items()
        )

    def _searched(self, plain: Decided) -> Search:
        options = self.options
        if computing := computing_notes(plain.choice):
            raise UsageError(
                "storage formats are searched for in float32 only",
                rule=computing[0].partition(":")[0],
                hint="name the formats with --storage, or leave that --algorithm out",
            )
        if self._limited:
            self._require_prediction(plain.report)
        if self._search is None:
            self._searched_within = plain.workspace
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
                self._lower(plain.workspace),
                self.tell,
                kept=integers_of(plain.choice),
            )
        return self._search

    def _lower(self, workspace: Workspace) -> Lower:
        return lambda graph, storage: self._planned(graph, workspace, storage)

    def _require_prediction(self, report: Report) -> None:
        """Before anything is measured: EdgeconvError where nothing predicts the objective."""
        known = {
            Objective.LATENCY: ("time", report["time"]["predicted_ms"]),
            Objective.ENERGY: ("energy", report["energy"]["predicted_mj"]),
        }
        what, value = known.get(self.objective, ("", 0.0))
        if value is None:
            raise UsageError(
                f"cannot minimise {self.objective.value}",
                got=f"board {self.board.name}",
                rule=str(report[what]["source"]),
                hint="--objective memory needs no prediction",
            )

    def _budget(self, given: int | None, has: int | None) -> int | None:
        """What the user allows; no more than a board without an operating system has."""
        if given is None or has is None or not self.board.bare_metal:
            return has if given is None else given
        return min(given, has)

    def _planned(self, graph: Graph, workspace: Workspace, storage: Mapping[str, str]) -> Planned:
        decided = self._choose(graph, workspace, storage)
        ram, flash = decided.report["ram"], decided.report["flash"]
        missing = sum(
            needed - allowed
            for name, needed, allowed in excess(decided.report)
            if name.startswith("ram region")
        )
        return Planned(
            decided.choice,
            decided.memory,
            ram["total"] + self.overhead.ram,
            flash["total"],
            self.overhead.flash,
            missing,
        )

    def _choose(self, graph: Graph, workspace: Workspace, storage: Mapping[str, str]) -> Decided:
        """Kernels of at most this ``workspace``, their memory, and the report of both."""
        options, board = self.options, self.board
        memory.check_tensors(graph, board)
        choice = choose.select(
            graph,
            board.target,
            io=options.io,
            algorithms=options.algorithms,
            storage={**_pinned(options.storage), **storage},
            truncate=options.truncate,
            integers=self._integers,
            workspace=workspace,
        )
        return self._decided(choice, workspace, integer_notes(choice, storage))

    def _by_turns(self, plain: Decided) -> Decided:
        """With layers that take turns, where they then need less RAM and fit if they must."""
        options = self.options
        choice, plan = by_turns(
            plain.choice, self.board.target, lambda made: memory.fit(made, self.board, options.ram)
        )
        if choice is plain.choice:
            return plain
        made = self._decided(choice, plain.workspace, integer_notes(choice, options.storage))
        if self._exceeded(made.report):
            return plain
        turns = [len(step.layers) for step in choice.steps if step.turn]
        saved = plain.memory.arena_bytes - plan.arena_bytes
        note = (
            f"{sum(turns)} layers take turns by rows, in {len(turns)} step(s): {saved} bytes less"
        )
        return replace(made, notes=(*made.notes, note))

    def _decided(self, choice: Choice, workspace: Workspace, notes: tuple[str, ...]) -> Decided:
        """The memory of ``choice``, and the report of both."""
        options, board = self.options, self.board
        plan = memory.fit(choice, board, options.ram)
        weights = weight_image(choice, plan).bytes
        memory.check_objects(board, arena=plan.arena_bytes, weights=weights)
        facts = Facts(
            name=options.prefix,
            model_file=options.model.name,
            weights_bytes=weights,
            weights_as_c=options.weights_as_c,
            ram_budget=self._budget(options.ram, board.ram_bytes),
            flash_budget=self._budget(options.flash, board.flash_bytes),
            rounding=options.rounding,
            cut=options.cut,
            renames=options.renames,
            command=options.command(),
        )
        report = document.build_report(choice, plan, board, facts)
        notes = (*choice.graph.notes, *computing_notes(choice), *notes)
        return Decided(options, board, workspace, choice, plan, report, notes)


def _macs(graph: Graph) -> int:
    return sum(operators()[node.op].macs(node, graph) for node in graph.nodes)


def _pinned(storage: Mapping[str, str]) -> dict[str, str]:
    """Formats of results that lose nothing and that the user wants: nothing searches for them."""
    lossless = (FLOAT32, INT8)
    return {k: form for k, form in storage.items() if k.endswith(OUTPUT) and form in lossless}


_ALL_FLOAT32 = {EVERY_LAYER + OUTPUT: FLOAT32, EVERY_LAYER: FLOAT32}
_WORTH = 0.98  # of the time, below which another way is worth a word
_NO_COMPILER = "float32 does not fit, and other formats cannot be measured here: {}"
_UNUSED = (
    "--calibration was not needed: everything fits as it is, and neither --min-sqnr nor --max-drop "
    "allows any loss"
)
