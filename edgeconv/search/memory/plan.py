"""The memory stage: Choice -> MemoryMap."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from math import inf

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import BankUse, MemoryMap, Place, Region
from edgeconv.search.memory.alias import Sharing, share
from edgeconv.search.memory.bank_assignment import BankAssignment, assign_banks, in_one
from edgeconv.search.memory.banks import Bank
from edgeconv.search.memory.blocks import Block, Rect, live_bytes, rectangles
from edgeconv.search.memory.check import check
from edgeconv.search.memory.contracted import contracted, expanded
from edgeconv.search.memory.kept_first import kept_first
from edgeconv.search.memory.lifetimes import Span, lifetimes, workspace_spans
from edgeconv.search.memory.offsets import Packing, pack
from edgeconv.search.memory.order import reorder
from edgeconv.search.memory.program import Program, of_choice
from edgeconv.search.memory.search import smallest
from edgeconv.search.memory.traffic import moved

ONE = (Bank("arena", None, 0.0),)  # where no memories are given
_BOUNDS = 12  # that are tried where the least one is missed
_ATTEMPTS = 90  # at leaving out one result over its input
_BEAM, _ROUNDS = 3, 2  # layouts of which one is left out; rounds of that which gain nothing


_MOST_KNOWN = 256  # programs whose layouts are kept
_known: dict[Hashable, tuple[_Layout, Packing, bool]] = {}


@dataclass(frozen=True, slots=True)
class Homes:
    """Numbers of the banks that the user names, None where the plan chooses.

    ``ports``: that of inputs and outputs in the arena, ``rest``: that of all else in it.
    """

    ports: int | None = None
    rest: int | None = None


FREE = Homes()


def plan(
    choice: Choice, banks: Sequence[Bank] = (), homes: Homes = FREE, *, verified: bool = True
) -> MemoryMap:
    """Decide the order of execution, which aliases to grant and where every tensor lies.

    The arena is as small as the search can make it; ``optimal`` says whether that is proven.
    ``banks``: the memories it may lie in, fastest first, with different names.  It lies in the
    first one, or in that which ``homes`` names for all of it, if it fits there.  Else order and
    aliases stay, and its blocks are spread so that moving their bytes costs least (see
    `bank_assignment.assign_banks`); lack of room is no error but an excess that the map states.

    The same choice and banks give the same map on every machine.  Raises InvariantError when
    ``choice`` is inconsistent or the map is wrong, both defects of the tool; of a map that is not
    ``verified``, which a search may pass over, `check` is still to be asked.
    """
    program, banks = of_choice(choice), banks or ONE
    layout, packing, optimal = _laid_out(program)
    by_block = _home_of_each(layout, homes)
    named = {home for home in by_block if home is not None}
    one = min(named, default=0)
    room = banks[one].capacity
    whole = all(home is not None for home in by_block) or (
        one == 0 and (len(banks) == 1 or room is None or packing.height <= room)
    )
    if whole and len(named) <= 1:
        where = in_one(packing, layout.bound, optimal, len(banks), one)
    else:
        moves = tuple(_moved(layout))
        where = _assigned(layout.blocks, moves, tuple(banks), program.align, by_block)
    memory_map = _to_map(layout, where, banks)
    return check(choice, memory_map) if verified else memory_map


@dataclass(frozen=True, slots=True)
class _Layout:
    """Everything about one order but the offsets: what shares bytes, what lies in the arena."""

    program: Program
    enough: float  # bytes beyond which results may lie over inputs that they do not fit in
    refused: frozenset[tuple[int, int]]  # aliases that are not granted
    order: tuple[int, ...]
    spans: Mapping[str, Span]
    sharing: Sharing
    owned: tuple[int, ...]  # the blocks of the sharing that lie in the arena
    blocks: tuple[Block, ...]  # those, then the workspaces
    workspaces: tuple[int, ...]  # layers that have one
    bound: int


def _laid_out(program: Program) -> tuple[_Layout, Packing, bool]:
    """The best layout of ``program``, wherever its arena lies: known where it was planned before,
    since a search comes to the same program by many ways, and for several divisions of memories."""
    key = program.key
    if key not in _known:
        layers = range(len(program.aliases))
        offered = any(alias.overlaps for i in layers for _, alias in program.offers(i))
        apart = _improve(_lay_out(program, range(len(program.reads)), inf))
        if len(_known) >= _MOST_KNOWN:
            _known.pop(next(iter(_known)))
        layout, packing, optimal = _with_overlaps(*apart) if offered else apart
        _known[key] = layout, kept_first(layout.blocks, packing, _kept(layout)), optimal
    return _known[key]


def forget() -> None:
    """Whatever was planned before is planned anew from here on."""
    _known.clear()
    _assigned.cache_clear()


@lru_cache(_MOST_KNOWN)
def _assigned(
    blocks: tuple[Block, ...],
    moved: tuple[int, ...],
    banks: tuple[Bank, ...],
    align: int,
    homes: tuple[int | None, ...],
) -> BankAssignment:
    return assign_banks(blocks, moved, banks, align, homes)


def _lay_out(
    program: Program,
    order: Sequence[int],
    enough: float,
    refused: frozenset[tuple[int, int]] = frozenset(),
) -> _Layout:
    spans = lifetimes(program, order)
    sharing = share(program, spans, enough=enough, refused=refused)
    rects = {
        i: rectangles(program, spans, offsets)
        for i, offsets in enumerate(sharing.blocks)
        if not program.buffers.keys() & offsets.keys()
    }
    owned = tuple(i for i, block in rects.items() if block)  # without tensors of no bytes
    workspaces = tuple(i for i, size in enumerate(program.workspaces) if size)
    used = workspace_spans(program, order)
    spaces = [(Rect(0, program.round_up(program.workspaces[i]), *used[i]),) for i in workspaces]
    blocks = (*(rects[i] for i in owned), *spaces)
    bound = max(live_bytes(blocks, len(order)))
    return _Layout(
        program, enough, refused, tuple(order), spans, sharing, owned, blocks, workspaces, bound
    )


def _improve(own: _Layout) -> tuple[_Layout, Packing, bool]:
    """The better of the model's order ``own`` and the one that the order search proposes.

    The model's order stays unless another needs a smaller arena; ``own`` is packed by heuristics
    only when it competes with a proposal that misses its lower bound.
    """
    program = own.program
    blocks = share(program, own.spans, in_place=False).blocks
    order = expanded(program, reorder(contracted(program), blocks))
    other = own if order == own.order else _lay_out(program, order, own.enough)
    if other.bound >= own.bound:
        return own, *smallest(own.blocks, own.bound)
    packing, optimal = smallest(other.blocks, other.bound)
    if packing.height > own.bound:
        rival = pack(own.blocks, own.bound)
        if rival.height <= packing.height:
            return own, rival, rival.height == own.bound
    return other, packing, optimal


def _with_overlaps(
    apart: _Layout, packing: Packing, optimal: bool
) -> tuple[_Layout, Packing, bool]:
    """``apart`` as given, or the best of layouts with results over inputs that they do not fit in.

    All of these give the least bound.  But each keeps two tensors at a distance, and where one
    follows the other their blocks become staircases, between which nothing fits: the arena may be
    smaller with those alone that a larger bound needs, and without some of these.
    """
    most, over, proven = _improve(_lay_out(apart.program, range(len(apart.program.reads)), 0))
    made = [(most, over), *map(_packed, _of_larger_bounds(most, min(over.height, packing.height)))]
    best, left, rounds = min((apart, packing), *made, key=_height), _ATTEMPTS, 0
    while left > 0 and rounds < _ROUNDS and _height(best) > best[0].bound:
        nearest = sorted(made, key=_height)[:_BEAM]
        fewer = chain.from_iterable(_with_one_fewer(layout) for layout, _ in nearest)
        made = [_packed(other) for other in islice(fewer, left)]
        if not made:
            break
        left -= len(made)
        rounds = 0 if _height(min(made, key=_height)) < _height(best) else rounds + 1
        best = min(best, *made, key=_height)
    known = {id(apart): optimal, id(most): proven}
    layout, packing = best
    if id(layout) in known or packing.height <= layout.bound:
        return layout, packing, known.get(id(layout), True)
    return layout, *smallest(layout.blocks, layout.bound)


def _packed(layout: _Layout) -> tuple[_Layout, Packing]:
    return layout, pack(layout.blocks, layout.bound)


def _height(made: tuple[_Layout, Packing]) -> int:
    return made[1].height


def _of_larger_bounds(layout: _Layout, height: int) -> Iterator[_Layout]:
    """``layout`` with results over inputs only where more than a bound below ``height`` is live."""
    program, order = layout.program, layout.order
    without = live_bytes(_lay_out(program, order, inf).blocks, len(order))
    bounds = sorted({load for load in without if layout.bound < load < height})
    return (_lay_out(program, order, enough) for enough in bounds[:: 1 + len(bounds) // _BOUNDS])


def _with_one_fewer(layout: _Layout) -> Iterator[_Layout]:
    """``layout`` without one of the results that lie over inputs that they do not fit in."""
    program = layout.program
    for i, k in sorted(layout.sharing.granted):
        if program.aliases[i][k].overlaps:
            refused = layout.refused | {(i, k)}
            yield _lay_out(program, layout.order, layout.enough, refused)


def _kept(layout: _Layout) -> frozenset[int]:
    """The blocks that states lie in."""
    states = {name for pair in layout.program.states for name in pair}
    owned = [layout.sharing.blocks[i].keys() for i in layout.owned]
    return frozenset(i for i, names in enumerate(owned) if states & names)


def _home_of_each(layout: _Layout, homes: Homes) -> tuple[int | None, ...]:
    """By block of ``layout``, the bank that the user names for it."""
    pinned = layout.program.pinned
    owned = (layout.sharing.blocks[i].keys() for i in layout.owned)
    tensors = [homes.rest if pinned.isdisjoint(names) else homes.ports for names in owned]
    return (*tensors, *(homes.rest for _ in layout.workspaces))


def _one(where: BankAssignment) -> bool:
    """Whether all of it lies in one bank."""
    return sum(1 for height in where.heights if height) <= 1


def _moved(layout: _Layout) -> list[int]:
    """Bytes read and written per block of the arena; a workspace is written and read once."""
    program = layout.program
    by_tensor = moved(program, layout.sharing.granted)
    tensors = [sum(by_tensor[name] for name in layout.sharing.blocks[i]) for i in layout.owned]
    return [*tensors, *(2 * program.workspaces[i] for i in layout.workspaces)]


def _to_map(layout: _Layout, where: BankAssignment, banks: Sequence[Bank]) -> MemoryMap:
    program, spans = layout.program, layout.spans
    count = len(layout.owned)
    starts = list(zip(where.banks, where.bases, strict=True))  # by block
    owned = dict(zip(layout.owned, starts[:count], strict=True))
    places: dict[str, Place] = {}
    for i, offsets in enumerate(layout.sharing.blocks):
        buffer = next((program.buffers[name] for name in offsets if name in program.buffers), None)
        region, index = buffer or (Region.ARENA, 0)
        bank, base = owned.get(i, (0, 0))
        for name, offset in offsets.items():
            size = program.sizes[name]
            places[name] = Place(region, base + offset, size, *spans[name], index, bank)
    used = workspace_spans(program, layout.order)
    return MemoryMap(
        order=layout.order,
        places={name: places[name] for name in program.sizes},
        workspaces={
            i: Place(Region.ARENA, base, program.workspaces[i], *used[i], bank=bank)
            for i, (bank, base) in zip(layout.workspaces, starts[count:], strict=True)
        },
        granted=layout.sharing.granted,
        arena_bytes=sum(where.heights),
        lower_bound=layout.bound,
        align=program.align,
        optimal=where.optimal and (sum(where.heights) == layout.bound or _one(where)),
        banks=tuple(
            BankUse(bank.name, height, bound, bank.capacity)
            for bank, height, bound in zip(banks, where.heights, where.bounds, strict=True)
        ),
    )
