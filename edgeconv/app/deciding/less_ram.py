"""Ways to need less RAM with the same formats: kernels with less workspace, results of quantised
models that stay integers, and layers that stream rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter

from edgeconv.app.deciding.fusing import by_price
from edgeconv.app.deciding.planning import Allowed, NetworkPlan, Planner
from edgeconv.ir.choice import Choice
from edgeconv.ir.graph import Graph
from edgeconv.ir.request import NO_WORKSPACE, SMALLEST_OF_EACH, Workspace
from edgeconv.search import memory
from edgeconv.search.choose.arena_limit import Room
from edgeconv.search.choose.fused import StepPrices
from edgeconv.search.choose.row_streaming import macs_computed
from edgeconv.search.choose.storage import EVERY_LAYER, EVERY_RESULT, lossless
from edgeconv.search.memory.row_streaming import streamed_for_memory
from edgeconv.search.memory.streaming_cut import StreamingCuts
from edgeconv.search.predict import predict
from edgeconv.target.board import Board

_ATTEMPTS = 4  # at rooms: bytes that no node needs alone, and gaps between blocks
# What time is worth of RAM where that is to be small: so much more of it for a program so many
# times as fast, that again for as many times again, up to a most.
_LITTLE_MORE, _CLEARLY_LESS, _MOST_MORE = 1.05, 1.3, 1.25
_LIMITS = (1.0, _LITTLE_MORE, _MOST_MORE)  # of the least, tried
_SLOWER = 1.05  # than without a limit of RAM: worth more plans
_NONE, _SMALLEST_OF_EACH = {EVERY_LAYER: NO_WORKSPACE}, {EVERY_LAYER: SMALLEST_OF_EACH}
_TRADED = 7  # sizes of an arena between the largest and the least that are tried
_TIGHTENINGS = 6  # plans tried for a budget that leaves room for some workspaces


def ways(graph: Graph, board: Board) -> list[Allowed]:
    """Kernels that may be chosen, those of the most RAM and the least time first.

    With an operating system results are int8 where that takes less time; without, RAM is worth the
    time to decode integers.
    """
    if not lossless(graph):
        return [Allowed(), Allowed(_NONE)]
    cheaper = [] if board.bare_metal else [Allowed(integers=None)]
    in_integers = [Allowed(limits, EVERY_RESULT) for limits in ({}, _SMALLEST_OF_EACH, _NONE)]
    return [*cheaper, *in_integers]


def fastest_within(
    planner: Planner, graph: Graph, draft: NetworkPlan, *, streaming: bool
) -> NetworkPlan | None:
    """The fastest that fits of what there is instead of ``draft``, made of ``graph``, which needs
    too much RAM; None where nothing does.

    With ``streaming`` first the same kernels where layers stream rows, in patches where whole ones
    need too much: mostly that takes hardly more time.  Else kernels and layouts for that room
    (`with_room`), the same kernels with less workspace (`tightened`), and of those in integers what
    takes least; where all of that is slower than ``draft``, with ``streaming`` or in integers, all
    of these, and those without any workspace, with layers that stream rows.
    """
    price, most = partial(predicted_price, planner), _SLOWER * predicted_price(planner, draft)
    found = [*_streaming_plans(planner, [draft])] if streaming else []
    # Where tensors alone need more than there is, kernels of less workspace are no way out.
    enough = _CLEARLY_LESS * most if _tensors(draft) > _room(planner, draft) else most
    if any(price(each) <= enough for each in found):
        return min(found, key=price)
    limited = with_room(planner, graph, draft), tightened(planner, graph, draft)
    found += (each for each in limited if each)
    every = [each for each in limited if each]
    if draft.allowed.integers:
        least = replace(draft.allowed, workspace=_SMALLEST_OF_EACH)
        every.append(planner.draft(graph, least, planner.options.storage))
        found += (each for each in every[-1:] if not planner.exceeded(each, "ram"))
    if (streaming or draft.allowed.integers) and all(price(each) > most for each in found):
        every = every if streaming else [draft, *every]  # looked at first
        without = replace(draft.allowed, workspace=_NONE)
        every.append(planner.draft(graph, without, planner.options.storage))
        found += _streaming_plans(planner, every, patches=not found)
    if streaming and all(price(each) > most for each in found):
        found += filter(None, [tightened(planner, graph, draft, streaming=True, patches=not found)])
    return min(found, key=price, default=None)


def _streaming_plans(
    planner: Planner, drafts: Sequence[NetworkPlan], *, patches: bool = True
) -> Iterator[NetworkPlan]:
    """Plans that fit: ``drafts`` with layers that stream rows, of each the fastest, some steps
    maybe in ``patches``; else in the steps that need least."""
    for draft in drafts:
        by_time = [by_price(planner, draft)] if planner.team or not planner.board.bare_metal else []
        fastest = streaming_within(planner, draft, patches=patches)
        made = [*by_time, fastest] if fastest else [*by_time, *smallest_streaming(planner, draft)]
        yield from (each for each in made if not planner.exceeded(each, "ram"))


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


def _tensors(draft: NetworkPlan) -> int:
    """Bytes of the arena but for the largest workspace."""
    return draft.memory.lower_bound - max(draft.choice.workspaces().values(), default=0)


def _room(planner: Planner, draft: NetworkPlan) -> int:
    """Bytes that the budget, and what a board has, leave for an arena."""
    ram, most = draft.sizes.ram, planner.ram_beside(draft)
    assert most is not None
    return most - planner.overhead.ram - ram.total + draft.memory.arena_bytes


def tightened(
    planner: Planner,
    graph: Graph,
    draft: NetworkPlan,
    *,
    streaming: bool = False,
    patches: bool = False,
) -> NetworkPlan | None:
    """``draft``, made of ``graph``, with less workspace for those layers alone that the budget has
    no room for beside their tensors, and with ``streaming`` beside the rows that are left of these
    where layers stream rows, some steps maybe in ``patches``; None where that does not fit.

    Kernels with less of it may have other layouts, so that it is planned again, with as much less
    as was still too much.
    """
    workspace, room = dict(draft.allowed.workspace), _room(planner, draft)
    tried = draft
    for _ in range(_TIGHTENINGS):
        if streaming and (fitting := streaming_within(planner, tried, patches=patches)):
            return fitting
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
    return min((draft, *smallest_streaming(planner, draft)), key=_ram)


def smallest_streaming(planner: Planner, draft: NetworkPlan) -> list[NetworkPlan]:
    """``draft`` with layers that stream rows so that no steps need less RAM, and with those that
    are fastest of what needs little more; without any that does not fit though it must."""
    if any(step.stream_rows for step in draft.choice.steps):
        return []
    cuts = _cuts(planner, draft)
    least = cuts.least
    limits = (int(more * least) for more in _LIMITS)
    choices = [made for limit in limits if (made := cuts.within(limit))]
    if choices:
        # What lies where in the end may leave room for longer steps.
        choices.append(_longer_steps(planner, choices[0]))
    plans = (_streamed(planner, draft, choice) for choice in choices)
    return [each for each in plans if each is not draft and not planner.exceeded(each)]


def trade_offs(planner: Planner, draft: NetworkPlan) -> list[NetworkPlan]:
    """What ``draft`` trades of RAM for time by layers that stream rows, in patches or not: plans of
    less and less of the former, none of which needs as much as another and takes as long."""
    if any(step.stream_rows for step in draft.choice.steps):
        return []
    cuts, found, price = (
        _cuts(planner, draft),
        list[NetworkPlan](),
        partial(predicted_price, planner),
    )
    least, most = cuts.least, draft.memory.arena_bytes
    limits = (most * (least / most) ** (i / _TRADED) for i in range(1, _TRADED + 1))
    for choice in filter(None, (cuts.within(math.ceil(limit)) for limit in limits)):
        made = _streamed(planner, draft, choice)
        others = [each for each in (draft, *found) if price(each) <= price(made)]
        if all(_ram(made) < _ram(each) for each in others) and not planner.exceeded(made):
            found.append(made)
    return found


def streaming_within(
    planner: Planner, draft: NetworkPlan, *, patches: bool = True
) -> NetworkPlan | None:
    """``draft`` with layers that stream rows, the fastest steps that fit, some of them maybe in
    ``patches``; None where none do."""
    if any(step.stream_rows for step in draft.choice.steps):
        return None
    cuts = _cuts(planner, draft)
    room = limit = _room(planner, draft)
    for _ in range(_ATTEMPTS):
        choice = cuts.within(limit, patches=patches)
        if choice is None:
            return None
        made = _streamed(planner, draft, choice)
        if not planner.exceeded(made, "ram"):
            return made
        # Blocks leave gaps: other steps, which need less.
        limit = min(limit - (made.memory.arena_bytes - room), cuts.needs_of(choice) - 1)
    return None


def _cuts(planner: Planner, draft: NetworkPlan) -> StreamingCuts:
    prices = StepPrices(draft.choice, planner.board.target, planner.machine)
    return StreamingCuts(draft.choice, prices)


def _longer_steps(planner: Planner, choice: Choice) -> Choice:
    board, ram = planner.board, planner.options.ram
    return streamed_for_memory(
        choice, board.target, lambda made: memory.fit(made, board, ram, verified=False)
    )[0]


def _ram(draft: NetworkPlan) -> int:
    return draft.sizes.ram.total


def _streamed(planner: Planner, draft: NetworkPlan, choice: Choice) -> NetworkPlan:
    """``draft`` with ``choice``, the same layers in steps that need less RAM."""
    streaming = [len(step.layers) for step in choice.steps if step.stream_rows]
    if not streaming:
        return draft
    made = planner.placed(choice, draft.allowed, planner.options.storage)
    return replace(made, notes=(*made.notes, _note(planner, draft, made)))


def _note(planner: Planner, draft: NetworkPlan, made: NetworkPlan) -> str:
    """What row streaming saves of the RAM of ``draft``, and what it costs."""
    streaming = [step for step in made.choice.steps if step.stream_rows]
    patches = [step for step in streaming if step.patches > 1]
    layers = sum(len(step.layers) for step in streaming)
    note = f"{layers} layers stream rows, in {len(streaming)} step(s)"
    if patches:
        again = macs_computed(made.choice) / max(1, macs_computed(draft.choice))
        note += (
            f", {len(patches)} of these in patches of columns, which compute halos again "
            f"({again:.2f} times the multiply-accumulates)"
        )
    saved = draft.memory.arena_bytes - made.memory.arena_bytes
    before, after = (predicted_price(planner, each) for each in (draft, made))
    slower = f", {100 * (after / before - 1):+.0f} % of time predicted" if before else ""
    return f"{note}: {saved} bytes less{slower}"


def fastest_of_the_smallest(planner: Planner, drafts: Sequence[NetworkPlan]) -> NetworkPlan:
    """The one of least RAM, of several the fastest; but another that needs more where it takes so
    much less time that this is worth it (`_worth`)."""
    priced = [(_ram(each), predicted_price(planner, each), each) for each in drafts]
    ram, price, least = min(priced, key=itemgetter(0, 1))
    fits = not planner.exceeded(least)
    faster = [
        (needs / worth, cost, each)
        for needs, cost, each in priced
        if needs <= (worth := _worth(price, cost)) * ram and not (fits and planner.exceeded(each))
    ]
    _, cost, best = min(faster, key=itemgetter(0))
    return best if _CLEARLY_LESS * cost < price else least


def _worth(price: float, less: float) -> float:
    """How many times as much RAM a program is worth that takes ``less`` than another's ``price``;
    at most `_MOST_MORE`, and once where nothing takes any time."""
    if not (price and less):
        return 1.0
    return min(_MOST_MORE, math.pow(_LITTLE_MORE, math.log(price / less) / math.log(_CLEARLY_LESS)))


def faster_for_little_more(planner: Planner, graph: Graph, least: NetworkPlan) -> NetworkPlan:
    """``least``, made of ``graph``, or where that takes much more time than kernels without any
    limit what is found within little more RAM: the kernels of `ways` are all of one kind, where
    only layers at the peak of the arena need that kind."""
    draft = planner.draft(graph, ways(graph, planner.board)[0], planner.options.storage)
    prices = predicted_price(planner, least), predicted_price(planner, draft)
    if prices[0] <= _CLEARLY_LESS * prices[1]:
        return least
    budgets = planner.budgets
    ram = int(_worth(*prices) * least.sizes.beside(planner.overhead).ram.total)
    near = planner.within(min(ram, budgets.ram or ram), budgets.flash)
    fitting = near.placed(draft.choice, draft.allowed, near.options.storage)
    if near.exceeded(fitting, "ram"):
        fitting = fastest_within(near, graph, fitting, streaming=True) or least
    return fastest_of_the_smallest(planner, (least, fitting))
