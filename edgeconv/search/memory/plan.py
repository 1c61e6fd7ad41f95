"""The memory stage: Choice -> MemoryMap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import BankUse, MemoryMap, Place, Region
from edgeconv.search.memory.alias import Sharing, share
from edgeconv.search.memory.bank_assignment import BankAssignment, assign_banks, in_first
from edgeconv.search.memory.banks import Bank
from edgeconv.search.memory.blocks import Block, Rect, live_bytes, rectangles
from edgeconv.search.memory.check import check
from edgeconv.search.memory.contracted import contracted, expanded
from edgeconv.search.memory.lifetimes import Span, lifetimes
from edgeconv.search.memory.offsets import Packing, pack
from edgeconv.search.memory.order import reorder
from edgeconv.search.memory.program import Program, of_choice
from edgeconv.search.memory.search import smallest
from edgeconv.search.memory.traffic import moved

ONE = (Bank("arena", None, 0.0),)  # where no memories are given


def plan(choice: Choice, banks: Sequence[Bank] = ()) -> MemoryMap:
    """Decide the order of execution, which aliases to grant and where every tensor lies.

    The arena is as small as the search can make it; ``optimal`` says whether that is proven.
    ``banks``: the memories it may lie in, fastest first, with different names.  It lies in the
    first one if it fits there.  Else order and aliases stay, and its blocks are spread so that
    moving their bytes costs least (see `bank_assignment.assign_banks`); lack of room is no error
    but an excess that the map states.

    The same choice and banks give the same map on every machine.  Raises InvariantError when
    ``choice`` is inconsistent or the map is wrong, both defects of the tool.
    """
    program, banks = of_choice(choice), banks or ONE
    offered = any(alias.overlaps for aliases in program.aliases for alias in aliases)
    own = (
        _lay_out(program, range(len(program.reads)), way) for way in (False, True)[: 1 + offered]
    )
    layout, packing, optimal = min(map(_improve, own), key=lambda made: made[1].height)
    room = banks[0].capacity
    if len(banks) == 1 or room is None or packing.height <= room:
        where = in_first(packing, layout.bound, optimal, len(banks))
    else:
        where = assign_banks(layout.blocks, _moved(layout), banks, program.align)
    memory_map = _to_map(layout, where, banks)
    check(choice, memory_map)
    return memory_map


@dataclass(frozen=True, slots=True)
class _Layout:
    """Everything about one order but the offsets: what shares bytes, what lies in the arena."""

    program: Program
    overlap: bool  # results may lie over inputs that they do not fit in
    order: tuple[int, ...]
    spans: Mapping[str, Span]
    sharing: Sharing
    owned: tuple[int, ...]  # the blocks of the sharing that lie in the arena
    blocks: tuple[Block, ...]  # those, then the workspaces
    workspaces: tuple[int, ...]  # layers that have one
    bound: int


def _lay_out(program: Program, order: Sequence[int], overlap: bool) -> _Layout:
    spans = lifetimes(program, order)
    sharing = share(program, spans, overlap=overlap)
    rects = {
        i: rectangles(program, spans, offsets)
        for i, offsets in enumerate(sharing.blocks)
        if not program.buffers.keys() & offsets.keys()
    }
    owned = tuple(i for i, block in rects.items() if block)  # without tensors of no bytes
    workspaces = tuple(i for i, size in enumerate(program.workspaces) if size)
    step = {layer: step for step, layer in enumerate(order)}
    spaces = [
        (Rect(0, program.round_up(program.workspaces[i]), step[i], step[i]),) for i in workspaces
    ]
    blocks = (*(rects[i] for i in owned), *spaces)
    bound = max(live_bytes(blocks, len(order)))
    return _Layout(program, overlap, tuple(order), spans, sharing, owned, blocks, workspaces, bound)


def _improve(own: _Layout) -> tuple[_Layout, Packing, bool]:
    """The better of the model's order ``own`` and the one that the order search proposes.

    The model's order stays unless another needs a smaller arena; ``own`` is packed by heuristics
    only when it competes with a proposal that misses its lower bound.
    """
    program = own.program
    blocks = share(program, own.spans, in_place=False).blocks
    order = expanded(program, reorder(contracted(program), blocks))
    other = own if order == own.order else _lay_out(program, order, own.overlap)
    if other.bound >= own.bound:
        return own, *smallest(own.blocks, own.bound)
    packing, optimal = smallest(other.blocks, other.bound)
    if packing.height > own.bound:
        rival = pack(own.blocks, own.bound)
        if rival.height <= packing.height:
            return own, rival, rival.height == own.bound
    return other, packing, optimal


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
    step = {layer: step for step, layer in enumerate(layout.order)}
    return MemoryMap(
        order=layout.order,
        places={name: places[name] for name in program.sizes},
        workspaces={
            i: Place(Region.ARENA, base, program.workspaces[i], step[i], step[i], bank=bank)
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
