"""The integer program against trying every choice, its numerics, and its time limit."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.base.errors import EdgeconvError
from edgeconv.search import milp
from edgeconv.search.budget import program
from edgeconv.search.budget.cuts import EXACT, excess
from edgeconv.search.budget.program import UnfinishedError, least_excess, optimise
from edgeconv.search.budget.rows import Rows
from edgeconv.search.budget.tables import (
    ACTIVATION,
    WEIGHTS,
    Item,
    Limits,
    Objective,
    Option,
    Saving,
    Step,
    Tables,
)
from tests.examples import examples
from tests.unit.budget_tables import allowed, assignments, best, random_limits, random_tables
from tests.unit.budget_tables import two_layers as two


@settings(max_examples=examples(60))
@given(st.data())
def test_as_good_as_the_best_of_all_choices(data: st.DataObject) -> None:
    tables = data.draw(random_tables())
    limits = data.draw(random_limits(tables))
    objective = data.draw(st.sampled_from(Objective))
    # A sum of noise that exceeds its limit by less than sums are rounded may count or not.
    expected, strictly = (best(tables, limits, objective, slack) for slack in (EXACT, 0.0))
    found = optimise(tables, limits, (objective,), gap=0.0)
    if found is None:
        assert strictly is None
        return
    assert expected is not None
    assert found.finished
    assert allowed(tables, limits, found.picked)
    assert found.value == tables.cost(objective, found.picked)
    assert found.value >= expected
    if strictly is not None and found.value > expected:
        assert found.value == pytest.approx(strictly, rel=1e-6, abs=1e-15)
    assert found.gap < 1e-5


@settings(max_examples=25)
@given(st.data())
def test_ties_are_broken_by_the_second_objective(data: st.DataObject) -> None:
    tables = data.draw(random_tables())
    limits = data.draw(random_limits(tables))
    found = optimise(tables, limits, (Objective.FLASH, Objective.RAM), gap=0.0)
    if found is None:
        assert best(tables, limits, Objective.FLASH, 0.0) is None
        return

    def is_best(slack: float) -> bool:
        least = best(tables, limits, Objective.FLASH, slack)
        ties = [
            tables.ram_bytes(picked)
            for picked in assignments(tables)
            if allowed(tables, limits, picked, slack) and tables.flash_bytes(picked) == least
        ]
        small = min(ties, default=0) * (1 + program.TIE_GAP) + 1e-3
        return tables.flash_bytes(found.picked) == least and tables.ram_bytes(found.picked) <= small

    assert is_best(EXACT) or is_best(0.0)


@settings(max_examples=25)
@given(st.data())
def test_least_excess_over_both_budgets(data: st.DataObject) -> None:
    tables = data.draw(random_tables())
    limits = Limits(data.draw(st.integers(1, 4000)), data.draw(st.integers(1, 800)))
    found = least_excess(tables, limits)
    assert found is not None
    expected = min(excess(tables, limits, picked) for picked in assignments(tables))
    assert excess(tables, limits, found.picked) == pytest.approx(expected, rel=1e-3, abs=1e-6)


BOTH = {0: (40, 20), 1: (40, 20)}
IN_PLACE = (Saving(0, 1, ((0, 0, 40), (1, 1, 20))),)


@pytest.mark.parametrize(
    ("steps", "kept"),
    [
        ([Step("more", {"a": 100}, BOTH), Step("less", {"b": 60}, {0: (40, 20)})], {"more"}),
        ([Step("one", {"a": 100}, BOTH), Step("same", {"b": 60, "c": 40}, BOTH)], {"one"}),
        ([Step("live", {"a": 100}, BOTH), Step("fixed", {"b": 101})], {"live", "fixed"}),
        ([Step("first", {}, {0: (40, 20)}), Step("other", {}, {1: (40, 20)})], {"first", "other"}),
        ([Step("wide", {}, {0: (60, 10)}), Step("coarse", {}, {0: (40, 20)})], {"wide", "coarse"}),
        # What is shared makes a step smaller than one that shares nothing, never larger.
        ([Step("shared", {}, BOTH, IN_PLACE), Step("apart", {}, BOTH)], {"shared", "apart"}),
        ([Step("apart", {}, BOTH), Step("shared", {}, BOTH, IN_PLACE)], {"apart"}),
        ([Step("one", {}, BOTH, IN_PLACE), Step("same", {}, BOTH, IN_PLACE)], {"one"}),
    ],
    ids=lambda value: "-".join(sorted(value)) if isinstance(value, set) else None,
)
def test_only_steps_that_can_be_the_peak_are_in_the_program(
    steps: list[Step], kept: set[str]
) -> None:
    options = (Option("float32"), Option("flyte16", noise=1e-6))
    items = tuple(Item(name, ACTIVATION, options) for name in ("wide", "narrow"))
    tables = Tables(items, tuple(steps))
    found = Rows(tables, Limits()).steps
    assert {step.name for step in found} == kept
    for picked in assignments(tables):
        assert max(step.bytes(picked) for step in found) == tables.ram_bytes(picked)


def ladder(noises: list[float]) -> Tables:
    """Items with two options: quiet of some noise and large, or loud (a half) and small."""
    items = [
        Item(f"w{i}", WEIGHTS, (Option("a", flash=10**9, noise=n), Option("b", flash=1, noise=0.5)))
        for i, n in enumerate(noises)
    ]
    return Tables(tuple(items), ())


def test_noise_of_twelve_orders_of_magnitude() -> None:
    noises = [10.0**-k for k in range(12, 0, -1)]
    tables = ladder(noises)
    found = optimise(tables, Limits(), (Objective.NOISE,), gap=0.0)
    assert found is not None
    assert found.value == pytest.approx(math.fsum(noises), rel=1e-9)
    # The tiny ones decide when the large options are not there.
    pairs = [
        Item(f"w{i}", WEIGHTS, (Option("a", noise=0.9 + i), Option("b", noise=(3 + i) * 1e-12)))
        for i in range(3)
    ]
    found = optimise(Tables(tuple(pairs), ()), Limits(), (Objective.NOISE,), gap=0.0)
    assert found is not None
    assert found.picked == (1, 1, 1)


@pytest.mark.parametrize(("margin", "feasible"), [(0.0, True), (-1e-6, False)])
def test_noise_limits_far_below_the_largest_option(margin: float, feasible: bool) -> None:
    tables = ladder([1e-12, 3e-12, 7e-12])
    limits = Limits(noise=1.1e-11 * (1 + margin))
    assert (optimise(tables, limits, (Objective.FLASH,)) is not None) == feasible


@pytest.mark.parametrize("items", [2, 9])
def test_large_budgets_are_kept_to_the_byte(items: int) -> None:
    tables = ladder([0.0] * items)
    every = 10**9 * items
    whole = optimise(tables, Limits(flash=every), (Objective.NOISE,))
    less = optimise(tables, Limits(flash=every - 1), (Objective.NOISE,))
    assert whole is not None
    assert tables.flash_bytes(whole.picked) == every
    assert less is not None
    assert tables.flash_bytes(less.picked) == every - 10**9 + 1


def test_a_limit_of_no_noise_leaves_what_is_exact() -> None:
    found = optimise(two(), Limits(noise=0.0), (Objective.FLASH, Objective.NOISE))
    assert found is not None
    assert set(two().formats(found.picked).values()) == {"float32"}


def stopped(values: bool, bound: float) -> Callable[..., milp.Solution]:
    """A solver that runs out of time, with a point (all first options) or without."""

    def solve(cost: Sequence[float], *_: object, **__: object) -> milp.Solution:
        tables = two()
        point = np.zeros(len(cost))
        first = 0
        for item in tables.items:
            point[first] = 1.0
            first += len(item.options)
        return milp.Solution(point if values else None, bound, False)

    return solve


def test_time_limit_gives_the_best_with_its_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = two()
    monkeypatch.setattr(program, "solve", stopped(True, 0.0))
    found = optimise(tables, Limits(), (Objective.FLASH,))
    assert found is not None
    assert not found.finished
    assert found.picked == (0, 0, 0, 0)
    # The bound of nothing but the fixed bytes: the gap is all of the rest.
    assert found.gap == pytest.approx((found.value - tables.flash) / found.value)


def test_time_limit_without_a_point_falls_back_to_one_format(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tables = two()
    monkeypatch.setattr(program, "solve", stopped(False, -np.inf))
    found = optimise(tables, Limits(flash=2100), (Objective.NOISE,))
    assert found is not None
    assert not found.finished
    assert found.gap == math.inf
    assert set(tables.formats(found.picked).values()) == {"flyte16"}
    with pytest.raises(UnfinishedError, match="no choice of storage formats found in time"):
        optimise(tables, Limits(flash=10), (Objective.NOISE,))


@pytest.mark.parametrize(
    "limits", [Limits(ram=2000), Limits(flash=2500), Limits(noise=2.5e-4)], ids=repr
)
def test_limits_are_rows_of_the_program(limits: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the solver finds keeps them: nothing has to be cut off."""
    solved: list[int] = []

    def counted(*given: Any, **options: Any) -> Any:
        solved.append(1)
        return milp.solve(*given, **options)

    monkeypatch.setattr(program, "solve", counted)
    assert optimise(two(), limits, (Objective.MEMORY,)) is not None
    assert len(solved) == 1


def test_what_nothing_predicts_cannot_be_minimised() -> None:
    with pytest.raises(EdgeconvError, match="cannot minimise energy.*board states too little"):
        optimise(two(), Limits(), (Objective.ENERGY,))
    found = optimise(two(), Limits(), (Objective.NOISE, Objective.ENERGY))
    assert found is not None
    assert found.value == 0.0


@pytest.mark.skipif(os.name != "posix", reason="flushes C's stdout by name")
def test_what_the_solver_prints_stays_off_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    print("before", flush=True)
    with milp._silent():
        ctypes.CDLL(None).puts(b"HighsMipSolverData")
    print("after", flush=True)
    assert capfd.readouterr().out == "before\nafter\n"


def test_what_the_solver_prints_harms_nobody_without_stdout() -> None:
    row = milp.Row({0: 1.0}, 0.5, 1.0)
    kept = os.dup(1)
    os.close(1)
    try:
        found = milp.solve([1.0], [row], whole=[True], upper=[1.0], seconds=5.0)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    assert found.finished
    assert found.values is not None
    assert found.values[0] == pytest.approx(1.0)
