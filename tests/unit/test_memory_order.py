"""The execution order that the memory planner chooses."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, assume, given, settings

from edgeconv.ir.choice import Alias, Choice
from edgeconv.search.memory import order, plan
from edgeconv.search.memory.alias import share
from edgeconv.search.memory.blocks import live_bytes, rectangles
from edgeconv.search.memory.lifetimes import lifetimes
from edgeconv.search.memory.liveness import LivenessModel
from edgeconv.search.memory.program import Program, of_choice
from tests.examples import examples
from tests.memory_choices import Net
from tests.memory_strategies import choices

ORDERS = 400  # more than these are not tried one by one


def bound(program: Program, layers: tuple[int, ...]) -> int:
    """The lower bound of the arena when ``layers`` run in this order."""
    spans = lifetimes(program, layers)
    blocks = [
        rectangles(program, spans, block)
        for block in share(program, spans).blocks
        if not program.buffers.keys() & block.keys()
    ]
    load = live_bytes(blocks, len(layers))
    for step, layer in enumerate(layers):
        load[step + 1] += program.round_up(program.workspaces[layer])
    return max(load)


def topological_orders(program: Program) -> Iterator[tuple[int, ...]]:
    needs = [{program.producer.get(name, -1) for name in names} for names in program.reads]

    def extend(done: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(done) == len(needs):
            yield done
        for layer in range(len(needs)):
            if layer not in done and needs[layer] <= {-1, *done}:
                yield from extend((*done, layer))

    return extend(())


def model_order(choice: Choice) -> tuple[int, ...]:
    return tuple(range(len(choice.layers)))


def test_diamond_finishes_one_branch_before_the_other() -> None:
    """Both expansions first would hold 2 x 50 bytes; branch by branch holds one of them."""
    net = Net(io="arena")
    net.input("x", 10)
    net.layer("wide_a", 50, "x")
    net.layer("wide_b", 50, "x")
    net.layer("a", 5, "wide_a")
    net.layer("b", 5, "wide_b")
    net.layer("y", 5, "a", "b")
    memory_map = plan(net.choice("y"))
    assert memory_map.order in {(0, 2, 1, 3, 4), (1, 3, 0, 2, 4)}
    assert memory_map.arena_bytes == 10 + 50 + 5


def test_keeps_the_models_order_where_it_is_as_good() -> None:
    net = Net(io="arena")
    net.input("x", 10)
    for name in ("a", "b", "c"):
        net.layer(name, 5, "x")
    net.layer("y", 5, "c", "b", "a")
    choice = net.choice("y")
    assert plan(choice).order == model_order(choice)


def test_looks_at_the_segment_of_the_peak_only() -> None:
    """The first diamond could be improved, but the peak is in the second one's input."""
    net = Net(io="arena")
    net.input("x", 10)
    net.layer("wide_a", 50, "x")
    net.layer("wide_b", 50, "x")
    net.layer("a", 5, "wide_a")
    net.layer("b", 5, "wide_b")
    net.layer("sum", 500, "a", "b")
    net.layer("y", 5, "sum")
    choice = net.choice("y")
    assert plan(choice).order == model_order(choice)


def test_a_step_that_frees_memory_waits_when_it_needs_more_at_once() -> None:
    net = Net(io="arena")
    net.input("x", 10)
    net.input("big", 50)
    net.layer("a", 5, "x", workspace=100)
    net.layer("b", 1, "big")
    net.layer("y", 1, "a", "b")
    memory_map = plan(net.choice("y"))
    assert memory_map.order == (1, 0, 2)
    assert memory_map.arena_bytes == 10 + 1 + 5 + 100


def test_bytes_that_a_live_view_holds_are_not_overwritten() -> None:
    net = Net(io="arena")
    net.input("x", 10)
    net.layer("a", 10, "x")
    net.view("v", "a", 0, 4)
    net.in_place("b", "a", "a", "v")
    net.layer("y", 1, "b")
    program = of_choice(net.choice("y"))
    model = LivenessModel(program, share(program, lifetimes(program, range(4))).blocks)
    assert model.need(2, done=0b0011, live=10) == (20, 10)  # v is read by the same layer


