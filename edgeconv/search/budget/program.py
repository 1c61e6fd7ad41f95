"""The integer program: one option per item, within the limits, at least cost.

The solver works to a tolerance.  What it returns is therefore rounded and counted exactly; an
assignment that only its tolerance admits is cut off (`lighter`) and the program solved again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from edgeconv.base.errors import EdgeconvError, UsageError
from edgeconv.search.budget.cuts import EXACT, Cut, excess, lighter
from edgeconv.search.budget.rows import Rows
from edgeconv.search.budget.tables import Limits, Objective, Tables
from edgeconv.search.milp import solve

SECONDS = 60.0
GAP = 1e-4  # between the value found and its bound, relative: within it the search ends
# Of the search for the best of equally good assignments: nodes of the tree, not seconds, so that it
# ends alike on every machine.
TIE_NODES, TIE_GAP = 300, 1e-2
REPAIRS = 20  # assignments cut off because only the tolerance admits them
RESCALES = 4  # of the noise, until its largest and its total have the same magnitude


@dataclass(frozen=True, slots=True)
class Answer:
    """The solution of the integer program.  ``picked``: the option of every item.  ``value``: of
    the objective.

    ``gap``: no assignment is better by more than this part of ``value``; ``finished``: the time
    limit was not reached.
    """

    picked: tuple[int, ...]
    value: float
    gap: float
    finished: bool


def optimise(
    tables: Tables,
    limits: Limits,
    objectives: Sequence[Objective],
    *,
    cuts: Sequence[Cut] = (),
    seconds: float = SECONDS,
    gap: float = GAP,
) -> Answer | None:
    """The assignment that is best by the first of ``objectives``, ties broken by the next.

    None when no assignment respects ``limits`` and ``cuts``.  Value and gap are those of the first
    objective.  Raises UnfinishedError when the time ended before an assignment was found, and
    EdgeconvError where nothing predicts that objective; as a tie-breaker it is left out then.
    """
    known = [objective for objective in objectives if tables.predicts(objective)]
    if known[:1] != list(objectives[:1]):
        raise UsageError(
            f"cannot minimise {objectives[0].value}",
            rule="the board states too little to predict it",
            hint="choose the objective memory",
        )
    return _in_turn(tables, limits, known, list(cuts), seconds, gap)


def least_excess(tables: Tables, limits: Limits, *, seconds: float = SECONDS) -> Answer | None:
    """The assignment whose larger relative excess over the two budgets is smallest.

    Of several the one of least memory.  None when no assignment respects the limit of the noise.
    """
    return _in_turn(tables, limits, (None, Objective.MEMORY), [], seconds, GAP, stretch=True)


def _in_turn(
    tables: Tables,
    limits: Limits,
    objectives: Sequence[Objective | None],
    cuts: list[Cut],
    seconds: float,
    gap: float,
    *,
    stretch: bool = False,
) -> Answer | None:
    """The best by the first objective, of those the best by the next; see `optimise`."""
    search = _Search(Rows(tables, limits, stretch), cuts, time.monotonic() + seconds)
    first: Answer | None = None
    for rank, objective in enumerate(objectives):
        if rank:
            search.nodes = TIE_NODES
        try:
            found = search.best(objective, TIE_GAP if rank else gap)
        except UnfinishedError:
            if first is None:
                raise
            found = None
        if found is None:
            break
        first = found if first is None else replace(first, picked=found.picked)
        search.caps.append((objective, search.value(objective, found.picked)))
    return first


class UnfinishedError(EdgeconvError):
    """The time ended before any assignment within the limits was found."""

    def __init__(self) -> None:
        super().__init__(
            "no choice of storage formats found in time",
            rule="the integer program neither found one nor proved that there is none",
            hint="relax a budget or the accuracy limit",
        )


@dataclass
class _Search:
    """The state of a search.  ``ends``: time.monotonic() at which to stop.  ``nodes``: of the
    branch-and-bound tree, after which to stop, if any.  ``caps``: objectives and what they stay
    at."""

    rows: Rows
    cuts: list[Cut]
    ends: float
    caps: list[tuple[Objective | None, float]] = field(default_factory=list)
    nodes: int | None = None

    def best(self, objective: Objective | None, gap: float) -> Answer | None:
        """The best by ``objective``, by the relative excess for None; exactly within the limits."""
        if objective is not Objective.NOISE:
            return self._exactly(objective, gap, self.rows.loudest)
        # The largest option would drown the differences that decide: what alone is noisier than a
        # whole assignment is out, and the rest counts in units of that assignment's noise.
        scale, best = self.rows.loudest, None
        for _ in range(RESCALES):
            found = self._exactly(objective, gap, scale)
            if found is None or (best is not None and found.value > best.value):
                break
            best = found
            if not 0.0 < best.value < 0.1 * scale:
                break
            scale = best.value
        return best

    def _exactly(self, objective: Objective | None, gap: float, scale: float) -> Answer | None:
        finished, rows = True, self.rows
        for _ in range(REPAIRS):
            seconds = self.ends - time.monotonic()
            solution = solve(
                rows.cost(objective, scale),
                rows.all(self.cuts, self.caps),
                whole=rows.whole,
                upper=rows.upper(objective, scale),
                seconds=max(seconds, 0.01),
                gap=gap,
                nodes=self.nodes,
            )
            finished = finished and solution.finished
            if solution.values is None:
                break
            picked = rows.picked(solution.values)
            wrong = self._violated(picked)
            if wrong is None:
                value = self.value(objective, picked)
                bound = rows.unscaled(objective, solution.bound, scale)
                return Answer(picked, value, _relative_gap(value, bound), solution.finished)
            self.cuts.append(wrong)
        if finished:
            return None
        return self._uniform(objective)

    def value(self, objective: Objective | None, picked: Sequence[int]) -> float:
        if objective is None:
            return excess(self.rows.tables, self.rows.limits, picked)
        return self.rows.tables.cost(objective, picked)

    def _violated(self, picked: Sequence[int]) -> Cut | None:
        """A cut where an exact sum exceeds its limit."""
        tables, limits = self.rows.tables, self.rows.limits
        if self.rows.stretch:
            limits = Limits(noise=limits.noise)
        if limits.noise is not None and tables.noise(picked) > limits.noise * (1 + EXACT):
            noise = [[option.noise for option in item.options] for item in tables.items]
            return lighter(replace(tables, steps=()), picked, enumerate(noise))
        if limits.flash is not None and tables.flash_bytes(picked) > limits.flash:
            flash = [[option.flash for option in item.options] for item in tables.items]
            return lighter(replace(tables, steps=()), picked, enumerate(flash))
        for step in self.rows.steps if limits.ram is not None else ():
            if tables.ram + step.bytes(picked) > (limits.ram or 0):
                return lighter(replace(tables, steps=(step,)), picked, step.live.items())
        return None

    def _uncut(self, picked: Sequence[int]) -> bool:
        return all(any(picked[i] == k for i, k in cut.better) for cut in self.cuts)

    def _uniform(self, objective: Objective | None) -> Answer | None:
        """Where the time ended with nothing: the best of one format everywhere, if that fits."""
        names = sorted({o.format for item in self.rows.tables.items for o in item.options})
        found = [
            Answer(picked, self.value(objective, picked), math.inf, finished=False)
            for picked in (_all_in(self.rows.tables, name) for name in names)
            if self._violated(picked) is None and not self.caps and self._uncut(picked)
        ]
        if not found:
            raise UnfinishedError
        return min(found, key=lambda answer: answer.value)


def _all_in(tables: Tables, name: str) -> tuple[int, ...]:
    """Every item in format ``name``, or in the last one that it has."""
    return tuple(
        next((k for k, o in enumerate(item.options) if o.format == name), len(item.options) - 1)
        for item in tables.items
    )


def _relative_gap(value: float, bound: float) -> float:
    if not math.isfinite(bound):
        return math.inf
    return max(0.0, value - bound) / abs(value) if value else 0.0
