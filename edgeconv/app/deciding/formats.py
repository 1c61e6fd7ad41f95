"""A network with arithmetic as the model has it: kernels for the given formats, less RAM where that
is short, a search for formats where that is not enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from time import process_time

from edgeconv.app.choice_notes import computing_notes, integers_of
from edgeconv.app.deciding.float16_hint import with_float16_hint
from edgeconv.app.deciding.float32_alternative import with_faster
from edgeconv.app.deciding.less_flash import less_flash
from edgeconv.app.deciding.less_ram import (
    faster_for_little_more,
    fastest_of_the_smallest,
    fastest_within,
    smallest_streaming,
    ways,
    with_streaming,
)
from edgeconv.app.deciding.minimum_footprint import (
    MinimumFootprint,
    attempts,
    minimum_footprint_of,
    smaller,
    soon_decided,
    unfit,
)
from edgeconv.app.deciding.objective import predictable, require_prediction
from edgeconv.app.deciding.planning import Allowed, Decision, NetworkPlan, Planner
from edgeconv.app.deciding.waiting import by_waiting
from edgeconv.app.deciding.winograd_hint import with_filtering
from edgeconv.base.closing import Closing
from edgeconv.base.errors import EdgeconvError, Exit, UsageError
from edgeconv.base.limits import Deadline, TooLongError, limit
from edgeconv.base.progress import Progress
from edgeconv.ir.graph import Graph
from edgeconv.report import accuracy
from edgeconv.search.budget.infeasible import beyond, refusal
from edgeconv.search.budget.tables import Limits, Objective
from edgeconv.search.calibration import samples
from edgeconv.search.fitting import (
    FormatChoice,
    FormatOptions,
    FormatPlan,
    Lower,
    MissedError,
    Search,
    UnfitError,
    offered,
)
from edgeconv.search.memory.placement import require_room
from edgeconv.search.memory.sizes import Budgets, Overhead


@dataclass(frozen=True, slots=True)
class FormatSearch:
    """A search for formats, with the kernels ``among``."""

    search: Search
    among: Allowed


@dataclass(frozen=True, slots=True)
class Attempt:
    """What budgets lead to: ``plain``, with the formats that the user gives, and decisions; None
    and what was ``missed`` where no formats fit."""

    plain: NetworkPlan
    decided: Decision | None
    missed: MissedError | None = None


class Formats(Closing):
    """Decisions about the storage formats of ``graph``, planned by ``planner``; what is measured is
    measured once."""

    def __init__(self, planner: Planner, graph: Graph, progress: Progress) -> None:
        self.planner, self.graph, self.progress = planner, graph, progress
        self.options, self.board = planner.options, planner.board
        self._searched: list[FormatSearch] = []  # which all share what the first has measured
        self._deadline: list[Deadline] = []  # of all searches, once there is one

    def close(self) -> None:
        """Let go of the network that was measured, if it was."""
        if self._searched:
            self._searched[0].search.close()

    def within(self, ram: int | None = None, flash: int | None = None) -> Formats:
        """Decisions for other budgets in bytes, in place of the user's.  Not to be closed."""
        other = copy(self)
        other.planner = self.planner.within(ram, flash)
        return other

    @property
    def objective(self) -> Objective:
        """What the user wants smallest; latency where the board predicts it, else memory."""
        return predictable(self.options, self.board)

    def decide(self, streaming: bool) -> Decision:
        """The decisions; where the budgets lead to none, those that smaller ones do (`smaller`),
        or those of the least memory if they fit.

        Where there is nothing to choose formats from, what exceeds the budgets least.  Raises
        UnfitError where no formats fit.
        """
        tried, planner = self.attempt(streaming), self.planner
        if tried.decided and not planner.exceeded(tried.decided):
            return tried.decided
        least = self._minimum_footprint(streaming)
        asked = self._smaller(least) if tried.missed else []
        for less in asked:
            self.progress(f"looking for formats within {less.words}")
            if found := self.within(less.ram, less.flash)._fitting(streaming):
                return self.again(found)
        for each in (least.ram, least.flash):
            again = self.again(each)
            if not planner.exceeded(again):
                return again
        if tried.missed:
            raise self._unfit(tried, least, asked, streaming) from None
        budgets = Limits(planner.budgets.ram, planner.budgets.flash)
        return self.again(least.nearest(budgets))

    def attempt(self, streaming: bool) -> Attempt:
        """The decisions that the budgets lead to."""
        options, planner = self.options, self.planner
        wished = options.limited
        calibrated = bool(options.calibration and options.storage)
        drafts = self.drafts(self.graph, streaming=streaming and not (wished or calibrated))
        plain = drafts[0]
        short = planner.exceeded(plain) and not computing_notes(plain.choice)
        wanted = short or options.objective == Objective.MEMORY.value
        if streaming and wanted and not (wished or calibrated):
            # Where integers are computed it may be other kernels that stream rows with less.
            others = (each for each in drafts[1:] if integers_of(each.choice))
            plans = (plain, *others)
            streaming_plans = (smallest_streaming(planner, each) for each in plans)
            plain = fastest_of_the_smallest(planner, [*plans, *chain(*streaming_plans)])
            plain = plain if short else faster_for_little_more(planner, self.graph, plain)
            short = short and planner.exceeded(plain)
        if not (wished or calibrated or short):
            if streaming and not wanted:
                plain = by_waiting(planner, self.graph, plain)
            unused = (_UNUSED,) if options.calibration else ()
            plain = replace(plain, notes=(*plain.notes, *unused))
            decided = with_faster(planner, self.graph, planner.decided(plain))
            decided = with_filtering(planner, self.graph, decided)
            return Attempt(plain, with_float16_hint(planner, self.graph, decided))
        if not (wished or calibrated):  # nobody has said what may be lost for the sake of a place
            require_room(plain.sizes, planner.places, self.board)
        if not (wished or calibrated or self._choices(plain)):
            return Attempt(plain, planner.decided(plain))
        try:
            self.searched(plain)
        except EdgeconvError as error:
            if error.code is Exit.MISSING_TOOL and not (wished or calibrated):
                noted = (*plain.notes, _NO_COMPILER.format(error.what))
                return Attempt(plain, planner.decided(replace(plain, notes=noted)))
            raise
        return self._search_among(plain)

    def _choices(self, plain: NetworkPlan) -> bool:
        """Whether any filters or results have formats to choose from; else nothing is measured."""
        kept = integers_of(plain.choice)
        return offered(self.graph, self.options.storage, kept).any

    def _search_among(self, plain: NetworkPlan) -> Attempt:
        """The formats that are found with the kernels of ``plain``; where RAM has a limit and none
        are, with those that take less of it: what decodes filters may take a workspace that what
        computes in float32 does without."""
        planner, missed = self.planner, list[MissedError]()
        tried = list[Allowed]()
        for draft in self._ever_smaller(plain):
            if draft.settled in tried:
                continue
            tried.append(draft.settled)
            searched, ram = self.searched(draft), planner.ram_beside(draft)
            try:
                found = searched.search.find(ram, planner.budgets.flash)
            except MissedError as error:
                missed.append(error)
                continue
            return Attempt(plain, self.with_found(searched, found))
        return Attempt(plain, None, missed[0])

    def _ever_smaller(self, plain: NetworkPlan) -> Iterator[NetworkPlan]:
        """``plain``, and the same network with kernels of less and less RAM."""
        yield plain
        if self.planner.budgets.ram is not None:
            yield from (each for each in self._by_way() if not computing_notes(each.choice))

    def _by_way(self) -> Iterator[NetworkPlan]:
        """The network with the kernels of each of `ways`."""
        for allowed in ways(self.graph, self.board):
            yield self.planner.draft(self.graph, allowed, self.options.storage)

    def searched(self, plain: NetworkPlan) -> FormatSearch:
        """The search for formats with the kernels of ``plain``."""
        options = self.options
        if computing := computing_notes(plain.choice):
            raise UsageError(
                "storage formats are searched for in float32 only",
                rule=computing[0].partition(":")[0],
                hint="name the formats with --storage, or leave that --algorithm out",
            )
        if options.limited:
            require_prediction(plain, self.board, self.objective)
        if not self._deadline:
            most = limit(_SECONDS)
            self.progress(f"searching storage formats, for {most} s of processor time at most")
            self._deadline.append(Deadline.of(_SECONDS, options.model.name, process_time))
        among = plain.settled
        lower, kept = self._lower(among), integers_of(plain.choice)
        for each in self._searched:
            if each.among == among:
                return FormatSearch(each.search.planned_by(lower), among)
        if self._searched:
            search = self._searched[0].search.on(lower, kept)
        else:
            search = Search(
                self.graph,
                self.board,
                samples.load(options.calibration, self.graph),
                FormatOptions(
                    options.storage,
                    options.min_sqnr,
                    options.max_drop,
                    self.objective,
                    options.truncate,
                ),
                lower,
                self.progress,
                kept=kept,
            )
        self._searched.append(FormatSearch(search, among))
        return self._searched[-1]

    def _lower(self, among: Allowed) -> Lower:
        """Plans with these kernels, while there is time."""
        planned = self.planner.lower(among)

        def lower(graph: Graph, storage: Mapping[str, str]) -> FormatPlan:
            self._require_time()
            return planned(graph, storage)

        return lower

    def _require_time(self) -> None:
        """Raises TooLongError where searches have taken the time that there is for them."""
        for deadline in self._deadline:
            deadline.check()

    def with_found(self, searched: FormatSearch, found: FormatChoice) -> Decision:
        """The decisions with the formats that were found."""
        draft = self.planner.draft(found.graph, searched.among, found.storage)
        return self._noted(self.planner.decided(draft), found, searched.search)

    def _noted(self, best: Decision, found: FormatChoice, search: Search) -> Decision:
        source = search.samples.source
        options = replace(self.options, objective=self.objective.value)
        report = accuracy.with_found(best.report, found, options, source)
        notes = (*best.notes, *accuracy.notes(found, source, alike=search.samples.alike))
        return replace(best, report=report, notes=notes, found=found)

    def drafts(
        self, graph: Graph, objective: Objective | None = None, *, streaming: bool = False
    ) -> list[NetworkPlan]:
        """Plans of ``graph``, the least RAM first: more than one where it is to be small.
        ``streaming``:  layers may stream rows where RAM is short."""
        self.progress("choosing layouts and kernels")
        planner = self.planner
        made: list[NetworkPlan] = []
        wanted = self.options.objective == Objective.MEMORY.value
        smallest = (objective or self.objective) is Objective.MEMORY
        wanted = wanted or (self.options.limited and smallest)
        for allowed in ways(graph, self.board):
            if made:
                self.progress("choosing again for less RAM")
            draft = less_flash(planner, graph, planner.draft(graph, allowed, self.options.storage))
            made.append(draft)
            if wanted:
                continue
            if not (planner.budgets.ram and planner.exceeded(draft, "ram")):
                break
            if not allowed.workspace:
                fitting = fastest_within(planner, graph, draft, streaming=streaming)
                if fitting:
                    return [fitting]
        made.reverse()  # of equally small ones the last: without workspaces
        return sorted(made, key=lambda each: each.sizes.ram.total)

    def _minimum_footprint(self, streaming: bool) -> MinimumFootprint:
        """What takes the least RAM, and what the least flash, whatever the budgets are."""
        most = attempts(self.graph)
        starts = [*self._starts(self.within(ram=1), Objective.RAM, streaming)]
        starts += self._starts(self.within(flash=1), Objective.FLASH, streaming)
        ram, of_ram = minimum_footprint_of(
            starts,
            lambda each: self._sizes(each)[0],
            lambda size: self.within(ram=size)._fitting(streaming),
            most,
        )
        flash, of_flash = minimum_footprint_of(
            starts,
            lambda each: self._sizes(each)[1],
            lambda size: self.within(flash=size)._fitting(streaming),
            most,
        )
        # Of int8 by samples nothing was asked.
        exact = of_ram and of_flash and not self.options.calibration
        return MinimumFootprint(ram, flash, exact)

    def _starts(self, short: Formats, objective: Objective, streaming: bool) -> list[Decision]:
        """Small decisions: what there is for ``short``, which has no memory at all, and the formats
        of the least ``objective``."""
        self.progress(f"looking for the least {objective.value}")
        options, free = self.options, self.within().planner
        drafts = short.drafts(self.graph, streaming=streaming)
        starts: list[Decision] = []
        if not options.storage or not (options.limited or options.calibration):
            # Else nobody knows how accurate they are.
            streaming_plans = [with_streaming(free, each) for each in drafts if streaming]
            starts += map(free.decided, (*drafts, *streaming_plans))
        if not (options.limited or self._choices(drafts[0])):
            return starts
        try:
            searched = short.searched(drafts[0])
            starts.append(short.with_found(searched, searched.search.least(objective)))
        except TooLongError:
            raise
        except EdgeconvError:  # none can be measured, or none are so accurate
            pass
        return starts

    def _fitting(self, streaming: bool) -> Decision | None:
        """The decisions that the budgets lead to, if there are any that keep them."""
        try:
            self._require_time()
            found = self.attempt(streaming).decided
        except TooLongError:
            raise
        except EdgeconvError:  # none can be measured, or none were found in time
            return None
        return None if found is None or self.planner.exceeded(found) else found

    def _sizes(self, decided: Decision) -> tuple[int, int]:
        """Bytes of RAM and of flash that count against the budgets."""
        sizes = decided.sizes.beside(self.planner.overhead)
        return sizes.ram.total, sizes.flash.total

    def again(self, decided: Decision) -> Decision:
        """The decisions, which were made for other budgets."""
        planner, found = self.planner, decided.found
        storage = found.storage if found else self.options.storage
        draft = planner.placed(decided.choice, decided.allowed, storage)
        again = planner.decided(draft)
        if found:
            again = self._noted(again, found, self._searched[0].search)
        return replace(again, notes=decided.notes)

    def less_ram(self) -> list[int]:
        """Sizes of memories below the budget of RAM, down to half of what float32 takes at least,
        to ask of a small network with which formats do fit, but for what code takes."""
        budgets = self.planner.budgets
        if budgets.ram is None or not soon_decided(self.graph):
            return []
        free = self.within(budgets.ram, budgets.flash)
        free.planner.overhead = Overhead()
        if free._fitting(streaming=True) is None:
            return []
        sizes = [each.sizes.ram.total for each in self._by_way()]
        asked = smaller(Budgets(budgets.ram), (min(sizes) // 2, 0), (_WORKSPACES * max(sizes), 0))
        return [each.ram for each in asked if each.ram is not None]

    def _smaller(self, least: MinimumFootprint) -> list[Budgets]:
        """Budgets within ours to ask of a small network before it is refused."""
        if not soon_decided(self.graph):
            return []
        (ram, _), (_, flash) = self._sizes(least.ram), self._sizes(least.flash)
        free = self.within()
        plain = free.planner.decided(free.drafts(self.graph)[0])
        enough = tuple(_WORKSPACES * size for size in self._sizes(plain))
        return list(smaller(self.planner.budgets, (ram, flash), (enough[0], enough[1])))

    def _unfit(
        self, tried: Attempt, least: MinimumFootprint, asked: Sequence[Budgets], streaming: bool
    ) -> UnfitError:
        """What budgets would do, each of which something was decided for; those ``asked`` lead to
        nothing."""
        missed, budgets = tried.missed, self.planner.budgets
        assert missed
        limits = replace(missed.limits, ram=budgets.ram)
        try:
            found = missed.search.smallest(limits)
        except TooLongError:
            raise
        except EdgeconvError as error:  # none are so accurate
            return unfit(UnfitError(error), tried.plain, self.planner)
        pairs = [self._sizes(each) for each in (least.ram, least.flash)]
        if found.nearest not in pairs and self.within(*found.nearest)._fitting(streaming):
            pairs.append(found.nearest)
        nearest = min(pairs, key=lambda sizes: beyond(limits, *sizes))
        ram, flash = pairs[0][0], pairs[1][1]
        found = replace(found, ram=ram, flash=flash, nearest=nearest, exact=least.exact)
        why = refusal(found)
        if asked:
            none = f"nothing was found within {', '.join(each.words for each in asked)} either"
            why = EdgeconvError(
                why.what, got=why.got, rule=why.rule, hint=why.hint, details=(*why.details, none)
            )
        return unfit(UnfitError(why, nearest), tried.plain, self.planner)


_SECONDS = "search-seconds"  # a row of `limits`
_WORKSPACES = 2  # times what is needed in float32: more than formats with their workspaces take
_NO_COMPILER = "float32 does not fit, and other formats cannot be measured here: {}"
_UNUSED = (
    "--calibration was not needed: everything fits as it is, and neither --min-sqnr nor --max-drop "
    "allows any loss"
)
