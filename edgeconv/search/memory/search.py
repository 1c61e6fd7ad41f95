"""Arena offsets by CP-SAT: the smallest arena for given blocks, or the proof that one is."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from edgeconv.search.memory.blocks import Block, height
from edgeconv.search.memory.offsets import Conflicts, Packing, Range, pack

SECONDS = 1.0  # of CP-SAT's deterministic clock: the same result on every machine
PAIRS = 4000  # pairs of blocks in conflict above which presolving alone would take longer


def smallest(blocks: Sequence[Block], enough: int) -> tuple[Packing, bool]:
    """By heuristics, and by search where those miss ``enough``: as ``search`` returns it.

    A packing of height ``enough`` or less is returned as soon as it is found; with the lower bound
    for ``enough``, the flag says that none is smaller.
    """
    packing = pack(blocks, enough)
    if packing.height <= enough:
        return packing, True
    return search(blocks, enough, packing)


def search(blocks: Sequence[Block], bound: int, start: Packing) -> tuple[Packing, bool]:
    """A packing no higher than ``start``, and whether it is proven that none is lower.

    ``bound`` is a height that no packing can be below, or below which none is wanted.  Disjunctive
    model: for every two blocks in conflict, the difference of their bases lies in one of the ranges
    between the forbidden ones.  Bytes count in the greatest common divisor of all edges, which
    loses no solution: rounding all bases down to it keeps every difference on its side.
    """
    conflicts = Conflicts(blocks)
    if sum(map(len, conflicts.forbidden)) // 2 > PAIRS:
        return start, False
    # Imported late: it takes longer than planning most networks does.
    from ortools.sat.python import cp_model  # noqa: PLC0415

    grain = gcd(*(edge for block in blocks for rect in block for edge in (rect.low, rect.high)))
    limit = start.height // grain
    model = cp_model.CpModel()
    top = model.new_int_var(bound // grain, limit, "top")
    bases = []
    for i, tall in enumerate(conflicts.tops):
        base = model.new_int_var(0, limit - tall // grain, f"base{i}")
        model.add(base + tall // grain <= top)
        model.add_hint(base, start.bases[i] // grain)
        bases.append(base)
    for i, forbidden in enumerate(conflicts.forbidden):
        for j, ranges in forbidden.items():
            if j < i:
                choices = [
                    (model.new_bool_var(""), low, high) for low, high in _free(ranges, grain, limit)
                ]
                model.add_exactly_one(chosen for chosen, _, _ in choices)
                for chosen, low, high in choices:
                    difference = model.add_linear_constraint(bases[i] - bases[j], low, high)
                    difference.only_enforce_if(chosen)
    model.minimize(top)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = SECONDS
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return start, False
    found = tuple(grain * solver.value(base) for base in bases)
    return Packing(found, height(blocks, found)), status == cp_model.OPTIMAL


def _free(forbidden: Sequence[Range], grain: int, limit: int) -> list[Range]:
    """The closed ranges, in grains, that the open ranges leave of [-limit, limit]."""
    lows = [-limit, *(high // grain for _, high in forbidden)]
    highs = [*(low // grain for low, _ in forbidden), limit]
    return [(low, high) for low, high in zip(lows, highs, strict=True) if low <= high]
