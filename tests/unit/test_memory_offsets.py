"""Arena offsets: heuristics, search, and the rectangles that they place."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.search.memory import offsets, plan
from edgeconv.search.memory import search as search_module
from edgeconv.search.memory.blocks import Block, Rect, live_bytes, rectangles
from edgeconv.search.memory.lifetimes import lifetimes
from edgeconv.search.memory.offsets import Packing, pack
from edgeconv.search.memory.program import of_choice
from edgeconv.search.memory.search import search
from tests.examples import examples
from tests.memory_choices import Net, scheduled

# (bytes, first step, last step); both found by random search and small enough to check by hand.
# Every order of size, lifetime or first use leaves a hole of one byte in this one:
GREEDY_MISSES = [(2, 1, 2), (5, 3, 5), (3, 1, 3), (4, 2, 5), (4, 2, 2)]
# Here no order does with 12 bytes before what reaches the top is placed earlier, more than once:
PROMOTED = [(3, 2, 3), (4, 2, 2), (5, 2, 4), (4, 4, 4), (3, 3, 5)]
# No step has more than 4 bytes live, yet 4 bytes are not enough:
BOUND_IS_OUT_OF_REACH = [
    *[(1, 2, 3), (2, 5, 5), (2, 0, 2), (2, 4, 5)],
    *[(2, 0, 1), (1, 2, 4), (1, 3, 4)],
]


def boxes(tensors: list[tuple[int, int, int]]) -> list[Block]:
    return [(Rect(0, size, first, last),) for size, first, last in tensors]


def bound_of(blocks: list[Block]) -> int:
    return max(live_bytes(blocks, max(rect.last for block in blocks for rect in block)))


def collide(a: Block, b: Block, difference: int) -> bool:
    """Whether ``a`` meets ``b`` when its base is ``difference`` bytes above."""
    return any(
        r.first <= q.last
        and q.first <= r.last
        and difference + r.low < q.high
        and q.low < difference + r.high
        for r in a
        for q in b
    )


def assert_valid(blocks: list[Block], packing: Packing) -> None:
    placed = list(zip(blocks, packing.bases, strict=True))
    assert all(base >= 0 for base in packing.bases)
    for i, (a, base_a) in enumerate(placed):
        for b, base_b in placed[:i]:
            assert not collide(a, b, base_a - base_b)
    assert packing.height == max(base + rect.high for a, base in placed for rect in a)


def smallest(blocks: list[Block]) -> int:
    """The smallest arena, by trying every base of every block."""
    height = bound_of(blocks)
    while True:
        ranges = [range(height - max(r.high for r in block) + 1) for block in blocks]
        for bases in product(*ranges):
            pairs = ((i, j) for i in range(len(blocks)) for j in range(i))
            if not any(collide(blocks[i], blocks[j], bases[i] - bases[j]) for i, j in pairs):
                return height
        height += 1


def test_search_finds_the_bound_that_the_heuristics_miss() -> None:
    blocks = boxes(GREEDY_MISSES)
    start = pack(blocks, 13)
    assert (bound_of(blocks), start.height) == (13, 14)
    packing, optimal = search(blocks, 13, start)
    assert (packing.height, optimal) == (13, True)
    assert_valid(blocks, packing)
    memory_map = plan(scheduled(GREEDY_MISSES))
    assert memory_map.arena_bytes == memory_map.lower_bound == 13
    assert memory_map.optimal


def test_what_reaches_the_top_is_placed_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = boxes(PROMOTED)
    assert pack(blocks, 12).height == bound_of(blocks) == 12
    monkeypatch.setattr(offsets, "PROMOTIONS", 2)
    assert pack(blocks, 12).height == 13


def test_bound_out_of_reach_is_proven() -> None:
    blocks = boxes(BOUND_IS_OUT_OF_REACH)
    assert (bound_of(blocks), smallest(blocks)) == (4, 5)
    memory_map = plan(scheduled(BOUND_IS_OUT_OF_REACH))
    assert (memory_map.lower_bound, memory_map.arena_bytes) == (4, 5)
    assert memory_map.optimal


def test_without_proof_the_map_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "PAIRS", 0)
    memory_map = plan(scheduled(BOUND_IS_OUT_OF_REACH))
    assert memory_map.arena_bytes > memory_map.lower_bound
    assert not memory_map.optimal


def test_blocks_interlock() -> None:
    """Two staircases of 2 + 2 bytes fit in 6, where two boxes of 4 bytes need 8."""
    stairs: Block = (Rect(0, 2, 0, 1), Rect(2, 4, 2, 3))
    blocks = [stairs, stairs]
    assert (bound_of(blocks), smallest(blocks)) == (4, 6)
    packing = pack(blocks, 4)
    assert packing.height == 6
    assert_valid(blocks, packing)
    assert search(blocks, 4, packing) == (packing, True)


def test_rectangles_of_a_concat_whose_parts_come_one_by_one() -> None:
    net = Net(align=4, io="arena")
    net.input("x", 1)
    for name in ("a", "b"):
        net.layer(name, 6, "x")
    net.concat("c", "a", "b")
    net.layer("y", 1, "c")
    program = of_choice(net.choice("y"))
    spans = lifetimes(program, range(4))
    at = {"c": 0, "a": 0, "b": 6}
    # Bytes 4 to 8 hold the end of a and the beginning of b.
    assert rectangles(program, spans, at) == (Rect(0, 8, 0, 3), Rect(8, 12, 1, 3))


def test_rectangles_keep_holes_in_time() -> None:
    net = Net(io="arena")
    net.input("x", 1)
    net.layer("a", 6, "x")
    net.layer("b", 6, "a")
    net.layer("c", 6, "b")
    net.layer("d", 6, "c")
    program = of_choice(net.choice("d"))
    spans = lifetimes(program, range(4))
    rects = rectangles(program, spans, {"a": 0, "d": 0})
    assert rects == (Rect(0, 6, 0, 1), Rect(0, 6, 3, 4))
    assert live_bytes([rects], 4) == [0, 6, 6, 0, 6, 6]


rects = st.builds(
    lambda low, size, first, length: Rect(low, low + size, first, first + length),
    st.integers(0, 3),
    st.integers(1, 4),
    st.integers(-1, 5),
    st.integers(0, 3),
)


@st.composite
def blocks_of_rects(draw: st.DrawFn, most: int) -> list[Block]:
    found: list[Block] = []
    for _ in range(draw(st.integers(1, most))):
        block: list[Rect] = []
        for rect in draw(st.lists(rects, min_size=1, max_size=3)):
            if not any(collide((rect,), (other,), 0) for other in block):
                block.append(rect)
        lowest = min(rect.low for rect in block)
        found.append(
            tuple(sorted(r._replace(low=r.low - lowest, high=r.high - lowest) for r in block))
        )
    return found


@settings(max_examples=examples(200))
@given(blocks_of_rects(most=12))
def test_heuristics_never_overlap(blocks: list[Block]) -> None:
    bound = bound_of(blocks)
    packing = pack(blocks, bound)
    assert packing.height >= bound
    assert_valid(blocks, packing)


@settings(max_examples=40)
@given(blocks_of_rects(most=4))
def test_search_is_optimal(blocks: list[Block]) -> None:
    bound = bound_of(blocks)
    start = pack(blocks, bound)
    packing, optimal = search(blocks, bound, start)
    assert optimal
    assert_valid(blocks, packing)
    assert packing.height == smallest(blocks)


def test_a_block_goes_where_the_least_room_is_left_above_it() -> None:
    assert offsets._first_fit([(4, 5), (6, 9)]) == 0
    assert offsets._best_fit([(4, 5), (6, 9)]) == 5
    assert offsets._best_fit([(1, 4), (5, 9)]) == 0  # of two as good the lower one


def test_search_is_deterministic() -> None:
    blocks = boxes(GREEDY_MISSES)
    start = pack(blocks, 13)
    assert search(blocks, 13, start) == search(blocks, 13, start)
