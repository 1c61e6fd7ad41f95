"""Several networks in one arena: those that run together, and what each keeps, lie apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from edgeconv.search.memory.common_arena import Tenant, common_arena

ALIGN = 16
Range = tuple[int, int]


@st.composite
def tenants(draw: st.DrawFn) -> dict[str, Tenant]:
    found = {}
    for name in "abcd"[: draw(st.integers(2, 4))]:
        size = draw(st.integers(0, 40)) * 8
        edges = sorted(draw(st.sets(st.integers(0, size), max_size=4)))
        kept = tuple(zip(edges[::2], edges[1::2], strict=False))
        end = max((end for _, end in kept), default=0)
        apart = draw(st.sampled_from((0, min(size, end + draw(st.integers(0, 20))))))
        found[name] = Tenant(size, kept, apart)
    return found


@given(tenants(), st.data())
def test_nothing_is_overwritten(found: dict[str, Tenant], data: st.DataObject) -> None:
    every = [frozenset(pair) for pair in combinations(found, 2)]
    together = data.draw(st.sets(st.sampled_from(every)))
    plan = common_arena(found, together, ALIGN)

    def of(name: str, ranges: list[Range]) -> set[int]:
        every = {byte for begin, end in ranges for byte in range(begin, end)}
        offset, apart = plan.offsets[name], found[name].apart
        if name not in plan.states:
            return {offset + byte for byte in every}
        return {(plan.states[name] if byte < apart else offset) + byte for byte in every}

    whole = {name: of(name, [(0, tenant.bytes)]) for name, tenant in found.items()}
    kept = {name: of(name, [*tenant.kept]) for name, tenant in found.items()}
    assert all(at % ALIGN == 0 for at in (*plan.offsets.values(), *plan.states.values()))
    assert all(at >= 0 for at in plan.offsets.values())
    used = max((1 + max(each) for each in whole.values() if each), default=0)
    assert used <= plan.bytes < used + ALIGN
    assert plan.states or plan.bytes == used
    whole_arenas = common_arena({n: replace(t, apart=0) for n, t in found.items()}, together, ALIGN)
    assert plan.bytes <= whole_arenas.bytes
    for one, other in combinations(found, 2):
        assert not kept[one] & whole[other]
        assert not kept[other] & whole[one]
        if frozenset((one, other)) in together:
            assert not whole[one] & whole[other]
    if not any(tenant.kept for tenant in found.values()):
        largest = max(tenant.bytes for tenant in found.values())
        assert together or plan.bytes == largest
        assert plan.bytes >= largest


def test_what_is_kept_at_either_end_costs_no_more_than_itself() -> None:
    """Two networks, of which the one keeps its first bytes and the other its last."""
    found = {"a": Tenant(800, ((0, 48),)), "b": Tenant(640, ((608, 640),))}
    plan = common_arena(found, (), ALIGN)
    assert plan.optimal
    assert plan.bytes == 800 + 32


def test_what_may_lie_apart_costs_no_more_than_itself() -> None:
    """Any number of networks that keep their first bytes: the largest arena, and what is kept."""
    sizes = {"a": (800, 48), "b": (640, 32), "c": (320, 64)}
    apart = {name: Tenant(size, ((0, kept),), kept) for name, (size, kept) in sizes.items()}
    plan = common_arena(apart, (), ALIGN)
    assert plan.optimal
    assert plan.bytes == 800 + 32 + 64
    whole = {name: replace(tenant, apart=0) for name, tenant in apart.items()}
    assert common_arena(whole, (), ALIGN).bytes > plan.bytes


def test_all_at_once_take_the_sum() -> None:
    found = {name: Tenant(size) for name, size in (("a", 160), ("b", 96), ("c", 32))}
    pairs = [frozenset(pair) for pair in combinations(found, 2)]
    assert common_arena(found, pairs, ALIGN).bytes == 288
    assert common_arena(found, pairs[:1], ALIGN).bytes == 256  # a and b; c over either
