"""Ways to need less RAM with the same formats: kernels with less workspace, results of quantised
models that stay integers, and layers that take turns by rows."""

from __future__ import annotations

from dataclasses import replace

from edgeconv import memory
from edgeconv.board import Board
from edgeconv.choose.storage import EVERY_LAYER, EVERY_RESULT, lossless
from edgeconv.deciding.planning import Allowed, Draft, Planner
from edgeconv.ir.graph import Graph
from edgeconv.memory.by_turns import by_turns

_TIGHTENINGS = 6  # plans tried for a budget that leaves room for some workspaces


def ways(graph: Graph, board: Board) -> list[Allowed]:
    """Kernels that may be chosen, those of the most RAM and the least time first.

    With an operating system results are int8 where that takes less time; without, RAM is worth the
    time to decode integers.
    """
    if not lossless(graph, board.target):
        return [Allowed(), Allowed({EVERY_LAYER: 0})]
    cheaper = [] if board.bare_metal else [Allowed(integers=None)]
    return [*cheaper, Allowed(integers=EVERY_RESULT), Allowed({EVERY_LAYER: 0}, EVERY_RESULT)]


def tightened(planner: Planner, graph: Graph, draft: Draft) -> Draft | None:
    """``draft``, made of ``graph``, with less workspace for those layers alone that the budget has
    no room for beside their tensors; None where that does not fit.

    Kernels with less of it may have other layouts, so that it is planned again, with as much less
    as was still too much.
    """
    ram, workspace = draft.sizes.ram, dict(draft.allowed.workspace)
    assert ram.budget is not None
    room = ram.budget - planner.overhead.ram - ram.total + draft.memory.arena_bytes
    for _ in range(_TIGHTENINGS):
        more = memory.room_for_workspaces(draft.choice, draft.memory, room)
        if all(workspace.get(name) == size for name, size in more.items()):
            room -= max(1, draft.memory.arena_bytes - room)  # offsets leave gaps
            continue
        workspace |= more
        allowed = replace(draft.allowed, workspace=dict(workspace))
        draft = planner.draft(graph, allowed, planner.options.storage)
        if not planner.exceeded(draft, "ram"):
            return draft
    return None


def taking_turns(planner: Planner, draft: Draft) -> Draft:
    """``draft`` with layers that take turns, where they then need less RAM and fit if they must."""
    options, board = planner.options, planner.board
    choice, plan = by_turns(
        draft.choice, board.target, lambda made: memory.fit(made, board, options.ram)
    )
    if choice is draft.choice:
        return draft
    made = planner.placed(choice, draft.allowed, options.storage)
    if planner.exceeded(made):
        return draft
    turns = [len(step.layers) for step in choice.steps if step.turn]
    saved = draft.memory.arena_bytes - plan.arena_bytes
    note = f"{sum(turns)} layers take turns by rows, in {len(turns)} step(s): {saved} bytes less"
    return replace(made, notes=(*made.notes, note))
