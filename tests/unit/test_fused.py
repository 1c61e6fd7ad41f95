"""Who streams rows by price: cuts of chains, prices of steps, what is kept, and how it is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.app.deciding import Decider
from edgeconv.app.deciding.planning import Decision
from edgeconv.ir.choice import ArgKind, Choice, tensor_bytes
from edgeconv.ir.step import Share
from edgeconv.model import frontend, passes
from edgeconv.search import choose, memory
from edgeconv.search.choose.fused import CERTAIN, STREAM_ROWS, Fusion, StepPrices, fused
from edgeconv.search.choose.row_streaming import one_by_one, stream_rows_of
from edgeconv.search.choose.streaming_prices import SomeRows, around, priced
from edgeconv.search.options import CompileOptions
from edgeconv.search.predict import predict
from edgeconv.target import board as boards
from edgeconv.target.price import machine_of
from edgeconv.target.price.operands import Touched
from edgeconv.target.price.row_streaming import StreamedLayer, prices
from tests import onnx_models
from tests.command import Command
from tests.row_streaming import convolutions

BOARD = "jetson-tx1"
WIDE = (
    {"out": 96, "kernel": 1, "relu": True},
    {"depthwise": True, "kernel": 3, "pad": 1, "stride": 2, "relu": True},
    {"out": 16, "kernel": 1},
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Expand, depthwise, project: what is wide takes 4.8 MB, more than any cache of the board."""
    found = convolutions(WIDE, 16, (112, 112))
    return onnx_models.save(found, tmp_path_factory.mktemp("model") / "net.onnx")


@pytest.fixture(scope="module")
def choice(model: Path) -> Choice:
    target = boards.load(BOARD).target
    return choose.select(passes.optimise(frontend.load(model)), target)


def decided(model: Path, board: str, **options: Any) -> Decision:
    with Decider(CompileOptions(model=model, board=board, name="net", **options)) as decider:
        return decider.decide()


def steps_of(choice: Choice) -> list[tuple[int, ...]]:
    return [step.layers for step in choice.steps if step.stream_rows]


class Priced(StepPrices):
    """With made-up prices."""

    def __init__(self, alone: list[float], gains: dict[tuple[int, int], float]) -> None:
        self.costs, self.gains = alone, gains

    def apart(self, first: int, count: int) -> float:
        return sum(self.costs[first : first + count])

    def steps(self, first: int, count: int) -> list[Fusion]:
        apart = self.apart(first, count)
        cost = apart * self.gains.get((first, count), 1.1)
        return [
            Fusion(first, count, stream_rows, cost * stream_rows, apart)
            for stream_rows in STREAM_ROWS
        ]


def cuts(count: int) -> Iterator[list[tuple[int, int]]]:
    """Every way to cut a chain."""
    if not count:
        yield []
    for last in range(1, count + 1):
        for before in cuts(count - last):
            yield [*before, (count - last, last)]


@given(st.data())
def test_a_chain_is_cut_so_that_it_takes_least(data: st.DataObject) -> None:
    """Against every cut, of up to six layers."""
    count = data.draw(st.integers(2, 6))
    alone = data.draw(st.lists(st.floats(1, 10), min_size=count, max_size=count))
    pairs = [(i, n) for i in range(count) for n in range(2, count - i + 1)]
    gains = {pair: data.draw(st.floats(0.5, 1.2)) for pair in pairs}
    made = Priced(alone, gains)

    def cost(cut: list[tuple[int, int]]) -> float:
        steps = [made.fastest(first, n) if n > 1 else None for first, n in cut]
        return sum(
            step.cost if step else made.apart(*layers)
            for step, layers in zip(steps, cut, strict=True)
        )

    found = made.cut(0, count)
    inside = {first + i for step in found for first in (step.first,) for i in range(step.count)}
    taken = sum(step.cost for step in found)
    taken += sum(alone[i] for i in range(count) if i not in inside)
    assert len(inside) == sum(step.count for step in found)
    assert taken == pytest.approx(min(map(cost, cuts(count))))
    assert all(step.cost < (1 - CERTAIN) * step.apart for step in found)


