"""Steps that need no more RAM than a limit, in the least time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.ir.choice import Choice
from edgeconv.ir.step import ROW_BY_ROW, Divides, calls, least_rings
from edgeconv.model import frontend, passes
from edgeconv.search import choose, memory
from edgeconv.search.choose.fused import StepPrices
from edgeconv.search.choose.row_streaming import can_stream, readers, stream_rows_of
from edgeconv.search.memory.streaming_cut import STREAM_ROWS, StreamingCuts
from edgeconv.target import board as boards
from edgeconv.target.price import machine_of
from tests import onnx_models
from tests.row_streaming import convolutions
from tests.unit.test_fused import cuts as compositions

TARGET = boards.load("mps2-an500").target
DEPTHWISE = {"depthwise": True, "kernel": 3, "pad": 1}
KINDS = (
    {"out": 8, "kernel": 3, "pad": 1, "stride": 2},
    {"out": 24, "kernel": 1, "relu": True},
    DEPTHWISE,
    {"out": 8, "kernel": 1, "added": 0},
    {"out": 20, "kernel": 1},
    {**DEPTHWISE, "stride": 2},
)


@dataclass
class Cut:
    """A network in some steps, what they need and what they take."""

    bytes: int
    cost: float


@pytest.fixture(scope="module")
def choice(tmp_path_factory: pytest.TempPathFactory) -> Choice:
    """Two blocks, one with a residual."""
    model = convolutions(KINDS, 3, (20, 16))
    path = onnx_models.save(model, tmp_path_factory.mktemp("model") / "net.onnx")
    return choose.select(passes.optimise(frontend.load(path)), TARGET)


@pytest.fixture(scope="module")
def prices(choice: Choice) -> StepPrices:
    return StepPrices(choice, TARGET, machine_of(TARGET))


@pytest.fixture(scope="module")
def every(choice: Choice, prices: StepPrices) -> list[Cut]:
    return [*paths(choice, prices)]


def paths(choice: Choice, prices: StepPrices) -> Iterator[Cut]:
    """All ways to cut the network into steps of one layer and steps that stream rows."""
    reads = readers(choice)
    for cut in compositions(len(choice.layers)):
        several = [(first, count) for first, count in cut if count > 1]
        steps = (choice.layers[first : first + count] for first, count in several)
        if not all(can_stream(step, reads) for step in steps):
            continue
        alone = sum(prices.apart(first, 1) for first, count in cut if count == 1)
        for rows in product(STREAM_ROWS, repeat=len(several)):
            made, cost = choice, alone
            for (first, count), stream_rows in zip(several, rows, strict=True):
                streaming = stream_rows_of(made, TARGET, first, count, stream_rows)
                assert streaming
                made = streaming
                cost += prices.step_of_one(first, count, stream_rows).cost
            yield Cut(memory.plan(made).lower_bound, cost)


def cost_of(choice: Choice, prices: StepPrices) -> float:
    return sum(
        prices.step_of_one(step.layers[0], len(step.layers), step.stream_rows).cost
        if step.stream_rows
        else prices.apart(step.layers[0], 1)
        for step in choice.steps
    )


def test_the_least_limit_is_that_of_all_cuts(
    choice: Choice, prices: StepPrices, every: list[Cut]
) -> None:
    cuts = StreamingCuts(choice, prices)
    assert cuts.least == min(path.bytes for path in every)
    assert cuts.within(cuts.least - 1) is None


def test_within_a_limit_it_is_the_fastest_of_all_cuts(
    choice: Choice, prices: StepPrices, every: list[Cut]
) -> None:
    cuts = StreamingCuts(choice, prices)
    limits = sorted({path.bytes for path in every})
    assert len(limits) > 5
    for limit in limits:
        made = cuts.within(limit)
        assert made
        assert memory.plan(made).lower_bound <= limit
        fastest = min(path.cost for path in every if path.bytes <= limit)
        assert cost_of(made, prices) == pytest.approx(fastest)


@st.composite
def chains(draw: st.DrawFn) -> list[Divides]:
    """Layers of which each reads the rows of the one before."""
    rows, found = draw(st.integers(3, 12)), list[Divides]()
    for _ in range(draw(st.integers(2, 5))):
        reach, stride = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        pad = draw(st.integers(0, reach - 1))
        rows = max(1, (rows + 2 * pad - reach) // stride + 1)
        found.append(Divides(rows, reach, stride, pad))
    return found


@given(chains())
def test_row_by_row_it_is_the_last_layer_that_can(chain: list[Divides]) -> None:
    """Each call is of one row, of the last layer for which all is there that the row reads; so
    nothing waits longer than it must."""
    made = [0] * len(chain)
    rings = least_rings(chain, ROW_BY_ROW)
    for number, row0, row1 in calls(chain, rings, ROW_BY_ROW):
        assert (row0, row1) == (made[number], made[number] + 1)
        for later in range(number + 1, len(chain)):
            needed = min(chain[later].end_read(made[later] + 1), chain[later - 1].rows)
            assert made[later - 1] < needed
        made[number] += 1
    assert made[-1] == chain[-1].rows


@given(chains())
def test_row_by_row_no_ring_is_larger_than_in_rounds(chain: list[Divides]) -> None:
    rings = least_rings(chain, ROW_BY_ROW)
    for ring, reader, maker in zip(rings, chain[1:], chain[:-1], strict=True):
        assert ring <= max(1, min(reader.reach, maker.rows))
    assert all(one <= more for one, more in zip(rings, least_rings(chain, 2), strict=True))
