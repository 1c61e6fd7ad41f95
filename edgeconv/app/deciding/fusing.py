"""Layers stream rows where that is predicted to be faster, and where it takes no longer but less
RAM."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from edgeconv.app.deciding.planning import NetworkPlan, Planner
from edgeconv.ir.step import Step
from edgeconv.search import memory
from edgeconv.search.choose.fused import CERTAIN, Fusion, StepPrices, fused
from edgeconv.search.memory.row_streaming import streamed_for_memory
from edgeconv.search.memory.streaming_cut import StreamingCuts
from edgeconv.search.predict import predict

WORTH = 0.05  # of the arena: what less of it is worth another order
# Times the time of the fastest program that half of its arena is worth on a board without an
# operating system, where RAM is what users pay for; for less of it no more than is certain.
HALF_IS_WORTH = 1.02
_ATTEMPTS = 3  # at steps whose time is predicted once everything is in its place


def by_price(planner: Planner, draft: NetworkPlan) -> NetworkPlan:
    """``draft`` with neighbours as steps: chains that gain time, then those at the peak of the
    arena that lose none.

    What comes of it is kept where the whole network, with everything in its place, is still
    predicted to gain time, or RAM at no loss.  Where layers stream rows already they stay as they
    are.  Of a board without an operating system RAM is worth a little time (`_of_smallest_arena`).
    """
    board = planner.board
    if any(step.stream_rows for step in draft.choice.steps):
        return draft
    prices = StepPrices(draft.choice, board.target, planner.machine)
    if board.bare_metal and not planner.team:
        return _of_smallest_arena(planner, draft, prices)
    return _by_time(planner, draft, prices, at_the_peak=not board.bare_metal)


def _by_time(
    planner: Planner, draft: NetworkPlan, prices: StepPrices, *, at_the_peak: bool
) -> NetworkPlan:
    """``draft`` with the steps that gain time, and those ``at_the_peak`` of the arena that lose
    none."""
    board, options = planner.board, planner.options
    choice = fused(draft.choice, prices)
    if at_the_peak:
        choice, _ = streamed_for_memory(
            choice,
            board.target,
            lambda made: memory.fit(made, board, options.ram, verified=False),
            lambda first, count: _step(prices.fewest_rows(first, count)),
        )
    if choice is draft.choice:
        return draft
    made = planner.placed(choice, draft.allowed, options.storage)
    before, after = (predict(each.choice, each.memory, board).price for each in (draft, made))
    saved = draft.memory.arena_bytes - made.memory.arena_bytes
    most = 1 + CERTAIN if saved > WORTH * draft.memory.arena_bytes else 1 - CERTAIN
    if planner.exceeded(made) or after > most * before:
        return draft
    return _noted(made, after / before, saved)


def _of_smallest_arena(planner: Planner, draft: NetworkPlan, prices: StepPrices) -> NetworkPlan:
    """``draft``, maybe with layers that stream rows, of the least RAM that takes hardly more time
    than the fastest: 1 % at most, which prediction does not tell apart, or `HALF_IS_WORTH` where
    half the arena is saved.

    Steps are cut for one memory; where several have parts of the arena, pairs at its peak are
    tried as well.
    """
    board, fastest = planner.board, _by_time(planner, draft, prices, at_the_peak=False)
    before, least = (predict(each.choice, each.memory, board).price for each in (draft, fastest))
    cuts, arena = StreamingCuts(draft.choice, prices), fastest.memory.arena_bytes
    smaller = [fastest]
    for choice in islice(cuts.least_within(1 + CERTAIN, HALF_IS_WORTH), _ATTEMPTS):
        made = planner.placed(choice, draft.allowed, planner.options.storage)
        after, taken = predict(made.choice, made.memory, board).price, made.memory.arena_bytes
        most = HALF_IS_WORTH if 2 * taken <= arena else 1 + CERTAIN
        if taken < (1 - WORTH) * arena and after <= most * least and not planner.exceeded(made):
            saved = draft.memory.arena_bytes - taken
            smaller.append(_noted(made, after / before if before else 1.0, saved))
    best = min(smaller, key=_arena)
    if sum(1 for bank in best.memory.banks if bank.bytes) <= 1:
        return best
    return min(best, _by_time(planner, draft, prices, at_the_peak=True), key=_arena)


def _arena(draft: NetworkPlan) -> int:
    return draft.memory.arena_bytes


def _noted(made: NetworkPlan, times: float, saved: int) -> NetworkPlan:
    """``made``, saying that it takes so many ``times`` the time without row streaming."""
    streaming = [len(step.layers) for step in made.choice.steps if step.stream_rows]
    note = (
        f"{sum(streaming)} layers stream rows, in {len(streaming)} step(s): "
        f"{_share(times)}, {abs(saved)} bytes of RAM {'more' if saved < 0 else 'less'}"
    )
    return replace(made, notes=(*made.notes, note))


def _step(found: Fusion | None) -> Step | None:
    if found is None:
        return None
    layers = tuple(range(found.first, found.first + found.count))
    return Step(layers, found.stream_rows, max(1, len(found.shares)), found.shares)


def _share(of_time: float) -> str:
    if abs(of_time - 1) < CERTAIN:
        return "the same time predicted"
    percent = 100 * (1 - of_time)
    return f"{abs(percent):.0f} % {'less' if percent > 0 else 'more'} time predicted"