def test_what_is_wide_never_lies_in_memory_as_a_whole(model: Path) -> None:
    found = decided(model, BOARD)
    assert steps_of(found.choice) == [(0, 1, 2)]
    rings = [found.choice.graph[layer.node.output].ring for layer in found.choice.layers[:2]]
    assert all(0 < ring < 40 for ring in rings)
    wide = 4 * 96 * 112 * 112
    assert found.memory.arena_bytes < wide / 2
    assert found.memory.lower_bound == found.memory.arena_bytes
    (note,) = (note for note in found.notes if "stream rows" in note)
    assert "less time predicted" in note
    assert f"{wide + 4 * 96 * 56 * 56 - found.memory.arena_bytes} bytes of RAM less" in note


@pytest.mark.parametrize("board", ["mps2-an500", "mps2-an386"])
def test_boards_of_little_ram_stream_rows(board: str, tmp_path: Path) -> None:
    """By default where it costs hardly any time, and where a budget asks for it."""
    small = onnx_models.save(convolutions(WIDE, 8, (24, 24)), tmp_path / "net.onnx")
    default = decided(small, board)
    with Decider(CompileOptions(small, board)) as decider:
        plain = decider.decide(streaming=False)
    assert steps_of(default.choice)
    assert default.predicted.price <= 1.02 * plain.predicted.price
    assert default.sizes.ram.total < plain.sizes.ram.total
    assert steps_of(decided(small, board, ram=plain.sizes.ram.total - 20_000).choice)


def test_what_gains_nothing_stays_as_it_is(tmp_path: Path) -> None:
    """All of it lies in the nearest cache, and calls take time."""
    small = onnx_models.save(convolutions(WIDE, 8, (6, 6)), tmp_path / "net.onnx")
    assert steps_of(decided(small, BOARD).choice) == []


def test_sums_are_those_of_the_layers_alone(choice: Choice) -> None:
    target = boards.load(BOARD).target
    made = fused(choice, StepPrices(choice, target, machine_of(target)))
    assert steps_of(made)
    again = one_by_one(made, target)
    assert again.graph == choice.graph
    assert steps_of(again) == []
    for one, other in zip(made.layers, choice.layers, strict=True):
        assert one.algorithm == other.algorithm
        assert [blob.bytes for blob in one.blobs] == [blob.bytes for blob in other.blobs]


def test_prediction_is_the_price_of_the_step(choice: Choice) -> None:
    """By layer, and less than one after the other; with few rows per round there are more calls."""
    board = boards.load(BOARD)
    target = board.target
    alone = predict(choice, memory.plan(choice), board)
    found = []
    for stream_rows in (1, 4):
        made = stream_rows_of(choice, target, 0, 3, stream_rows)
        assert made
        found.append(predict(made, memory.plan(made), board))
    assert all(layer.ms for layer in found[0].layers)
    assert found[1].price < found[0].price < alone.price


def stream(choice: Choice, stream_rows: int) -> list[StreamedLayer]:
    """The layers of the chain as `priced` has them."""
    target = boards.load(BOARD).target
    some_rows, found = SomeRows(choice.graph, target), []
    for i, (layer, whole) in enumerate(
        zip(choice.layers[:3], around(choice, range(3), 0), strict=True)
    ):
        made, each = some_rows.of(layer, stream_rows, from_ring=i > 0, to_ring=i < 2)
        assert layer.divides
        found.append(StreamedLayer(made, each, layer.divides.rows / stream_rows, 1.0, whole))
    return found


