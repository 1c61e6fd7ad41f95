"""An arena over several banks: assign the blocks, pack every bank, learn from what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeconv.search.memory.assign import Assignment
from edgeconv.search.memory.banks import Bank
from edgeconv.search.memory.blocks import Block, live_bytes
from edgeconv.search.memory.offsets import Packing
from edgeconv.search.memory.search import smallest

ROUNDS = 24  # assignments tried
EXACT = 12  # of them, the first ones: what they teach is a proof where there is one
CORE = 16  # blocks of a bank up to which those that really collide are looked for


@dataclass(frozen=True, slots=True)
class BankAssignment:
    """The bank and the place of every block.  ``banks`` and ``bases``: by block, its bank and its
    first byte there.

    ``heights`` and ``bounds``: by bank, the bytes it needs and a lower bound of them.  ``optimal``:
    no bank can be smaller for the blocks in it.
    """

    banks: tuple[int, ...]
    bases: tuple[int, ...]
    heights: tuple[int, ...]
    bounds: tuple[int, ...]
    optimal: bool


def in_one(
    packing: Packing, bound: int, optimal: bool, banks: int, number: int = 0
) -> BankAssignment:
    """All blocks in that of ``banks`` which has ``number``, as ``packing`` has them."""

    def alone(size: int) -> tuple[int, ...]:
        return tuple(size if k == number else 0 for k in range(banks))

    where = (number,) * len(packing.bases)
    return BankAssignment(where, packing.bases, alone(packing.height), alone(bound), optimal)


def assign_banks(
    blocks: Sequence[Block],
    moved: Sequence[int],
    banks: Sequence[Bank],
    align: int,
    homes: Sequence[int | None] = (),
) -> BankAssignment:
    """A bank and a base for every block, so that moving ``moved`` bytes of each costs least.

    ``homes``: by block, the bank that it must lie in, None where that is free; () for all free.

    No assignment that packs costs less, unless a bank turned out not to pack that has more than
    CORE blocks, or EXACT times: then it is given less to hold, which may be too little.  When
    nothing that was tried fits, the result is the attempt with the least excess over the
    capacities.  Deterministic but for ``assign.SECONDS``.
    """
    model = Assignment(blocks, moved, banks, align, homes)
    attempts: list[_Attempt] = []
    for number in range(ROUNDS):
        assignment = model.cheapest()
        if assignment is None:
            break
        attempts.append(_Attempt(blocks, assignment, model.rooms))
        if attempts[-1].excess == 0:
            break
        attempts[-1].teach(model, exact=number < EXACT)
    if not attempts:
        attempts.append(_Attempt(blocks, model.least_excess(), model.rooms))
    return min(attempts, key=lambda attempt: attempt.excess).smallest()


class _Attempt:
    """An assignment and a packing of each bank, with what exceeds ``rooms`` (None: no limit)."""

    def __init__(
        self, blocks: Sequence[Block], assignment: tuple[int, ...], rooms: Sequence[int | None]
    ) -> None:
        self._blocks, self._assignment, self._rooms = blocks, assignment, rooms
        self._members = [
            [i for i, bank in enumerate(assignment) if bank == k] for k in range(len(rooms))
        ]
        self._fits = [
            _fit([blocks[i] for i in members], room)
            for members, room in zip(self._members, rooms, strict=True)
        ]

    @property
    def excess(self) -> int:
        """Bytes that do not fit, over all banks."""
        return sum(self._over(k) for k in range(len(self._rooms)))

    def _over(self, bank: int) -> int:
        room = self._rooms[bank]
        return 0 if room is None else max(0, self._fits[bank][0].height - room)

    def teach(self, model: Assignment, *, exact: bool) -> None:
        """Add to ``model`` what it must not do again."""
        for k, members in enumerate(self._members):
            room, (packing, proven) = self._rooms[k], self._fits[k]
            if room is None or not self._over(k):
                continue
            if exact and proven and len(members) <= CORE:
                model.forbid(k, self._core(members, room))
            else:
                above = {
                    step
                    for i, base in zip(members, packing.bases, strict=True)
                    for rect in self._blocks[i]
                    if base + rect.high > room
                    for step in range(rect.first, rect.last + 1)
                }
                model.tighten(k, sorted(above), self._over(k))

    def _core(self, members: list[int], room: int) -> list[int]:
        """Some of ``members`` that do not pack into ``room`` either: the fewer, the better."""
        core = members
        for i in members:
            rest = [j for j in core if j != i]
            packing, proven = _fit([self._blocks[j] for j in rest], room)
            if proven and packing.height > room:
                core = rest
        return core

    def smallest(self) -> BankAssignment:
        """The attempt with every bank packed as low as it goes."""
        bases = [0] * len(self._blocks)
        heights, bounds, optimal = [], [], True
        for members, (fit, _) in zip(self._members, self._fits, strict=True):
            own = [self._blocks[i] for i in members]
            bound = _bound(own)
            packing, proven = smallest(own, bound)
            if packing.height > fit.height:
                packing, proven = fit, False
            for i, base in zip(members, packing.bases, strict=True):
                bases[i] = base
            heights.append(packing.height)
            bounds.append(bound)
            optimal = optimal and proven
        return BankAssignment(
            self._assignment, tuple(bases), tuple(heights), tuple(bounds), optimal
        )


def _fit(blocks: Sequence[Block], room: int | None) -> tuple[Packing, bool]:
    """A packing within ``room`` if one is found, else a low one; and whether that is all proven."""
    bound = _bound(blocks)
    return smallest(blocks, bound if room is None else max(bound, room))


def _bound(blocks: Sequence[Block]) -> int:
    steps = max((rect.last for block in blocks for rect in block), default=0)
    return max(live_bytes(blocks, steps))
