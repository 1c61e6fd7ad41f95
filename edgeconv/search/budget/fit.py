"""From the integer program to a choice that really fits: the exact arena, the measured noise.

Live bytes bound an arena from below and noise adds up only roughly.  So what the program proposes
is planned and measured by the caller; where that misses a limit the program learns a cut, or a
smaller allowance, and proposes again (a cutting-plane method with the planner as its oracle, as in
search/memory/assign.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap, Place, Region
from edgeconv.search.budget.cuts import Cut, lighter
from edgeconv.search.budget.program import SECONDS, Answer, optimise
from edgeconv.search.budget.tables import Limits, Objective, Tables

ROUNDS = 16  # proposals planned for one allowance of noise
PATIENT = 4  # misses of the arena after which the relaxation's budget shrinks too
MEASUREMENTS = 5
LIGHTER = 4  # choices planned because one takes more memory than the tables say
ENOUGH = 1.1  # a larger allowance of noise than this many times the last one is worth a round


class Exact(NamedTuple):
    """What planning the real thing gave, in bytes.

    ``flash`` counts all that ``Tables.flash_bytes`` does; ``at_peak``: what makes the arena as high
    as it is (`support`), nothing where that is not known.
    """

    arena: int
    flash: int
    at_peak: Collection[str] = ()


Plan = Callable[[Mapping[str, str]], Exact]
Measure = Callable[[Mapping[str, str]], float]


@dataclass(frozen=True, slots=True)
class FormatAssignment:
    """A choice within the limits.

    ``ram``, ``flash``: bytes as planned.  ``noise``: the additive estimate; ``measured``: of the
    combined effect, None where nobody measured.  ``value`` is of the objective, ``gap`` as
    `Answer`'s: about the program, whose costs and noises are additive.
    """

    formats: Mapping[str, str]
    picked: tuple[int, ...]
    ram: int
    flash: int
    noise: float
    measured: float | None
    value: float
    gap: float
    finished: bool
    planned: int  # proposals that were planned


@dataclass(frozen=True, slots=True)
class Miss:
    """No choice was found within the limits.

    ``limits`` are those given, with the additive noise that the measurements leave: what
    `smallest` then needs.
    """

    limits: Limits
    planned: int


def fit(
    tables: Tables,
    limits: Limits,
    objective: Objective,
    exact: Plan,
    measure: Measure | None = None,
    *,
    seconds: float = SECONDS,
) -> FormatAssignment | Miss:
    """The best choice by ``objective`` within ``limits``; the least noise where that has none.

    ``exact`` plans the choice that ``search.choose.select`` makes of a mapping of formats;
    ``measure`` gives the noise power of all its formats together.  What is returned was planned and
    keeps both budgets, and was measured and keeps the noise limit where ``measure`` is given.
    ``seconds``: for one integer program.  Raises UnfinishedError when that ends without anything.
    """
    return _Fit(tables, limits, objective, exact, measure, seconds).run()


def fitted(tables: Tables, answer: Answer, real: Exact) -> FormatAssignment:
    """``answer`` with what planning it gave, ``real``; nobody has measured it."""
    return FormatAssignment(
        formats=tables.formats(answer.picked),
        picked=answer.picked,
        ram=tables.ram + real.arena,
        flash=real.flash,
        noise=tables.noise(answer.picked),
        measured=None,
        value=answer.value,
        gap=answer.gap,
        finished=answer.finished,
        planned=1,
    )


def support(choice: Choice, memory: MemoryMap) -> frozenset[str]:
    """What makes the arena of ``choice`` as high as it is: tensors, and layers with a workspace.

    What ends at the top, and all that lies below one of those and is live together with it.
    """
    tensors = [(n, place) for n, place in memory.places.items() if place.region is Region.ARENA]
    names = {i: choice.layers[i].node.name for i in memory.workspaces}
    places = [*tensors, *((names[i], place) for i, place in memory.workspaces.items())]
    tops: dict[int, int] = {}
    for _, place in places:
        tops[place.bank] = max(tops.get(place.bank, 0), place.offset + place.bytes)
    found = [each for each in places if each[1].offset + each[1].bytes == tops[each[1].bank]]
    rest = [each for each in places if each not in found]
    for _, above in found:  # which grows meanwhile
        below = [each for each in rest if _is_below(each[1], above)]
        found += below
        rest = [each for each in rest if each not in below]
    return frozenset(name for name, _ in found)


def _is_below(place: Place, above: Place) -> bool:
    together = place.first <= above.last and above.first <= place.last
    starts_below = place.offset < above.offset + above.bytes
    return together and starts_below and place.bank == above.bank


@dataclass
class _Fit:
    tables: Tables
    limits: Limits
    objective: Objective
    exact: Plan
    measure: Measure | None
    seconds: float
    cuts: list[Cut] = field(default_factory=list)
    margin: int = 0  # bytes of the RAM budget that the relaxation must leave free
    more_flash: int = 0  # bytes that the real thing takes beyond the tables
    planned: int = 0
    kept: dict[tuple[int, ...], Exact] = field(default_factory=dict)

    def run(self) -> FormatAssignment | Miss:
        limit, allowed = self.limits.noise, self.limits.noise
        best: FormatAssignment | None = None
        too_much = math.inf  # the least allowance that turned out to be too large
        for _ in range(MEASUREMENTS if self.measure else 1):
            found = self._packed(self._order(allowed), allowed)
            if found is None:
                break
            if limit is None or found.measured is None or allowed is None:
                return found
            better = best is None or found.value < best.value
            if found.measured <= limit and better:
                best = found
            # The estimate at which the noise would be just allowed, if it kept its proportion.
            proportion = limit / found.measured if found.measured else math.inf
            if found.measured > limit:
                too_much = min(too_much, allowed)
                allowed = found.noise * proportion
            else:
                aim = min(found.noise * proportion, math.sqrt(allowed * too_much))
                if not better or aim <= ENOUGH * allowed:
                    break
                allowed = aim
        return best or self._quietest(allowed)

    def _order(self, allowed: float | None) -> tuple[Objective, Objective]:
        if allowed is None:
            return (Objective.NOISE, self.objective)
        return (self.objective, Objective.NOISE)

    def _quietest(self, allowed: float | None) -> FormatAssignment | Miss:
        """Where nothing kept the limit: the least noise there is room for, if that keeps it."""
        limit = self.limits.noise
        if limit is not None and self.measure:
            found = self._packed((Objective.NOISE, self.objective), None)
            if found and found.measured is not None and found.measured <= limit:
                return replace(found, value=self.tables.cost(self.objective, found.picked))
        return Miss(replace(self.limits, noise=allowed), self.planned)

    def _packed(
        self, order: tuple[Objective, Objective], noise: float | None
    ) -> FormatAssignment | None:
        """The best by ``order`` that keeps the budgets when planned; its noise is measured."""
        for misses in range(1, ROUNDS + 1):
            answer = self._propose(order, noise, self.cuts, self.margin)
            if answer is None:
                break
            real = self._plan(answer.picked)
            if self._keeps(real):
                return self._fitted(*self._lightest(order, noise, answer, real))
            self._learn(answer.picked, real, tight=misses > PATIENT)
        # The planner may know a better order than the one of the tables: the smallest is planned
        # even where its live bytes exceed the budget.
        answer = self._propose((Objective.RAM, order[0]), noise, (), None)
        if answer is not None and self._keeps(real := self._plan(answer.picked)):
            value = self.tables.cost(order[0], answer.picked)
            return self._fitted(replace(answer, value=value, gap=math.inf), real)
        return None

    def _lightest(
        self,
        order: tuple[Objective, Objective],
        noise: float | None,
        answer: Answer,
        real: Exact,
    ) -> tuple[Answer, Exact]:
        """``answer`` and its plan; where memory is to be small and the plan takes more than the
        tables say, which know kernels of uniform formats only, the smallest of a few others too."""
        best, cuts = (answer, real), list(self.cuts)
        for _ in range(LIGHTER if order[0] is Objective.MEMORY else 0):
            if self.tables.ram + real.arena <= self.tables.ram_bytes(answer.picked):
                break
            cuts.append(self._less_at_peak(answer.picked, real))
            other = self._propose(order, noise, cuts, self.margin)
            least = self.tables.ram + best[1].arena + best[1].flash
            if other is None or other.value >= least:
                break
            answer, real = other, self._plan(other.picked)
            if self._keeps(real) and self.tables.ram + real.arena + real.flash < least:
                best = answer, real
        return best

    def _propose(
        self,
        order: tuple[Objective, Objective],
        noise: float | None,
        cuts: Collection[Cut],
        margin: int | None,
    ) -> Answer | None:
        """``margin``: bytes of the RAM budget to leave free; None for no limit of RAM."""
        ram, flash = self.limits.ram, self.limits.flash
        limits = Limits(
            None if ram is None or margin is None else ram - margin,
            None if flash is None else flash - self.more_flash,
            noise,
        )
        return optimise(self.tables, limits, order, cuts=tuple(cuts), seconds=self.seconds)

    def _plan(self, picked: tuple[int, ...]) -> Exact:
        if picked not in self.kept:
            self.planned += 1
            self.kept[picked] = self.exact(self.tables.formats(picked))
        return self.kept[picked]

    def _keeps(self, real: Exact) -> bool:
        return not self.limits.excess(self.tables.ram + real.arena, real.flash)

    def _learn(self, picked: tuple[int, ...], real: Exact, *, tight: bool) -> None:
        """Rules out ``picked``, whose plan exceeded a budget."""
        tables, ram, flash = self.tables, self.limits.ram, self.limits.flash
        if flash is not None and real.flash > flash:
            self.more_flash = max(self.more_flash, real.flash - tables.flash_bytes(picked))
            flashes = [[option.flash for option in item.options] for item in tables.items]
            self.cuts.append(lighter(tables, picked, enumerate(flashes)))
        over = 0 if ram is None else tables.ram + real.arena - ram
        if over > 0:
            self.cuts.append(self._less_at_peak(picked, real))
            if tight:
                self.margin = max(over, 2 * self.margin)

    def _less_at_peak(self, picked: tuple[int, ...], real: Exact) -> Cut:
        """Something of what makes the arena of ``picked`` as high as it is must weigh less."""
        tables, at_peak = self.tables, set(real.at_peak)
        sizes = [(i, by_option) for i, by_option in enumerate(tables.arena) if any(by_option)]
        named = [{item.name, *item.tensors} for item in tables.items]
        held = [(i, by_option) for i, by_option in sizes if at_peak & named[i]] or sizes
        return lighter(tables, picked, held)

    def _fitted(self, answer: Answer, real: Exact) -> FormatAssignment:
        found = fitted(self.tables, answer, real)
        measured = self.measure(found.formats) if self.measure else None
        return replace(found, measured=measured, planned=self.planned)
