"""The loop around the program: real plans keep their budgets, measured noise keeps its limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeconv.ir.choice import Alias, Choice
from edgeconv.ir.memory import Place, Region
from edgeconv.kernels.storage import formats
from edgeconv.search.budget import (
    Exact,
    FormatAssignment,
    Limits,
    Miss,
    Objective,
    Tables,
    Uniform,
    fit,
    support,
)
from edgeconv.search.budget import derive as derived
from edgeconv.search.budget.program import optimise
from edgeconv.search.memory.plan import plan
from edgeconv.search.predict import LayerPrediction, Prediction, Traffic
from tests.examples import examples
from tests.memory_choices import Net
from tests.memory_strategies import choices
from tests.unit.budget_tables import two_layers

FORMATS = ("flyte24", "flyte16", "flyte8")
OUTPUT = ":output"


def lowered(choice: Choice, wanted: Mapping[str, str]) -> Choice:
    """``choice`` as it would have been chosen with these formats by ``layer:output``."""
    graph, of_layer = choice.graph, {layer.node.name: layer.node.output for layer in choice.layers}
    storage = {of_layer[key.removesuffix(OUTPUT)]: form for key, form in wanted.items()}
    tensors = {
        name: replace(tensor, storage=formats()[storage.get(name, "float32")].encoding)
        for name, tensor in graph.tensors.items()
    }

    def scaled(alias: Alias) -> Alias | None:
        inner, outer = tensors[alias.inner], tensors[alias.outer]
        if alias.exact:
            assert inner.storage == outer.storage or inner.dtype != "float32"
            bits = outer.storage.bits if outer.dtype == "float32" else 32
            return replace(alias, offset=alias.offset * bits // 32)
        return alias if inner.storage == outer.storage else None

    layers = tuple(
        replace(layer, aliases=tuple(filter(None, map(scaled, layer.aliases))))
        for layer in choice.layers
    )
    return replace(choice, graph=replace(graph, tensors=tensors), layers=layers)


def tables_of(choice: Choice) -> Tables:
    """All float32 tensors that a layer writes and no caller holds may be stored."""
    graph = choice.graph
    storable = {
        layer.node.output
        for layer in choice.layers
        if graph[layer.node.output].dtype == "float32"
        and layer.node.output not in (*graph.inputs, *graph.outputs)
    }
    noise = {
        name: {"float32": 0.0}
        | {form: (k + 1.0) * 10.0 ** (-12 + 4 * i) for i, form in enumerate(FORMATS)}
        for k, name in enumerate(sorted(storable))
    }
    nothing = LayerPrediction(None, None, None, Traffic({}, None))
    unknown = Prediction((nothing,) * len(choice.layers), None, None, "", "", None)
    network = Uniform(choice, plan(choice), unknown)
    return derived.tables(
        {"float32": network}, {}, activation_noise=noise, storable=storable, ram=32
    )


def planner(choice: Choice, seen: list[int]) -> Callable[[Mapping[str, str]], Exact]:
    def exact(wanted: Mapping[str, str]) -> Exact:
        made = lowered(choice, wanted)
        memory = plan(made)
        seen.append(memory.arena_bytes)
        return Exact(memory.arena_bytes, 64, support(made, memory))

    return exact


@settings(max_examples=examples(60))
@given(choices(max_layers=9))
def test_float32_takes_what_its_plan_says(choice: Choice) -> None:
    tables = tables_of(choice)
    first = (0,) * len(tables.items)
    assert tables.ram_bytes(first) - 32 == plan(choice).lower_bound
    assert tables.flash_bytes(first) == 64


def test_bytes_that_two_tensors_round_up_to_count_once() -> None:
    """t2 ends in the same unit of the arena in which t0 lies, and shares no format with it."""
    net = Net(align=4, io="caller")
    net.input("x0", 1)
    net.layer("t0", 1, "x0")
    net.layer("t2", 1, "x0")
    net.in_place("t4", "t2")
    net.concat("t5", "t0", "t4")
    net.layer("t1", 1, "t5")
    choice = net.choice("t1")
    assert tables_of(choice).ram_bytes(()) - 32 == plan(choice).lower_bound == 4


def test_what_shares_the_bytes_of_an_input_saves_them() -> None:
    """An input has no other format; what overwrites it does."""
    net = Net(align=4, io="arena")
    net.input("x", 8, "float32")
    net.in_place("a", "x")
    net.layer("y", 4, "a", dtype="float32")
    choice = net.choice("y")
    tables = tables_of(choice)
    assert [item.name for item in tables.items] == ["a"]
    assert tables.ram_bytes((0,)) - 32 == plan(choice).lower_bound == 12


@settings(max_examples=examples(60))
@given(choices(max_layers=9), st.floats(0.2, 1.1), st.sampled_from([None, 1e-7, 1e-3]))
def test_no_arena_above_the_budget(choice: Choice, part: float, noise: float | None) -> None:
    tables = tables_of(choice)
    assume(tables.items)
    arena = plan(choice).arena_bytes
    limits = Limits(ram=round(part * (arena + 32)), noise=noise)
    seen: list[int] = []
    objective = Objective.RAM if noise is None else Objective.MEMORY
    found = fit(tables, limits, objective, planner(choice, seen))
    if isinstance(found, Miss):
        assert part < 1.0, "float32 fits"
        assert not seen or min(seen) + 32 > (limits.ram or 0)
        return
    memory = plan(lowered(choice, found.formats))
    assert found.ram == memory.arena_bytes + 32 <= (limits.ram or 0)
    assert noise is None or found.noise <= noise * (1 + 1e-9)


@pytest.mark.parametrize("workspace", [0, 6])
def test_what_makes_an_arena_as_high_as_it_is(workspace: int) -> None:
    """What is live with the top of the arena and below it, and nothing else."""
    net = Net()
    net.input("x", 8)
    net.layer("a", 10, "x", workspace=workspace)
    net.layer("b", 4, "a")
    net.layer("y", 1, "b")
    choice = net.choice("y")
    memory = plan(choice)
    assert memory.arena_bytes == 18 + workspace
    assert support(choice, memory) == {"x", "a", *(["make_a"] if workspace else [])}


def test_what_lies_below_counts_with_what_lies_below_that() -> None:
    net = Net()
    net.input("x", 4)
    choice = net.choice("x")
    spans = {"low": (0, 0, 1), "middle": (4, 1, 2), "top": (8, 2, 3), "later": (0, 4, 5)}
    places = {
        name: Place(Region.ARENA, offset, 4, first, last)
        for name, (offset, first, last) in spans.items()
    }
    assert support(choice, replace(plan(choice), places=places)) == {"low", "middle", "top"}


def fragmented(tables: Tables, waste: int, seen: list[tuple[int, ...]]) -> Callable[..., Exact]:
    """A planner whose arena is ``waste`` bytes above the bound, and flash 128."""

    def exact(wanted: Mapping[str, str]) -> Exact:
        picked = picks(tables, wanted)
        seen.append(picked)
        arena = tables.ram_bytes(picked) - tables.ram + waste
        return Exact(arena, tables.flash_bytes(picked) + 128)

    return exact


def picks(tables: Tables, wanted: Mapping[str, str]) -> tuple[int, ...]:
    return tuple(
        next(
            k
            for k, option in enumerate(item.options)
            if option.format == wanted[(item.keys or (item.name,))[0]]
        )
        for item in tables.items
    )


def test_an_arena_above_its_bound_is_cut_off() -> None:
    tables = two_layers()
    seen: list[tuple[int, ...]] = []
    ram = tables.ram_bytes((0, 0, 0, 0))
    found = fit(tables, Limits(ram=ram), Objective.NOISE, fragmented(tables, 8, seen), seconds=10.0)
    assert isinstance(found, FormatAssignment)
    assert found.ram <= ram
    assert found.planned == len(seen) > 1
    assert len(set(seen)) == len(seen)  # nothing is planned twice


@pytest.mark.parametrize("less", [0, 1])
@pytest.mark.parametrize("kind", ["ram", "flash"])
def test_a_plan_that_takes_all_of_its_budget_is_within_it(kind: str, less: int) -> None:
    """To the byte: what is planned takes 8 bytes more of RAM than the tables say, 128 of flash."""
    tables, plain = two_layers(), (0, 0, 0, 0)
    seen: list[tuple[int, ...]] = []
    takes = {"ram": tables.ram_bytes(plain) + 8, "flash": tables.flash_bytes(plain) + 128}
    limits = replace(Limits(), **{kind: takes[kind] - less})
    found = fit(tables, limits, Objective.NOISE, fragmented(tables, 8, seen))
    assert isinstance(found, FormatAssignment)
    assert seen[0] == plain
    assert (found.picked == plain) == (not less)
    assert getattr(found, kind) <= takes[kind] - less


def test_a_planner_may_do_with_less_than_the_bytes_that_live() -> None:
    """The least RAM is planned where the tables see no room, then the least of the objective."""
    tables, least = two_layers(), (0, 0, 3, 0)  # "narrow" is not live at the peak
    ram = tables.ram_bytes(least) - 8
    planner_of_less = fragmented(tables, -8, [])
    found = fit(tables, Limits(ram=ram), Objective.MEMORY, planner_of_less)
    assert isinstance(found, FormatAssignment)
    assert found.ram == ram
    assert found.picked == least
    assert found.value == tables.noise(least)
    assert found.gap == math.inf


def test_of_memory_what_the_plans_take_decides() -> None:
    """What the tables call smallest takes more when planned; another choice does not."""
    tables, limits = two_layers(), Limits(noise=1e-3)
    first = optimise(tables, limits, (Objective.MEMORY, Objective.NOISE))
    assert first is not None
    seen: list[tuple[int, ...]] = []

    def exact(wanted: Mapping[str, str]) -> Exact:
        seen.append(picks(tables, wanted))
        waste = 4096 if seen[-1] == first.picked else 0
        return Exact(tables.ram_bytes(seen[-1]) - tables.ram + waste, tables.flash_bytes(seen[-1]))

    found = fit(tables, limits, Objective.MEMORY, exact)
    assert isinstance(found, FormatAssignment)
    assert seen[0] == first.picked
    assert found.picked == seen[1] != first.picked
    assert found.ram + found.flash == found.value < first.value + 4096
    assert found.noise <= 1e-3


def test_flash_beyond_the_tables_is_learnt() -> None:
    tables = two_layers()
    seen: list[tuple[int, ...]] = []
    flash = tables.flash_bytes((1, 0, 0, 0))
    found = fit(tables, Limits(flash=flash), Objective.NOISE, fragmented(tables, 0, seen))
    assert isinstance(found, FormatAssignment)
    assert found.flash <= flash
    # The nearest smaller one: 128 bytes less than flyte24 of the large weights.
    assert found.flash == tables.flash_bytes(found.picked) + 128
    assert tables.noise(found.picked) == pytest.approx(1e-4)


@pytest.mark.parametrize("combined", [0.2, 0.9, 3.0, 40.0])
def test_measured_noise_keeps_the_limit(combined: float) -> None:
    tables, measured = two_layers(), []

    def measure(wanted: Mapping[str, str]) -> float:
        measured.append(combined * tables.noise(picks(tables, wanted)))
        return measured[-1]

    limits = Limits(noise=2.5e-4)
    found = fit(tables, limits, Objective.MEMORY, fragmented(tables, 0, []), measure)
    assert isinstance(found, FormatAssignment)
    assert found.measured is not None
    assert found.measured <= 2.5e-4
    assert found.measured in measured
    assert len(measured) <= 6
    # As good as knowing the proportion beforehand.
    known = optimise(tables, Limits(noise=2.5e-4 / combined), (Objective.MEMORY,))
    assert known is not None
    assert found.value == pytest.approx(known.value, rel=1e-3)


def test_noise_that_nothing_brings_down_is_a_miss() -> None:
    tables = two_layers()
    found = fit(
        tables,
        Limits(flash=2000, noise=1e-2),
        Objective.LATENCY,
        fragmented(tables, 0, []),
        lambda wanted: 0.5,
    )
    assert isinstance(found, Miss)
    assert found.limits.flash == 2000
    assert found.limits.noise is not None
    assert found.limits.noise < 1e-2


def test_no_limits_need_no_noise() -> None:
    tables = two_layers()
    found = fit(tables, Limits(), Objective.LATENCY, fragmented(tables, 0, []), lambda _: 0.0)
    assert isinstance(found, FormatAssignment)
    assert found.noise == found.measured == 0.0
    assert found.formats["make_wide:output"] == "float32"