def test_a_better_bound_that_packs_no_better_keeps_the_models_order() -> None:
    """Running t0 and t2 first would lower the bound, but the parts of t3 cannot move."""
    net = Net(io="arena")
    net.input("in0", 6)
    net.input("in1", 8)
    net.layer("t0", 6, "in1", "in0")
    net.layer("t1", 10, "in0", workspace=12)
    net.layer("t2", 6, "in0", "t0", aliases=(Alias("in0", "t2", "in0"), Alias("t0", "t2", "t0")))
    net.concat("t3", "t1", "t1", "in1")
    choice = net.choice("t2", "t3")
    own = bound(of_choice(choice), model_order(choice))
    memory_map = plan(choice)
    assert memory_map.order == model_order(choice)
    assert memory_map.lower_bound == own < memory_map.arena_bytes


def test_a_better_bound_that_packs_better_is_taken() -> None:
    """The new order misses its bound and even the old order's, which the old one misses more."""
    net = Net(io="arena")
    net.input("in0", 12)
    net.input("in1", 11)
    net.layer("t0", 4, "in0", workspace=8)
    net.view("t1", "in1", 1, 7)
    net.in_place("t2", "in0")
    net.view("t3", "t2", 9, 1)
    net.layer("t4", 11, "t3", "in0", "in1")
    net.layer("t5", 7, "t4", "t1")
    choice = net.choice("t0", "t5")
    own = bound(of_choice(choice), model_order(choice))
    memory_map = plan(choice)
    assert memory_map.order != model_order(choice)
    assert memory_map.lower_bound < own < memory_map.arena_bytes


def branches(count: int) -> Choice:
    """Parallel branches that the model runs breadth first."""
    net = Net(io="arena")
    net.input("x", 10)
    for i in range(count):
        net.layer(f"wide{i}", 50, "x")
    for i in range(count):
        net.layer(f"mid{i}", 20 + i, f"wide{i}")
    for i in range(count):
        net.layer(f"thin{i}", 2, f"mid{i}")
    net.layer("y", 5, *(f"thin{i}" for i in range(count)))
    return net.choice("y")


def test_beam_search_when_there_are_too_many_downsets(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = branches(6)
    best = plan(choice)
    assert best.arena_bytes == 10 + 50 + 20 + 2 * 4  # while the last branch but one runs
    monkeypatch.setattr(order, "MOVES", 40)
    beam = plan(choice)
    assert best.arena_bytes <= beam.arena_bytes < bound(of_choice(choice), model_order(choice))


def test_long_chains_do_not_recurse() -> None:
    net = Net(align=16, io="arena")
    last = net.input("x", 100)
    for i in range(2000):
        last = net.in_place(f"t{i}", last) if i % 2 else net.layer(f"t{i}", 100 + i % 7, last)
    choice = net.choice(last)
    memory_map = plan(choice)
    assert memory_map.order == model_order(choice)
    assert memory_map.arena_bytes == memory_map.lower_bound == 2 * 112


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.filter_too_much])
@given(choices(max_layers=7, aliases=False))
def test_best_of_all_orders(choice: Choice) -> None:
    program = of_choice(choice)
    orders = []
    for layers in topological_orders(program):
        orders.append(layers)
        assume(len(orders) <= ORDERS)
    assert plan(choice).lower_bound == min(bound(program, layers) for layers in orders)


@settings(max_examples=examples(60))
@given(choices(max_layers=20))
def test_never_worse_than_the_models_order(choice: Choice) -> None:
    program = of_choice(choice)
    memory_map = plan(choice)
    own = bound(program, model_order(choice))
    assert memory_map.lower_bound == bound(program, memory_map.order) <= own
    if memory_map.order != model_order(choice):
        assert memory_map.lower_bound < own


@settings(deadline=None)
@given(choices())
def test_descendants_are_the_converse_of_ancestors(choice: Choice) -> None:
    program = of_choice(choice)
    spans = lifetimes(program, model_order(choice))
    model = LivenessModel(program, share(program, spans).blocks)
    before, after = model.ancestors(), model.descendants()
    for one, ancestors in enumerate(before):
        for other, descendants in enumerate(after):
            assert ancestors >> other & 1 == descendants >> one & 1


def test_a_long_chain_is_cut_quickly() -> None:
    """Counted pair by pair, the descendants in a chain of 8,000 layers take ten seconds."""
    net = Net(io="arena")
    net.input("t0", 16)
    for layer in range(8000):
        net.layer(f"t{layer + 1}", 16, f"t{layer}")
    model = LivenessModel(of_choice(net.choice("t8000")), ())
    begin = time.process_time()
    subgraphs = order._subgraphs(model)
    assert time.process_time() - begin < 2
    assert subgraphs == [range(layer, layer + 1) for layer in range(8000)]
