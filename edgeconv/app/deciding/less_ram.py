"""Ways to need less RAM with the same formats: kernels with less workspace, results of quantised
models that stay integers, and layers that stream rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from edgeconv.app.deciding.fusing import by_price
from edgeconv.app.deciding.planning import Allowed, NetworkPlan, Planner
from edgeconv.ir.candidate import EXACTLY
from edgeconv.ir.choice import Choice
from edgeconv.ir.graph import Graph
from edgeconv.ir.request import NO_WORKSPACE, SMALLEST_OF_EACH, Workspace
from edgeconv.search import memory
from edgeconv.search.choose import streamed_like
from edgeconv.search.choose.arena_limit import Room
from edgeconv.search.choose.storage import EVERY_LAYER, EVERY_RESULT, lossless
from edgeconv.search.memory.row_streaming import streamed_for_memory
from edgeconv.search.predict import predict
from edgeconv.target.board import Board

_ATTEMPTS = 4  # at rooms: bytes that no node needs alone, and gaps between blocks
_LITTLE_MORE = 1.05  # of RAM, for which a program may be so many times as fast as the smallest
_CLEARLY_LESS = 1.3
_SLOWER = 1.05  # than without a limit of RAM: worth more plans
_NONE, _SMALLEST_OF_EACH = {EVERY_LAYER: NO_WORKSPACE}, {EVERY_LAYER: SMALLEST_OF_EACH}
_TIGHTENINGS = 6  # plans tried for a budget that leaves room for some workspaces


def ways(graph: Graph, board: Board) -> list[Allowed]:
    """Kernels that may be chosen, those of the most RAM and the least time first.

    With an operating system results are int8 where that takes less time; without, RAM is worth the
    time to decode integers.
    """
    if not lossless(graph, board.target):
        return [Allowed(), Allowed(_NONE)]
    cheaper = [] if board.bare_metal else [Allowed(integers=None)]
    in_integers = [Allowed(limits, EVERY_RESULT) for limits in ({}, _SMALLEST_OF_EACH, _NONE)]
    return [*cheaper, *in_integers]


def fastest_within(
    planner: Planner, graph: Graph, draft: NetworkPlan, *, streaming: bool
) -> NetworkPlan | None:
    """The fastest that fits of what there is instead of ``draft``, made of ``graph``, which needs
    too much RAM; None where nothing does.

    Kernels and layouts for that room (`with_room`), the same kernels with less workspace
    (`tightened`), and of those in integers what takes least; with ``streaming``, and where all of
    that is slower than ``draft``, all of these, and those without any workspace, with layers that
    stream rows.
    """
    limited = with_room(planner, graph, draft), tightened(planner, graph, draft)
    found = [each for each in limited if each]
    price, less = partial(predicted_price, planner), []
    if draft.allowed.integers:
        least = replace(draft.allowed, workspace=_SMALLEST_OF_EACH)
        less = [planner.draft(graph, least, planner.options.storage)]
    every = [*found, draft, *less]
    found += [each for each in less if not planner.exceeded(each, "ram")]
    if streaming or (less and all(price(each) > _SLOWER * price(draft) for each in found)):
        without = replace(draft.allowed, workspace=_NONE)
        every.append(planner.draft(graph, without, planner.options.storage))
        streaming_plans = [by_price(planner, each) for each in every]
        streaming_plans += all_with_streaming(planner, every)
        found += [each for each in streaming_plans if not planner.exceeded(each, "ram")]
    if streaming and all(price(each) > _SLOWER * price(draft) for each in found):
        found += filter(None, [tightened(planner, graph, draft, streaming=True)])
    return min(found, key=price, default=None)


def predicted_price(planner: Planner, draft: NetworkPlan) -> float:
    """What one run of ``draft`` is predicted to take, in seconds, or in multiply-accumulates."""
    return predict(draft.choice, draft.memory, planner.board).price


def with_room(planner: Planner, graph: Graph, draft: NetworkPlan) -> NetworkPlan | None:
    """The cheapest kernels and layouts of which none needs more than the budget leaves of the arena
    (`search.choose.arena_limit`); None where that does not fit.

    The first choice is a bound of all that fit.  Where its arena is larger, since more tensors live
    side by side in the order of execution than must, or blocks leave gaps, less room is tried, and
    the gap to that bound stated (`ir.choice.Search`).
    """
    room, bound = _room(planner, draft), 0.0
    for attempt in range(_ATTEMPTS):
        limit = Room(room, draft.choice.align, draft.choice.io == "caller")
        made = planner.draft(graph, replace(draft.allowed, room=limit), planner.options.storage)
        search = made.choice.search
        if search is None or made.memory.arena_bytes >= draft.memory.arena_bytes:
            return None  # nothing finds room
        bound = bound if attempt else search.cost * (1 - search.gap)
        if not planner.exceeded(made, "ram"):
            gap = max(search.gap, 1 - bound / search.cost if search.cost else 0.0)
            return replace(made, choice=replace(made.choice, search=replace(search, gap=gap)))
        room -= max(1, made.memory.arena_bytes - _room(planner, draft))
    return None


def _room(planner: Planner, draft: NetworkPlan) -> int:
    """Bytes that the budget, and what a board has, leave for an arena."""
    ram, most = draft.sizes.ram, planner.ram_beside(draft)
    assert most is not None
    return most - planner.overhead.ram - ram.total + draft.memory.arena_bytes


def tightened(
    planner: Planner, graph: Graph, draft: NetworkPlan, *, streaming: bool = False
) -> NetworkPlan | None:
    """``draft``, made of ``graph``, with less workspace for those layers alone that the budget has
    no room for beside their tensors, and with ``streaming`` beside the rows that are left of these
    where layers stream rows; None where that does not fit.

    Kernels with less of it may have other layouts, so that it is planned again, with as much less
    as was still too much.
    """
    workspace, room = dict(draft.allowed.workspace), _room(planner, draft)
    tried = draft
    for _ in range(_TIGHTENINGS):
        if streaming and not any(step.stream_rows for step in tried.choice.steps):
            tried = _streamed(planner, tried, _integers_streamed(planner, tried.choice))
            if not planner.exceeded(tried, "ram"):
                return tried
        least = memory.room_for_workspaces(tried.choice, tried.memory, room)
        more = {name: Workspace(size) for name, size in least.items()}
        if all(workspace.get(name) == size for name, size in more.items()):
            room -= max(1, tried.memory.arena_bytes - room)  # offsets leave gaps
            continue
        workspace |= more
        allowed = replace(draft.allowed, workspace=dict(workspace))
        tried = planner.draft(graph, allowed, planner.options.storage)
        if not planner.exceeded(tried, "ram"):
            return tried
    return None


def with_streaming(planner: Planner, draft: NetworkPlan) -> NetworkPlan:
    """``draft`` with layers that stream rows, where they then need less RAM and fit if they
    must."""
    return _kept(planner, draft, _integers_streamed(planner, draft.choice))


def all_with_streaming(planner: Planner, drafts: Sequence[NetworkPlan]) -> list[NetworkPlan]:
    """`with_streaming` of each of ``drafts``, which are of one network with different kernels.

    What kernels in integers save by writing over what they have read hides what longer steps would
    save: so those also begin with the steps that the others come to.
    """
    target = planner.board.target
    streamed = [_integers_streamed(planner, each.choice) for each in drafts]
    made = []
    for draft, own in zip(drafts, streamed, strict=True):
        found = [own]
        if _in_integers(draft.choice) and not any(step.stream_rows for step in draft.choice.steps):
            begun = (
                streamed_like(draft.choice, target, other) for other in streamed if other is not own
            )
            found += (
                _integers_streamed(planner, each) for each in begun if each is not draft.choice
            )
        made.append(min((_kept(planner, draft, each) for each in found), key=_ram))
    return made


def _in_integers(choice: Choice) -> bool:
    return any(each.candidate and each.candidate.compute in EXACTLY for each in choice.layers)


def _ram(draft: NetworkPlan) -> int:
    return draft.sizes.ram.total


def _integers_streamed(planner: Planner, choice: Choice) -> Choice:
    board, ram = planner.board, planner.options.ram
    return streamed_for_memory(choice, board.target, lambda made: memory.fit(made, board, ram))[0]


def _kept(planner: Planner, draft: NetworkPlan, choice: Choice) -> NetworkPlan:
    """``draft`` with ``choice``, which has steps, where that needs less RAM and fits if it must."""
    made = _streamed(planner, draft, choice)
    return draft if planner.exceeded(made) else made


def _streamed(planner: Planner, draft: NetworkPlan, choice: Choice) -> NetworkPlan:
    """``draft`` with ``choice``, the same layers in steps that need less RAM."""
    if choice is draft.choice:
        return draft
    made = planner.placed(choice, draft.allowed, planner.options.storage)
    saved = draft.memory.arena_bytes - made.memory.arena_bytes
    streaming = [len(step.layers) for step in choice.steps if step.stream_rows]
    note = f"{sum(streaming)} layers stream rows, in {len(streaming)} step(s): {saved} bytes less"
    return replace(made, notes=(*made.notes, note))


def fastest_of_the_smallest(planner: Planner, drafts: Sequence[NetworkPlan]) -> NetworkPlan:
    """The one of least RAM, of several the fastest; but another that needs little more where that
    takes clearly less time."""
    price = partial(predicted_price, planner)
    least = min(drafts, key=lambda each: (_ram(each), price(each)))
    fits = not planner.exceeded(least)
    near = [each for each in drafts if _ram(each) <= _LITTLE_MORE * _ram(least)]
    fastest = min((each for each in near if not (fits and planner.exceeded(each))), key=price)
    return fastest if _CLEARLY_LESS * price(fastest) < price(least) else least


def faster_for_little_more(planner: Planner, graph: Graph, least: NetworkPlan) -> NetworkPlan:
    """``least``, made of ``graph``, or where that takes much more time than kernels without any
    limit what is found within little more RAM: the kernels of `ways` are all of one kind, where
    only layers at the peak of the arena need that kind."""
    draft = planner.draft(graph, ways(graph, planner.board)[0], planner.options.storage)
    if predicted_price(planner, least) <= _CLEARLY_LESS * predicted_price(planner, draft):
        return least
    budgets = planner.budgets
    ram = int(_LITTLE_MORE * least.sizes.beside(planner.overhead).ram.total)
    near = planner.within(min(ram, budgets.ram or ram), budgets.flash)
    fitting = near.placed(draft.choice, draft.allowed, near.options.storage)
    if near.exceeded(fitting, "ram"):
        fitting = fastest_within(near, graph, fitting, streaming=True) or least
    return fastest_of_the_smallest(planner, (least, fitting))
