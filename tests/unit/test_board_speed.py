"""How fast memories are taken to be where a board does not say, by planner and predictions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.app.pipeline import CompileOptions, decide
from edgeconv.search.memory.banks import of_board
from edgeconv.search.predict.rates import machine_with, unstated
from edgeconv.target import board as boards
from edgeconv.target.board import Memory
from edgeconv.target.board.speed import SLOWER, cache_costs, filled, region_costs
from edgeconv.target.cache import Cache

GHZ = 1_000_000_000
L1 = Cache(1, 32 << 10, 64, bandwidth=32.0)


@given(st.lists(st.one_of(st.none(), st.floats(1e-12, 1e-6)), min_size=1), st.floats(1e-12, 1e-6))
def test_what_is_unstated_is_half_as_fast_as_what_comes_before(
    stated: list[float | None], first: float
) -> None:
    found = filled(stated, first)
    before = first / SLOWER
    for given_cost, cost in zip(stated, found, strict=True):
        assert cost == (SLOWER * before if given_cost is None else given_cost)
        before = cost


def test_placement_and_prediction_agree_on_what_is_unstated(residual_model: Path) -> None:
    """Without caches: the first region answers a load per cycle, flash counts on its own."""
    regions = [Memory(name, "sram", 1 << 18, 0) for name in ("A", "B", "C")]
    flash = [Memory("F", "flash", 1 << 20, 0, bandwidth=1e9), Memory("Q", "flash", 1 << 24, 0)]
    nrf = boards.load("nrf52840")
    machine = replace(nrf, clock_hz=GHZ, memory=(*regions, *flash))
    plan = decide(CompileOptions(model=residual_model, board="nrf52840")).memory
    rates = machine_with(machine, plan, 2 << 20)  # too large for F
    assert [level.byte for level in rates.banks] == pytest.approx([0.25e-9, 0.5e-9, 1e-9])
    assert [level.byte for level in rates.banks] == [b.cost for b in of_board(machine, {})]
    assert rates.weights.name == "Q"
    assert rates.weights.byte == pytest.approx(2e-9)
    assert unstated(machine, plan, 2 << 20) == ("A", "B", "C", "Q")
    near = machine_with(machine, plan, 1 << 10).weights
    assert near.name == "F"
    assert near.byte == pytest.approx(1e-9)


def test_a_first_region_is_half_as_fast_as_the_last_cache() -> None:
    bare = [Memory("A", "sram", 1 << 18, 0), Memory("F", "flash", 1 << 20, 0)]
    cached = replace(boards.load("nrf52840"), clock_hz=GHZ, caches=(L1,), memory=tuple(bare))
    assert cache_costs(cached.target) == pytest.approx([1e-9 / 32])
    for kind in (cached.ram, cached.flash):
        assert region_costs(cached, kind) == pytest.approx([2e-9 / 32])
    slower = replace(cached, caches=(replace(L1, bandwidth=None),))
    assert cache_costs(slower.target) == pytest.approx([0.25e-9])  # a load of one lane


def test_a_cache_is_no_slower_than_one_behind_it() -> None:
    """What comes from there comes through it; what it states itself stands."""
    far = Cache(3, 4 << 20, 64, bandwidth=16.0)
    between = replace(L1, level=2, bandwidth=None)
    caches = (replace(L1, bandwidth=None), between, far)
    cached = replace(boards.load("nrf52840"), clock_hz=GHZ, caches=caches)
    assert cache_costs(cached.target) == pytest.approx([1e-9 / 16] * 3)
    slow = replace(cached, caches=(L1, replace(between, bandwidth=8.0), far))
    assert cache_costs(slow.target) == pytest.approx([1e-9 / 32, 1e-9 / 8, 1e-9 / 16])
    near = replace(cached, caches=(replace(L1, bandwidth=64.0), between, replace(far, bandwidth=4)))
    assert cache_costs(near.target) == pytest.approx([1e-9 / 64, 1e-9 / 32, 1e-9 / 4])
