"""Layers stream rows where that is predicted to be faster, and where it takes no longer but less
RAM."""

from __future__ import annotations

from dataclasses import replace

from edgeconv.app.deciding.planning import NetworkPlan, Planner
from edgeconv.ir.step import Step
from edgeconv.search import memory
from edgeconv.search.choose.fused import CERTAIN, Fusion, StepPrices, fused
from edgeconv.search.memory.row_streaming import streamed_for_memory
from edgeconv.search.predict import predict

WORTH = 0.05  # of the arena: what less of it is worth another order


def by_price(planner: Planner, draft: NetworkPlan) -> NetworkPlan:
    """``draft`` with neighbours as steps: chains that gain time, then those at the peak of the
    arena that lose none.

    What comes of it is kept where the whole network, with everything in its place, is still
    predicted to gain time, or RAM at no loss.  Where layers stream rows already they stay as they
    are.  Of a board without an operating system the program has all RAM: there layers stream rows
    for it only where it is short.
    """
    board, options = planner.board, planner.options
    if any(step.stream_rows for step in draft.choice.steps):
        return draft
    prices = StepPrices(draft.choice, board.target, planner.machine)
    choice = fused(draft.choice, prices)
    if not board.bare_metal:
        choice, _ = streamed_for_memory(
            choice,
            board.target,
            lambda made: memory.fit(made, board, options.ram),
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
    streaming = [len(step.layers) for step in choice.steps if step.stream_rows]
    note = (
        f"{sum(streaming)} layers stream rows, in {len(streaming)} step(s): "
        f"{_share(after / before)}, {abs(saved)} bytes of RAM {'more' if saved < 0 else 'less'}"
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
    return f"{100 * (1 - of_time):.0f} % less time predicted"
