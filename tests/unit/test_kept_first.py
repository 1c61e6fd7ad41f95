"""States at the beginning of an arena: nothing lies across their end, and no byte is lost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.search.memory.blocks import Block, Rect, live_bytes
from edgeconv.search.memory.kept_first import kept_first
from edgeconv.search.memory.offsets import pack
from tests.examples import examples
from tests.unit.test_memory_offsets import assert_valid

STEPS = 8


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[Block], set[int]]:
    """Blocks and which of them hold a state, some of these in a window that is in use for less."""
    sizes = st.integers(1, 6)
    blocks: list[Block] = []
    count = draw(st.integers(1, 3))
    for _ in range(count):
        state = Rect(0, draw(sizes), -1, STEPS)
        first, last = sorted((draw(st.integers(0, STEPS - 1)), draw(st.integers(0, STEPS - 1))))
        window = Rect(state.high, state.high + draw(sizes), first, last)
        blocks.append((state, window) if draw(st.booleans()) else (state,))
    for _ in range(draw(st.integers(0, 6))):
        first, last = sorted((draw(st.integers(-1, STEPS)), draw(st.integers(-1, STEPS))))
        blocks.append((Rect(0, draw(sizes), first, last),))
    order = draw(st.permutations(range(len(blocks))))
    return [blocks[i] for i in order], {at for at, i in enumerate(order) if i < count}


@given(networks())
@settings(max_examples=examples(200))
def test_kept_blocks_are_below_all_others(made: tuple[list[Block], set[int]]) -> None:
    blocks, kept = made
    packing = pack(blocks, max(live_bytes(blocks, STEPS)))
    found = kept_first(blocks, packing, kept)
    assert_valid(blocks, found)
    assert found.height <= packing.height
    tops = [max(rect.high for rect in block) for block in blocks]
    below = sum(tops[i] for i in kept)
    apart = [
        found.bases[i] >= below or found.bases[i] + tops[i] <= below for i in range(len(blocks))
    ]
    assert found == packing or all(apart)
    if all(len(blocks[i]) == 1 for i in kept):  # nothing is ever over them: it costs nothing
        assert all(apart)
        assert all((found.bases[i] < below) == (i in kept) for i in range(len(blocks)))


def test_what_would_cost_bytes_stays_as_it_is() -> None:
    """A tensor that lies over the end of a window, and needs it."""
    blocks: list[Block] = [
        (Rect(0, 2, -1, 3), Rect(2, 4, 0, 1)),
        (Rect(0, 4, 2, 3),),
    ]
    packing = pack(blocks, 6)
    assert packing.height == 6
    assert kept_first(blocks, packing, {0}) == packing
