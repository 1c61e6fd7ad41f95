"""Partitioned Boolean quadratic programming, exactly: nodes of which each has a cost by what is
picked for it, and edges with a cost by what is picked for both of their nodes.

Picks that others are never worse than are left out first, then nodes are minimised out
(`elimination`); what is left, if anything, is a mixed-integer program for HiGHS.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from edgeconv.search.choose.elimination import Costs, Elimination, Scope
from edgeconv.search.milp import SMALLEST, Row, solve

# Of the integer program: so many nodes of branch and bound are the same on every machine; time ends
# what takes a slow or busy one too long.
BRANCHES, SECONDS = 1000, 60.0
# Entries, 8 bytes each, of the largest table that minimising a node out may go through; and of what
# that may make for the integer program, which has a variable for each.
MOST_ENTRIES, MOST_COUPLED = 1 << 21, 1 << 10
_MOST_TOGETHER = 4  # picks of which all sets have a row
_SCALE = 1e4  # what costs are made to be at most: HiGHS has absolute tolerances


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of what picks take together.  ``taken``: what the picks of some nodes take of
    something of which there is ``most``."""

    taken: Mapping[int, Costs]
    most: float

    @property
    def room(self) -> float:
        """What is left when every node takes its least."""
        return self.most - sum(float(taken.min()) for taken in self.taken.values())

    @property
    def weighed(self) -> dict[int, Costs]:
        """For the nodes whose picks differ by what they take, what each takes beyond the least;
        none where all may take their most."""
        more = {node: taken - taken.min() for node, taken in self.taken.items()}
        if sum(float(each.max()) for each in more.values()) <= self.room:
            return {}
        return {node: each for node, each in more.items() if each.any()}


