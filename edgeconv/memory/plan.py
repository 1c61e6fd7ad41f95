"""The memory stage: Choice -> MemoryMap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgeconv.ir.choice import Choice
from edgeconv.ir.memory import MemoryMap, Place, Region
from edgeconv.memory.alias import Sharing, share
from edgeconv.memory.blocks import Block, Rect, live_bytes, rectangles
from edgeconv.memory.check import check
from edgeconv.memory.lifetimes import Span, lifetimes
from edgeconv.memory.offsets import Packing, pack
from edgeconv.memory.order import reorder
from edgeconv.memory.program import Program, of_choice
from edgeconv.memory.search import search


def plan(choice: Choice) -> MemoryMap:
    """Decide the order of execution, which aliases to grant and where every tensor lies.

    The arena is as small as the search can make it; ``optimal`` says whether that is proven.  The
    same choice gives the same map on every machine.  Raises InvariantError when ``choice`` is
    inconsistent or the map is wrong, both defects of the tool.
    """
    program = of_choice(choice)
    own = _lay_out(program, range(len(program.reads)))
    memory_map = _to_map(*_improve(own))
    check(choice, memory_map)
    return memory_map


@dataclass(frozen=True, slots=True)
class _Layout:
    """Everything about one order but the offsets: what shares bytes, what lies in the arena."""

    program: Program
    order: tuple[int, ...]
    spans: Mapping[str, Span]
    sharing: Sharing
    owned: tuple[int, ...]  # the blocks of the sharing that lie in the arena
    blocks: tuple[Block, ...]  # those, then the workspaces
    workspaces: tuple[int, ...]  # layers that have one
    bound: int


def _lay_out(program: Program, order: Sequence[int]) -> _Layout:
    spans = lifetimes(program, order)
    sharing = share(program, spans)
    rects = {
        i: rectangles(program, spans, offsets)
        for i, offsets in enumerate(sharing.blocks)
        if not program.buffers.keys() & offsets.keys()
    }
    owned = tuple(i for i, block in rects.items() if block)  # without tensors of no bytes
    workspaces = tuple(i for i, size in enumerate(program.workspaces) if size)
    step = {layer: step for step, layer in enumerate(order)}
    scratch = [
        (Rect(0, program.round_up(program.workspaces[i]), step[i], step[i]),) for i in workspaces
    ]
    blocks = (*(rects[i] for i in owned), *scratch)
    bound = max(live_bytes(blocks, len(order)))
    return _Layout(program, tuple(order), spans, sharing, owned, blocks, workspaces, bound)


def _improve(own: _Layout) -> tuple[_Layout, Packing, bool]:
    """The better of the model's order ``own`` and the one that the order search proposes.

    The model's order stays unless another needs a smaller arena; ``own`` is packed by heuristics
    only when it competes with a proposal that misses its lower bound.
    """
    program = own.program
    order = reorder(program, share(program, own.spans, in_place=False).blocks)
    other = own if order == own.order else _lay_out(program, order)
    if other.bound >= own.bound:
        return own, *_offsets(own)
    packing, optimal = _offsets(other)
    if packing.height > own.bound:
        rival = pack(own.blocks, own.bound)
        if rival.height <= packing.height:
            return own, rival, rival.height == own.bound
    return other, packing, optimal


def _offsets(layout: _Layout) -> tuple[Packing, bool]:
    """A packing and whether none is smaller: by heuristics, by search where they miss the bound."""
    packing = pack(layout.blocks, layout.bound)
    if packing.height == layout.bound:
        return packing, True
    return search(layout.blocks, layout.bound, packing)


def _to_map(layout: _Layout, packing: Packing, optimal: bool) -> MemoryMap:
    program, spans = layout.program, layout.spans
    count = len(layout.owned)
    bases = dict(zip(layout.owned, packing.bases[:count], strict=True))
    places: dict[str, Place] = {}
    for i, offsets in enumerate(layout.sharing.blocks):
        buffer = next((program.buffers[name] for name in offsets if name in program.buffers), None)
        region, index = buffer or (Region.ARENA, 0)
        for name, offset in offsets.items():
            start = bases.get(i, 0) + offset
            places[name] = Place(region, start, program.sizes[name], *spans[name], index)
    step = {layer: step for step, layer in enumerate(layout.order)}
    return MemoryMap(
        order=layout.order,
        places={name: places[name] for name in program.sizes},
        workspaces={
            i: Place(Region.ARENA, base, program.workspaces[i], step[i], step[i])
            for i, base in zip(layout.workspaces, packing.bases[count:], strict=True)
        },
        granted=layout.sharing.granted,
        arena_bytes=packing.height,
        lower_bound=layout.bound,
        align=program.align,
        optimal=optimal,
    )
