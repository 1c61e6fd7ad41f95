"""Variables and rows of the integer program, scaled.

Variables: a binary per option; per pair of options that share bytes in place, how far it is taken;
the peak of RAM; the relative excess over the budgets.  All rows are scaled so that their limit is
SCALE: noise spans twelve orders of magnitude and bytes nine, the solver's tolerance six.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgeconv.search.budget.cuts import EXACT, Cut
from edgeconv.search.budget.tables import Limits, Objective, Option, Step, Tables
from edgeconv.search.milp import SMALLEST, Row

SCALE = 1e3


@dataclass
class Rows:
    """The program of some tables and limits.

    ``stretch``: budgets may be exceeded, all by the same part of theirs: the variable ``excess``.
    The objective None is that variable.  ``scale``: the noise that counts as one, of the objective
    NOISE; options above it are out.
    """

    tables: Tables
    limits: Limits
    stretch: bool = False

    def __post_init__(self) -> None:
        items = self.tables.items
        starts = [0]
        for item in items:
            starts.append(starts[-1] + len(item.options))
        self.first = starts[:-1]
        self.binaries = starts[-1]
        self.steps = _binding(self.tables.steps)
        self.pairs: dict[tuple[int, int, int, int], int] = {}  # items and options -> variable
        for step in self.steps:
            for saving in step.savings:
                for a, b, _ in saving.pairs:
                    key = (saving.first, a, saving.second, b)
                    self.pairs.setdefault(key, self.binaries + len(self.pairs))
        self.whole = [True] * self.binaries + [False] * (len(self.pairs) + 2)
        self.peak = self.binaries + len(self.pairs)
        self.excess = self.peak + 1
        self.count = self.excess + 1
        self.most = max(1, sum(max(o.flash for o in item.options) for item in items))
        self.top = max([1, *(_heaviest(step) for step in self.steps)])
        self.loudest = max([o.noise for item in items for o in item.options], default=0.0)

    def upper(self, objective: Objective | None, scale: float) -> list[float]:
        """The variables' upper bounds: zero for options that are too noisy on their own."""
        upper = [1.0] * (self.binaries + len(self.pairs)) + [math.inf] * 2
        limit = self._noise_limit(objective, scale)
        for variable, option in self._options():
            if option.noise > limit * (1 + EXACT):
                upper[variable] = 0.0
        return upper

    def all(self, cuts: Sequence[Cut], caps: Sequence[tuple[Objective | None, float]]) -> list[Row]:
        """``caps``: objectives and what they must stay at."""
        rows = [*self._one_each(), *self._budgets(), *self._shared()]
        rows += [
            Row({self.first[i] + k: 1.0 for i, k in cut.better}, 1.0, math.inf) for cut in cuts
        ]
        rows += [self._cap(objective, value) for objective, value in caps]
        if self.limits.noise is not None:
            rows.append(self._noise_row(self.limits.noise))
        return rows

    def picked(self, values: npt.NDArray[np.float64]) -> tuple[int, ...]:
        picked = []
        for first, item in zip(self.first, self.tables.items, strict=True):
            some = [float(values[first + k]) for k in range(len(item.options))]
            picked.append(max(range(len(some)), key=some.__getitem__))
        return tuple(picked)

    def _noise_limit(self, objective: Objective | None, scale: float) -> float:
        limit = math.inf if self.limits.noise is None else self.limits.noise
        return min(limit, scale) if objective is Objective.NOISE else limit

    def cost(self, objective: Objective | None, scale: float) -> list[float]:
        cost = [0.0] * self.count
        unit, terms = self._terms(objective, scale)
        for variable, value in terms.items():
            cost[variable] = SCALE * value / unit
        return cost

    def _terms(self, objective: Objective | None, scale: float) -> tuple[float, dict[int, float]]:
        """The unit in which to count and the coefficients, without what is fixed."""
        options = list(self._options())
        match objective:
            case None:
                return 1.0, {self.excess: 1.0}
            case Objective.LATENCY:
                terms = {variable: option.seconds for variable, option in options}
            case Objective.ENERGY:
                terms = {variable: option.joules for variable, option in options}
            case Objective.NOISE:
                limit = self._noise_limit(objective, scale) * (1 + EXACT)
                quiet = {variable: o.noise for variable, o in options if o.noise <= limit}
                return scale or 1.0, quiet
            case Objective.RAM:
                return float(self.top), {self.peak: float(self.top)}
            case Objective.FLASH:
                terms = {variable: float(option.flash) for variable, option in options}
            case Objective.MEMORY:
                terms = {variable: float(option.flash) for variable, option in options}
                terms[self.peak] = float(self.top)
        return sum(map(abs, terms.values())) / max(1, len(self.first)) or 1.0, terms

    def unscaled(self, objective: Objective | None, bound: float, scale: float) -> float:
        """The value of the objective that belongs to one of the solver."""
        unit, _ = self._terms(objective, scale)
        fixed = {
            Objective.LATENCY: self.tables.seconds or 0.0,
            Objective.ENERGY: self.tables.joules or 0.0,
            Objective.RAM: float(self.tables.ram),
            Objective.FLASH: float(self.tables.flash),
            Objective.MEMORY: float(self.tables.ram + self.tables.flash),
        }
        return bound * unit / SCALE + (fixed.get(objective, 0.0) if objective else 0.0)

    def _one_each(self) -> list[Row]:
        return [
            Row({self.first[i] + k: 1.0 for k in range(len(item.options))}, 1.0, 1.0)
            for i, item in enumerate(self.tables.items)
        ]

    def _budgets(self) -> list[Row]:
        """Flash, and at every step the arena: within the budgets and below the peak."""
        rows = []
        if self.limits.flash is not None:
            _, terms = self._terms(Objective.FLASH, 1.0)
            rows.append(self._limit(terms, self.tables.flash, self.limits.flash))
        for step in self.steps:
            terms = self._step_terms(step)
            fixed = sum(step.fixed.values())
            if self.limits.ram is not None:
                rows.append(self._limit(terms, fixed + self.tables.ram, self.limits.ram))
            unit = self.top / SCALE
            below = {variable: value / unit for variable, value in terms.items()}
            rows.append(Row({**below, self.peak: -SCALE}, -math.inf, -fixed / unit))
        return rows

    def _step_terms(self, step: Step) -> dict[int, float]:
        terms = {
            self.first[i] + k: float(size)
            for i, sizes in step.live.items()
            for k, size in enumerate(sizes)
        }
        for saving in step.savings:
            for a, b, size in saving.pairs:
                terms[self.pairs[saving.first, a, saving.second, b]] = -float(size)
        return terms

    def _limit(self, terms: dict[int, float], fixed: int, most: int) -> Row:
        unit = max(most, 1) / SCALE
        scaled = {variable: value / unit for variable, value in terms.items() if value}
        if self.stretch:
            scaled[self.excess] = -SCALE
        return Row(scaled, -math.inf, (most - fixed) / unit)

    def _shared(self) -> list[Row]:
        """Bytes are shared in place by two items that both have the right option."""
        rows = []
        for (i, a, j, b), variable in self.pairs.items():
            rows.append(Row({variable: 1.0, self.first[i] + a: -1.0}, -math.inf, 0.0))
            rows.append(Row({variable: 1.0, self.first[j] + b: -1.0}, -math.inf, 0.0))
        return rows

    def _noise_row(self, limit: float) -> Row:
        if limit <= 0.0:
            terms = {v: 1.0 for v, option in self._options() if option.noise > 0.0}
            return Row(terms, 0.0, 0.0)
        unit = limit / SCALE
        scaled = {v: min(option.noise / unit, 2 * SCALE) for v, option in self._options()}
        terms = {v: noise for v, noise in scaled.items() if noise > SMALLEST}
        return Row(terms, -math.inf, SCALE)

    def _options(self) -> Iterator[tuple[int, Option]]:
        """The binaries and their options."""
        for i, item in enumerate(self.tables.items):
            for k, option in enumerate(item.options):
                yield self.first[i] + k, option

    def _cap(self, objective: Objective | None, value: float) -> Row:
        """``objective`` no worse than ``value``."""
        if objective is Objective.NOISE:
            return self._noise_row(value)
        unit, terms = self._terms(objective, self.loudest)
        fixed = self.unscaled(objective, 0.0, self.loudest)
        scaled = {variable: SCALE * term / unit for variable, term in terms.items()}
        return Row(scaled, -math.inf, SCALE * (value - fixed) / unit + 1e-6)


def _heaviest(step: Step) -> int:
    return sum(step.fixed.values()) + sum(max(sizes) for sizes in step.live.values())


def _binding(steps: Sequence[Step]) -> list[Step]:
    """The steps without those at which another one has all that they have, and as much of it."""
    kept: list[Step] = []
    for step in sorted(steps, key=lambda s: (-_heaviest(s), -len(s.live))):
        if not any(_covers(other, step) for other in kept):
            kept.append(step)
    return kept


def _covers(other: Step, step: Step) -> bool:
    if sum(other.fixed.values()) < sum(step.fixed.values()):
        return False
    if any(saving not in step.savings for saving in other.savings):
        return False
    return all(
        i in other.live and all(a >= b for a, b in zip(other.live[i], sizes, strict=True))
        for i, sizes in step.live.items()
    )