@dataclass
class Problem:
    """A partitioned Boolean quadratic problem.  ``costs``: of the picks of each node.  ``edges``:
    by the nodes, the smaller one first, the costs by the picks of the first (rows) and the second
    (columns).  Infinite: not allowed.  ``limits``: what holds of several nodes."""

    costs: list[Costs] = field(default_factory=list)
    edges: dict[tuple[int, int], Costs] = field(default_factory=dict)
    limits: list[Limit] = field(default_factory=list)

    def node(self, costs: Sequence[float] | npt.NDArray[np.float64]) -> int:
        """A node of as many picks, none of them NaN; its number."""
        self.costs.append(np.array(costs, np.float64))
        return len(self.costs) - 1

    def charge(self, node: int, costs: npt.NDArray[np.float64]) -> None:
        """Add to what the picks of ``node`` cost."""
        self.costs[node] = self.costs[node] + costs

    def edge(self, first: int, second: int, costs: npt.NDArray[np.float64]) -> None:
        """Add what picks of two different nodes cost together (rows: of ``first``)."""
        if first > second:
            first, second, costs = second, first, costs.T
        known = self.edges.get((first, second))
        self.edges[first, second] = costs if known is None else known + costs

    @property
    def weighed(self) -> dict[int, None]:
        """The nodes whose picks some limit tells apart."""
        return dict.fromkeys(node for limit in self.limits for node in limit.weighed)

    def total(self, picked: Sequence[int]) -> float:
        """What one pick per node costs."""
        alone = sum(float(own[pick]) for own, pick in zip(self.costs, picked, strict=True))
        edges = self.edges.items()
        return alone + sum(float(table[picked[a], picked[b]]) for (a, b), table in edges)


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best picks of a problem.  ``picked``: of every node the pick that makes the sum least;
    None where the time ended before any was found, or no picks are allowed together (``bound`` is
    infinite then).  ``bound``: no picks cost less; ``cost`` itself but where time ended.  ``nodes``
    and ``edges``: what was left to the integer program."""

    picked: tuple[int, ...] | None
    cost: float
    bound: float
    nodes: int = 0
    edges: int = 0

    @property
    def gap(self) -> float:
        """The part of its cost that the best picks might be cheaper by."""
        if self.picked is None:
            return 0.0 if self.bound == np.inf else 1.0
        return (self.cost - self.bound) / abs(self.cost) if self.cost > self.bound else 0.0


_NONE = Optimum(None, np.inf, np.inf)


def minimise(problem: Problem, seconds: float = SECONDS, most: int = MOST_ENTRIES) -> Optimum:
    """The picks of least cost that take no more than there is.

    The integer program, if there is one, takes at most ``seconds``.  ``most``: entries of a table.
    """
    reduced, weighed = Elimination(problem.costs, problem.edges), problem.weighed
    if any(limit.room < 0 for limit in problem.limits):
        return _NONE
    reduced.drop_dominated(reduced.left - weighed.keys())
    if not reduced.possible:
        return _NONE
    reduced.run(most, min(MOST_COUPLED, most), weighed)
    rest = reduced.copy()
    rest.run(most, most, weighed)
    if not rest.left:
        return _optimum(problem, rest, {})
    reduced.drop_dominated(reduced.left - weighed.keys())
    return _by_integer_program(problem, reduced, seconds)


def _optimum(problem: Problem, reduced: Elimination, left: Mapping[int, int]) -> Optimum:
    """The optimum that has these picks of the nodes that are left."""
    found = reduced.complete(left)
    picked = tuple(found[node] for node in range(len(problem.costs)))
    cost = problem.total(picked)
    return Optimum(picked, cost, cost) if np.isfinite(cost) else _NONE


class _Linear:
    """The program: a variable per pick of each node that is left, and per entry of each table one
    that is 1 where all of its picks are made (Koster et al., "The partial constraint satisfaction
    problem", 1998)."""

    def __init__(self, reduced: Elimination) -> None:
        self.cost: list[float] = []
        self.whole: list[bool] = []
        self.upper: list[float] = []
        self.rows: list[Row] = []
        self.first: dict[int, int] = {}
        for node in reduced.left:
            count = len(reduced.states[node])
            own = reduced.tables.get((node,), np.zeros(count))
            self.first[node] = self._variables(own, whole=True)
            self.rows.append(Row(dict.fromkeys(range(self.first[node], len(self.cost)), 1.0), 1, 1))
        for scope, table in reduced.joint():
            if len(scope) == 2 and not table[np.isfinite(table)].any():
                self._allow(*scope, table)
            else:
                self._couple(scope, table)

    def limit(self, limit: Limit, reduced: Elimination) -> None:
        """Have what picks take be no more than there is room for."""
        weighed = limit.weighed
        if not weighed:
            return
        scale = _SCALE / max(float(each.max()) for each in weighed.values())
        terms = {
            self.first[node] + place: float(more[pick]) * scale
            for node, more in weighed.items()
            for place, pick in enumerate(reduced.states[node])
            if more[pick] * scale > SMALLEST
        }
        self.rows.append(Row(terms, -np.inf, limit.room * scale))

    def _variables(self, costs: Costs, *, whole: bool) -> int:
        first = len(self.cost)
        allowed = np.isfinite(costs)
        self.cost += np.where(allowed, costs, 0.0).ravel().tolist()
        self.upper += allowed.astype(float).ravel().tolist()
        self.whole += [whole] * costs.size
        return first

    def _allow(self, first: int, second: int, table: Costs) -> None:
        """What holds where picks cost nothing together or are not allowed: those of the one node
        that allow some of the other are made at least as much as these, as in Hall's theorem."""
        if table.shape[0] < table.shape[1]:
            first, second, table = second, first, table.T
        allowed = np.isfinite(table)  # by pick of the second node, which has fewer
        picks = range(allowed.shape[1])
        most = len(picks) - 1 if len(picks) <= _MOST_TOGETHER else 1
        for some in chain.from_iterable(combinations(picks, n) for n in range(1, most + 1)):
            by = np.flatnonzero(allowed[:, some].any(axis=1)).tolist()
            terms = {self.first[first] + pick: 1.0 for pick in by}
            terms |= {self.first[second] + pick: -1.0 for pick in some}
            if len(by) < len(allowed):
                self.rows.append(Row(terms, 0.0, np.inf))

    def _couple(self, scope: Scope, table: Costs) -> None:
        """What holds of a table's entries: those with a pick make as much as the pick itself."""
        first = self._variables(table, whole=False)
        numbers = first + np.arange(table.size).reshape(table.shape)
        for axis, node in enumerate(scope):
            for pick, entries in enumerate(np.moveaxis(numbers, axis, 0)):
                terms = dict.fromkeys(entries.ravel().tolist(), 1.0)
                self.rows.append(Row({**terms, self.first[node] + pick: -1.0}, 0.0, 0.0))


def _by_integer_program(problem: Problem, reduced: Elimination, seconds: float) -> Optimum:
    ends = time.monotonic() + seconds
    program = _Linear(reduced)
    for limit in problem.limits:
        program.limit(limit, reduced)
    largest = max(map(abs, program.cost), default=0.0) or 1.0
    found = solve(
        [cost * _SCALE / largest for cost in program.cost],
        program.rows,
        whole=program.whole,
        upper=program.upper,
        seconds=max(ends - time.monotonic(), 0.01),
        nodes=BRANCHES,
    )
    bound = found.bound * largest / _SCALE + reduced.constant
    left = len(reduced.left), sum(1 for _ in reduced.joint())
    if found.values is None:
        return Optimum(None, np.inf, np.inf if found.finished else bound, *left)
    picked = {
        node: int(states[found.values[at : at + len(states)].argmax()])
        for node, at in program.first.items()
        for states in (reduced.states[node],)
    }
    best = _optimum(problem, reduced, picked)
    bound = best.cost if found.finished else min(bound, best.cost)
    return replace(best, bound=bound, nodes=left[0], edges=left[1])
