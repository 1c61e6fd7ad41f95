"""What prices compare: seconds, or joules where these are to be small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.app.deciding.planning import Planner
from edgeconv.app.pipeline import CompileOptions
from edgeconv.ir.choice import ArgKind, Layer
from edgeconv.ir.graph import Graph
from edgeconv.model import frontend, passes
from edgeconv.search import choose
from edgeconv.search.choose.prices import Prices
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.board import Energy
from edgeconv.target.cache import Cache
from edgeconv.target.price import Machine, machine_of, price, streaming
from edgeconv.target.price.operands import Touched, Use

CACHES = (Cache(1, 1 << 12, 64), Cache(2, 1 << 14, 64))
TARGET = replace(TARGETS["avx2"], caches=CACHES, clock_hz=10**9)
SECONDS = machine_of(TARGET)
ENERGIES = {"L1": 1e-12, "L2": 5e-12, "memory": 1e-10}
JOULES = replace(SECONDS, energy=Energy(3e-12, ENERGIES, 0.5, "a test"))


@pytest.fixture
def graph(residual_model: Path) -> Graph:
    return passes.optimise(frontend.load(residual_model))


def uses(size: int, distance: float) -> Sequence[Use]:
    return [Use(ArgKind.INPUT, "x", size, (Touched(size, distance),), bank=0)]


def layer(graph: Graph) -> Layer:
    return next(each for each in choose.select(graph, TARGET).layers if each.traffic)


def test_a_price_has_seconds_joules_bytes_and_what_is_cold(graph: Graph) -> None:
    own, held = layer(graph), sum(cache.size for cache in CACHES)
    warm, cold = (price(own, uses(1000, age), JOULES) for age in (0.0, 10.0 * held))
    assert (warm.cold, cold.cold) == (0.0, 1000.0)
    assert cold.bytes - warm.bytes == pytest.approx(1000)
    assert warm.joules is not None
    assert cold.joules is not None
    assert cold.cost == cold.joules > warm.joules > 3e-12 * own.macs
    plain = price(own, uses(1000, 0.0), SECONDS)
    assert plain.joules is None
    assert plain.cost == plain.seconds == warm.seconds


@pytest.mark.parametrize("watts", [1.0, 7.0])
def test_joules_of_power_alone_compare_as_seconds_do(graph: Graph, watts: float) -> None:
    machine = replace(SECONDS, energy=Energy(None, {}, watts, "a test"))
    timed, powered = Prices(graph, TARGET), Prices(graph, TARGET, machine)
    for node in graph.nodes:
        costs = [way.cost * watts for way in timed.ways(node, graph)]
        assert [way.cost for way in powered.ways(node, graph)] == pytest.approx(costs)
    assert streaming(80, machine) == pytest.approx(watts * streaming(80, SECONDS))
    alike = choose.select(graph, TARGET, machine=machine).layers
    assert [each.algorithm for each in alike] == [
        each.algorithm for each in choose.select(graph, TARGET).layers
    ]


def test_joules_decide_where_they_are_given(graph: Graph) -> None:
    """A byte between registers and the first cache costs more than all else."""
    machine = replace(SECONDS, energy=Energy(None, {"L1": 1e-3}, 0.0, "a test"))

    def near(wanted: Machine | None) -> float:
        layers = choose.select(graph, TARGET, machine=wanted).layers
        return sum(each.work.data_bytes + each.work.weight_bytes for each in layers)

    assert near(machine) < near(None)


@pytest.mark.parametrize(
    ("board", "objective", "joules"),
    [
        ("raspberry-pi-4", "energy", True),
        ("raspberry-pi-4", "latency", False),
        ("raspberry-pi-4", "", False),
        ("zen4", "energy", False),  # states nothing of the time between multiply-adds
        ("stm32h743", "energy", False),  # power: the time decides
    ],
)
def test_joules_are_asked_for_by_the_objective(board: str, objective: str, joules: bool) -> None:
    options = CompileOptions(Path("net.onnx"), board, objective=objective)
    machine = Planner(options, boards.load(board)).machine
    assert (machine.energy is not None) == joules
