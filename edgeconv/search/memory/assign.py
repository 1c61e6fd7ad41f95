"""Which bank each block lies in: an integer program over the live bytes of every step.

Minimise the time that moving bytes takes, over binaries x[block, bank], such that each block is in
one bank and no bank holds more at a step than it has.  Live bytes bound a packing from below, so
that an assignment may still turn out not to pack; the caller then adds what it learned and solves
again (a cutting-plane method with the packing as its oracle).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from edgeconv.search.memory.banks import Bank
from edgeconv.search.memory.blocks import Block
from edgeconv.search.milp import Row, solve

# Nodes of the branch-and-bound tree: unlike seconds, the same on every machine.  SECONDS is a
# safety net for instances that no network has; only one that reaches it depends on the machine.
NODES = 5_000
SECONDS = 10.0
GAP = 0.0  # relative to the best bound: solved to optimality unless a limit is reached
LATER = 1e-6  # what a bank costs more than the one before it: ties go to the earlier one


class Assignment:
    """The integer program of some blocks and banks.

    ``rooms``: by bank, its capacity as a multiple of ``align``, None without limit.  ``homes``: by
    block, the bank that it must lie in, None where that is free.  Inside, bytes are counted in
    units of ``align``.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        moved: Sequence[int],
        banks: Sequence[Bank],
        align: int,
        homes: Sequence[int | None] = (),
    ) -> None:
        self._blocks, self._align, self._banks = len(blocks), align, len(banks)
        self.rooms = [
            None if bank.capacity is None else bank.capacity // align * align for bank in banks
        ]
        highest = max(bank.cost for bank in banks) or 1.0
        self._cost = [
            size / align * (bank.cost / highest + LATER * k)
            for size in moved
            for k, bank in enumerate(banks)
        ]
        self._most = [
            float(home in (None, k))
            for home in homes or (None,) * len(blocks)
            for k in range(len(banks))
        ]
        self._loads = _loads(blocks, align)
        self._tops = [max(rect.high for rect in block) // align for block in blocks]
        self._margin: dict[tuple[int, int], int] = {}  # bank, step -> units
        self._forbidden: list[tuple[int, tuple[int, ...]]] = []

    def forbid(self, bank: int, blocks: Iterable[int]) -> None:
        """``blocks`` cannot lie in ``bank`` together."""
        self._forbidden.append((bank, tuple(blocks)))

    def tighten(self, bank: int, steps: Iterable[int], excess: int) -> None:
        """Leave ``excess`` bytes of ``bank`` free at ``steps``, or twice what was left before."""
        units = -(-excess // self._align)
        for step in steps:
            self._margin[bank, step] = max(units, 2 * self._margin.get((bank, step), 0))

    def cheapest(self) -> tuple[int, ...] | None:
        """By block: its bank.  None when no assignment respects the capacities and the cuts."""
        rows = [*self._limits(with_margin=True), *self._cuts()]
        return self._solve(self._cost, rows, excess=0.0)

    def least_excess(self) -> tuple[int, ...]:
        """The cheapest of the assignments that exceed the capacities by the fewest bytes.

        Without cuts: where there is no room for the live bytes they have nothing to say.
        """
        rows = self._limits(with_margin=False)
        found = self._solve([0.0] * len(self._cost), rows, excess=np.inf)
        if found is None:  # a limit of the solver was reached
            return tuple(self._most[self._at(i).start :].index(1.0) for i in range(self._blocks))
        return self._solve(self._cost, rows, excess=self._excess(found)) or found

    def _excess(self, assignment: Sequence[int]) -> float:
        """Units that the banks lack, in total."""
        lacking = [0] * self._banks
        for load in (*self._loads.values(), *({i: top} for i, top in enumerate(self._tops))):
            for bank, room in enumerate(self.rooms):
                if room is not None:
                    needed = sum(units for i, units in load.items() if assignment[i] == bank)
                    lacking[bank] = max(lacking[bank], needed - room // self._align)
        return float(sum(lacking))

    def _solve(self, cost: list[float], rows: list[Row], excess: float) -> tuple[int, ...] | None:
        """The assignment of least ``cost`` whose banks lack ``excess`` units at most in total.

        Where that is infinite, the one whose banks lack least.
        """
        count = len(cost)  # after the binaries: the units that each bank lacks
        slack = dict.fromkeys(range(count, count + self._banks), 1.0)
        one = [Row(dict.fromkeys(self._at(i), 1.0), 1.0, 1.0) for i in range(self._blocks)]
        found = solve(
            [*cost, *[float(np.isinf(excess))] * self._banks],
            [*one, *rows, Row(slack, 0.0, excess)],
            whole=[True] * count + [False] * self._banks,
            upper=[*self._most, *[np.inf] * self._banks],
            seconds=SECONDS,
            gap=GAP,
            nodes=NODES,
        )
        if found.values is None:
            return None
        chosen = found.values[:count].reshape(self._blocks, self._banks)
        return tuple(map(int, chosen.argmax(axis=1)))

    def _limits(self, *, with_margin: bool) -> list[Row]:
        """No bank holds more at a step than it has room for, nor a block higher than that."""
        rows: list[Row] = []
        for bank, room in enumerate(self.rooms):
            if room is None:
                continue
            limits: dict[tuple[tuple[int, int], ...], int] = {
                ((i, top),): room // self._align for i, top in enumerate(self._tops)
            }
            for step, load in self._loads.items():
                margin = self._margin.get((bank, step), 0) if with_margin else 0
                limit = max(0, room // self._align - margin)
                key = tuple(load.items())
                limits[key] = min(limit, limits.get(key, limit))  # many steps have equal loads
            for key, limit in limits.items():
                terms = {self._at(i)[bank]: float(units) for i, units in key}
                terms[self._blocks * self._banks + bank] = -1.0
                rows.append(Row(terms, -np.inf, float(limit)))
        return rows

    def _cuts(self) -> list[Row]:
        """Not all blocks of a forbidden combination."""
        return [
            Row({self._at(i)[bank]: 1.0 for i in members}, -np.inf, len(members) - 1.0)
            for bank, members in self._forbidden
        ]

    def _at(self, block: int) -> range:
        """The variables of a block, by bank."""
        return range(block * self._banks, (block + 1) * self._banks)


def _loads(blocks: Sequence[Block], align: int) -> dict[int, dict[int, int]]:
    """Step -> block -> units live then."""
    found: dict[int, dict[int, int]] = {}
    for i, block in enumerate(blocks):
        for rect in block:
            for step in range(rect.first, rect.last + 1):
                load = found.setdefault(step, {})
                load[i] = load.get(i, 0) + (rect.high - rect.low) // align
    return found