def test_filters_that_no_cache_holds_come_in_every_round(choice: Choice) -> None:
    """A workspace of one layer makes a round larger than all caches."""
    target = boards.load(BOARD).target
    machine = machine_of(target)
    layers = stream(choice, 2)
    weights = sum(blob.bytes for blob in choice.layers[0].blobs)
    near = prices(layers, machine)[0].flows[-1].filters
    assert near <= weights
    large = replace(layers[1].operands[0], kind=ArgKind.WORKSPACE, bytes=8 << 20, ages=())
    layers[1] = replace(layers[1], operands=(*layers[1].operands, large))
    far = prices(layers, machine)[0].flows[-1].filters
    assert far == pytest.approx(weights * layers[0].calls, rel=0.01)


def test_what_lies_between_comes_from_near(choice: Choice) -> None:
    """Of the wide tensor nothing crosses behind the last cache, either way."""
    target = boards.load(BOARD).target
    machine = machine_of(target)
    whole = [tuple(replace(use, ages=(Touched(use.bytes, 0.0),)) for use in uses)
             for uses in around(choice, range(3), 0)]  # fmt: skip
    found = priced(choice, range(3), 2, whole, SomeRows(choice.graph, target), machine)
    assert sum(price.bytes for price in found) == 0.0


def test_workers_share_a_step_by_rows(model: Path) -> None:
    """Each with rings of its own, and predicted to be done sooner than one alone."""
    one, two = decided(model, BOARD), decided(model, BOARD, threads=2)
    (step,) = (step for step in two.choice.steps if step.stream_rows)
    assert step.layers == (0, 1, 2)
    assert [share[:2] for share in step.shares] == [(0, 28), (28, 56)]
    ring = two.choice.layers[0].node.output
    held = two.choice.held_bytes(ring)
    assert held >= 2 * tensor_bytes(two.choice.graph[ring])
    assert two.memory.arena_bytes < 2 * one.memory.arena_bytes
    assert two.predicted.price < 0.7 * one.predicted.price


def test_a_worker_whose_rows_are_padding_alone(tmp_path: Path) -> None:
    """He computes nothing of what lies between, which takes less than a row of it."""
    kinds = ({"out": 32, "kernel": 1}, {"out": 16, "kernel": 1, "pad": 1})
    path = onnx_models.save(convolutions(kinds, 16, (8, 8)), tmp_path / "net.onnx")
    target = boards.load(BOARD).target
    found = choose.select(passes.optimise(frontend.load(path)), target, algorithms={"*": "direct"})
    rows, whole = SomeRows(found.graph, target), around(found, (0, 1), 0)
    idle, busy = (
        priced(found, (0, 1), 1, whole, rows, machine_of(target), Share(0, end, 0, 1))
        for end in (1, 2)
    )
    assert idle[0].seconds < busy[0].seconds


def test_explain_says_why(edgeconv: Command, model: Path) -> None:
    said = edgeconv.ok("explain", model, "--board", BOARD, "--json").json()["layers"]
    first, second, third, last = (layer["streaming"] for layer in said)
    assert (first["next"], first["why"], last) == ("l1", "less time", None)
    assert third["why"] == "convert computes all rows of convert y at once"
    assert first["stream_rows"] == second["stream_rows"]
    assert first["change"] == second["change"] < -CERTAIN
    text = edgeconv.ok("explain", model, "--board", BOARD, "--layer", "l0").stdout
    assert "row(s) of the last result" in " ".join(text.split())


def test_explain_says_what_stands_in_the_way(edgeconv: Command, tmp_path: Path) -> None:
    kinds = (WIDE[0], {"out": 96, "kernel": 3, "pad": 1}, {"out": 96, "kernel": 1, "added": 0})
    model = onnx_models.save(convolutions(kinds, 16, (20, 20)), tmp_path / "net.onnx")
    options = ("--board", BOARD, "--algorithm", "l1=winograd", "--json")
    said = edgeconv.ok("explain", model, *options).json()["layers"]
    why = [layer["streaming"]["why"] for layer in said if layer["streaming"]]
    assert why[:2] == ["winograd computes all rows of l1 at once"] * 2
