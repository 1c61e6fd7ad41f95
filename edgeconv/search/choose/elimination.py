"""Variables of few states, and tables of what their states cost together: variables that are
minimised out one by one, exactly, while the tables that this makes stay small.

For variables of one neighbour and of two these are the reductions RI and RII of PBQP (Scholz and
Eckstein, "Register Allocation for Irregular Architectures", LCTES 2002), along a chain or a tree
dynamic programming, and beyond nonserial dynamic programming (Bertele and Brioschi, 1972).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, KeysView, Mapping, Sequence
from math import log2

import numpy as np
import numpy.typing as npt

Costs = npt.NDArray[np.float64]
States = npt.NDArray[np.intp]
Scope = tuple[int, ...]  # variables, ascending: the axes of a table


class Elimination:
    """What is left to minimise: the sum of ``tables`` over the variables in their scopes.

    ``states``: by variable the numbers of its states that are left.  ``constant``: what variables
    that are minimised out cost in any case.
    """

    def __init__(self, costs: Sequence[Costs], edges: Mapping[tuple[int, int], Costs]) -> None:
        self.states: list[States] = [np.arange(len(own)) for own in costs]
        self.tables: dict[Scope, Costs] = {}
        self.constant = 0.0
        # By variable: the scopes that it is in, and its neighbours; dicts, for their order.
        self._scopes: list[dict[Scope, None]] = [{} for _ in costs]
        self._near: list[dict[int, None]] = [{} for _ in costs]
        self._left = dict.fromkeys(range(len(costs)))
        # With what was known of it then: the best state for all of its neighbours', of which states
        # are left out later.
        self._gone: list[tuple[int, Scope, list[States], States]] = []
        for variable, own in enumerate(costs):
            self._add((variable,), own)
        for scope, table in edges.items():
            self._add(scope, table)

    def copy(self) -> Elimination:
        """Another one in the same state."""
        other = Elimination((), {})
        other.states, other.tables = list(self.states), dict(self.tables)
        other.constant = self.constant
        other._scopes = [dict(each) for each in self._scopes]
        other._near = [dict(each) for each in self._near]
        other._left, other._gone = dict(self._left), list(self._gone)
        return other

    @property
    def left(self) -> KeysView[int]:
        """The variables that are not minimised out, ascending."""
        return self._left.keys()

    @property
    def possible(self) -> bool:
        """Whether every variable has a state."""
        return all(len(each) for each in self.states)

    def _add(self, scope: Scope, table: Costs) -> None:
        if not scope:
            self.constant += float(table)
            return
        if scope in self.tables:
            self.tables[scope] = self.tables[scope] + table
            return
        self.tables[scope] = table
        for variable in scope:
            self._scopes[variable][scope] = None
            self._near[variable].update(dict.fromkeys(each for each in scope if each != variable))

    def _take(self, variable: int) -> list[tuple[Scope, Costs]]:
        """The tables of a variable, which are no longer here, nor is it."""
        taken = [(scope, self.tables.pop(scope)) for scope in self._scopes[variable]]
        for scope, _ in taken:
            for each in scope:
                if each != variable:
                    del self._scopes[each][scope]
        for each in self._near[variable]:
            del self._near[each][variable]
        del self._left[variable]
        self._scopes[variable] = {}
        return taken

    def drop_dominated(self, among: Collection[int] | None = None) -> None:
        """Leave out states than which another of the same variable, of ``among``, costs no more
        whatever its neighbours do: some optimum has none of them (Desmet et al., "The dead-end
        elimination theorem", 1992)."""
        waiting = dict.fromkeys(self._left if among is None else among)
        while waiting:
            variable = next(iter(waiting))
            del waiting[variable]
            if self._without_dominated(variable):
                if not len(self.states[variable]):
                    return
                near = self._near[variable]
                waiting.update(dict.fromkeys(n for n in near if among is None or n in among))

    def _without_dominated(self, variable: int) -> bool:
        count = len(self.states[variable])
        if count == 1:
            return False
        more = np.zeros((count, count))  # [a, b]: by how much a costs more than b at least
        possible = np.ones(count, bool)
        for scope in self._scopes[variable]:
            table = np.moveaxis(self.tables[scope], scope.index(variable), 0).reshape(count, -1)
            possible &= np.isfinite(table).any(axis=1)
            with np.errstate(invalid="ignore"):
                apart = table[:, None, :] - table[None, :, :]
            # What a cannot be, b need not be better at.
            apart[np.broadcast_to(np.isinf(table)[:, None, :], apart.shape)] = np.inf
            more += np.where(possible[:, None], apart.min(axis=2), 0.0)
        kept = list(np.flatnonzero(possible))
        for a in reversed(kept[:]):
            if any(more[a, b] > 0 or (more[a, b] == 0 and b < a) for b in kept if b != a):
                kept.remove(a)
        if len(kept) == count:
            return False
        self.states[variable] = self.states[variable][kept]
        for scope in self._scopes[variable]:
            self.tables[scope] = self.tables[scope].take(kept, axis=scope.index(variable))
        return True

    def run(self, most: int, made: int, kept: Collection[int] = ()) -> None:
        """Minimise variables out but those ``kept``, first that which makes the smallest table over
        its neighbours, while that has at most ``made`` entries and, with the variable itself,
        ``most``."""
        bits = [log2(len(each)) if len(each) else 0.0 for each in self.states]

        def size(variable: int) -> float:
            alone = bits[variable] == 0.0  # what its neighbours do concerns it one by one
            return 0.0 if alone else sum(bits[n] for n in self._near[variable])

        sizes = {variable: size(variable) for variable in self._left if variable not in kept}
        waiting = [(own, variable) for variable, own in sizes.items()]
        heapq.heapify(waiting)
        while waiting:
            own, variable = heapq.heappop(waiting)
            if sizes.get(variable) != own:
                continue  # it has been entered again since
            if own > log2(made) or own + bits[variable] > log2(most):
                return
            del sizes[variable]
            for other in self._minimise_out(variable):
                if other in sizes:
                    sizes[other] = size(other)
                    heapq.heappush(waiting, (sizes[other], other))

    def _minimise_out(self, variable: int) -> Scope:
        """Its neighbours."""
        near = tuple(sorted(self._near[variable]))
        taken = self._take(variable)
        if len(self.states[variable]) == 1:
            for scope, table in taken:
                others = tuple(each for each in scope if each != variable)
                only = np.asarray(table.take(0, axis=scope.index(variable)))
                self._add(others, only)
            self._gone.append((variable, (), [], self.states[variable][0]))
            return near
        joined = np.zeros([len(self.states[each]) for each in (variable, *near)])
        for scope, table in taken:
            first = np.moveaxis(table, scope.index(variable), 0)
            joined += first.reshape(
                len(self.states[variable]),
                *(len(self.states[each]) if each in scope else 1 for each in near),
            )
        best = self.states[variable][joined.argmin(axis=0)]
        self._gone.append((variable, near, [self.states[each] for each in near], best))
        self._add(near, joined.min(axis=0))
        return near

    def complete(self, picked: Mapping[int, int]) -> dict[int, int]:
        """The best states of all variables, by number, given those of the variables left."""
        found = dict(picked)
        for variable, near, states, best in reversed(self._gone):
            places = [np.searchsorted(s, found[n]) for s, n in zip(states, near, strict=True)]
            found[variable] = int(best[tuple(places)])
        return found

    def joint(self) -> Iterator[tuple[Scope, Costs]]:
        """The tables of several variables."""
        return ((scope, table) for scope, table in self.tables.items() if len(scope) > 1)
