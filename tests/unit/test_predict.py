"""Predicted time, energy and traffic: formulas by hand, what they grow with, what is missing."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.codegen.weights import ImagePart
from edgeconv.ir.choice import ArgKind, Choice
from edgeconv.ir.memory import MemoryMap
from edgeconv.kernels import headers
from edgeconv.kernels.lowering.activations import FUNCTIONS
from edgeconv.model import frontend, passes
from edgeconv.search import choose, memory
from edgeconv.search.memory.banks import of_board
from edgeconv.search.memory.link import link_plan
from edgeconv.search.predict import Prediction, predict
from edgeconv.search.predict.deviation import deviation_of
from edgeconv.search.predict.residency import uses
from edgeconv.target import board as boards
from edgeconv.target.board import Board, Energy, Memory
from edgeconv.target.cache import Cache
from edgeconv.target.price.duration import COMPUTE, EXPOSED, LAYER_CYCLES, OVERHEAD, Duration
from edgeconv.target.price.energy import joules
from edgeconv.target.price.machine import MEMORY
from edgeconv.target.price.operands import SURELY_HELD, Touched, Use, between_neighbours, lost
from tests import onnx_models
from tests.tools import representatives

GHZ = 1_000_000_000
DRAM = Memory("DDR", "dram", 1 << 30, bandwidth=2e9)
CACHES = (
    Cache(1, 32 << 10, 64, 4, 8, 32.0),
    Cache(2, 256 << 10, 64, 12, 8, 16.0),
)


def board(isa: str = "neon", **changes: object) -> Board:
    """Four multiply-adds per cycle at 1 GHz, two caches, 2 GB/s."""
    stated = {"clock_hz": GHZ, "macs_per_cycle": 4.0, "caches": CACHES, "memory": (DRAM,)}
    return replace(boards.load("generic-c"), isa=isa, **{**stated, **changes})  # type: ignore[arg-type]


def decided(model: onnx.ModelProto, machine: Board, folder: Path) -> tuple[Choice, MemoryMap]:
    graph = passes.optimise(frontend.load(onnx_models.save(model, folder / "net.onnx")))
    choice = choose.select(graph, machine.target)
    return choice, memory.plan(choice, of_board(machine, {}))


def predicted(model: onnx.ModelProto, machine: Board, folder: Path) -> Prediction:
    return predict(*decided(model, machine, folder), machine)


def pointwise(in_c: int, out_c: int, size: int) -> onnx.ModelProto:
    weights = np.ones((out_c, in_c, 1, 1), np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv")
    return onnx_models.model([node], {"x": (1, in_c, size, size)}, {"y": None}, {"w": weights})


def dense(in_c: int, out_c: int) -> onnx.ModelProto:
    weights = np.ones((in_c, out_c), np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="dense")
    return onnx_models.model([node], {"x": (1, in_c)}, {"y": None}, {"w": weights})


def milliseconds(model: onnx.ModelProto, machine: Board, folder: Path) -> float:
    found = predicted(model, machine, folder).ms
    assert found is not None
    return found


@pytest.mark.parametrize("name", representatives(boards.names()))
def test_every_layer_on_every_board(name: str, residual_model: Path) -> None:
    plan = pipeline.decide(CompileOptions(model=residual_model, board=name))
    machine = plan.board
    found = predict(plan.choice, plan.memory, machine)
    timed = machine.clock_hz is not None and machine.macs_per_cycle is not None
    assert len(found.layers) == len(plan.memory.order)
    for layer in found.layers:
        assert (layer.ms is not None) == timed
        assert (layer.mj is not None) == (machine.energy is not None)
        assert layer.ms is None or (layer.ms > 0) == (layer.bound_by is not None)
    assert (found.roofline is not None) == timed
    assert found.time_source.startswith("predicted" if timed else "not predicted")


def test_totals_are_sums_of_layers(tmp_path: Path) -> None:
    energy = Energy(1e-12, {"L2": 1e-12}, 0.5, "a test")
    found = predicted(onnx_models.residual(), board(energy=energy), tmp_path)
    assert found.ms == pytest.approx(math.fsum(layer.ms or 0 for layer in found.layers))
    assert found.mj == pytest.approx(math.fsum(layer.mj or 0 for layer in found.layers))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"clock_hz": None}, "states no clock"),
        ({"macs_per_cycle": None}, "states no macs_per_cycle"),
        ({"clock_hz": None, "macs_per_cycle": None}, "states no clock and no macs_per_cycle"),
    ],
)
def test_no_time_without_rates(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    energy = Energy(1e-12, {}, 0.5, "a test")
    found = predicted(onnx_models.residual(), board(energy=energy, **changes), tmp_path)
    assert found.ms is None
    assert found.roofline is None
    assert words in found.time_source
    assert {(layer.ms, layer.bound_by) for layer in found.layers} == {(None, None)}
    assert found.mj is not None
    assert "idle power is left out" in found.energy_source


def test_no_energy_without_a_table(tmp_path: Path) -> None:
    found = predicted(onnx_models.residual(), board(energy=None), tmp_path)
    assert found.mj is None
    assert {layer.mj for layer in found.layers} == {None}
    assert "states no [energy]" in found.energy_source


def test_what_has_no_bandwidth_or_price_is_named(tmp_path: Path) -> None:
    caches = (CACHES[0], replace(CACHES[1], bandwidth=None))
    energy = Energy(1e-12, MappingProxyType({"L1": 1e-12, "memory": 1e-10}), 0.0, "a test")
    machine = board(caches=caches, memory=(replace(DRAM, bandwidth=None),), energy=energy)
    found = predicted(onnx_models.residual(), machine, tmp_path)
    assert "no bandwidth of L2, DRAM" in found.time_source
    assert found.energy_source == "predicted with a test; no price for bytes of L2"
    stated = replace(machine, caches=CACHES, memory=(replace(DRAM, bandwidth=8e9),))
    assert found.ms == pytest.approx(milliseconds(onnx_models.residual(), stated, tmp_path))


def test_unstated_flash_is_slower_than_stated(tmp_path: Path) -> None:
    """Weights do not come faster out of memory that nobody has measured."""
    machine = boards.load("stm32h743")
    qspi = Memory("QSPI", "flash", 1 << 24, 0x9000_0000)
    small = tuple(replace(r, size=64 << 10) if r.is_flash else r for r in machine.memory)
    outside = replace(machine, memory=(*small, qspi))
    model = dense(256, 128)
    assert milliseconds(model, outside, tmp_path) > milliseconds(model, machine, tmp_path)


def test_the_clock_is_named(tmp_path: Path) -> None:
    """In words of the report and for the firmware, which has to set it."""
    machine = boards.load("stm32h743")
    choice, plan = decided(dense(256, 128), machine, tmp_path)
    assert predict(choice, plan, machine).time_source == (
        "predicted at 480 MHz from macs_per_cycle and bandwidths of board stm32h743"
    )
    link = link_plan(machine, plan, [ImagePart("", 0, 1 << 10)])
    assert link is not None
    assert link.clock_hz == 480_000_000


@pytest.mark.parametrize(
    ("name", "watts"),
    [("stm32h743", 0.436), ("stm32f407", 0.132), ("nrf52840", 9.98e-3), ("microbit", 13.2e-3)],
)
def test_energy_of_microcontrollers_is_run_power_for_the_time(
    name: str, watts: float, tmp_path: Path
) -> None:
    found = predicted(dense(16, 8), boards.load(name), tmp_path)
    assert found.ms is not None
    assert found.mj == pytest.approx(watts * found.ms)
    assert found.energy_source.startswith(f"predicted time at {1e3 * watts:.3g} mW: run current")
    assert "no price" not in found.energy_source


def test_run_power_needs_a_time(tmp_path: Path) -> None:
    energy = Energy(None, {}, 0.0, "a test", run=0.5)
    found = predicted(onnx_models.residual(), board(energy=energy, clock_hz=None), tmp_path)
    assert found.mj is None
    assert {layer.mj for layer in found.layers} == {None}
    assert found.energy_source.startswith("not predicted: ")


def test_energy_by_hand() -> None:
    energy = Energy(2e-12, {"L1": 1e-12, "memory": 100e-12}, 0.25, "a test")
    moved = {"L1": 1000.0, "L2": 500.0, "memory": 10.0}  # L2 has no price
    by_hand = 3000 * 2e-12 + 1000 * 1e-12 + 10 * 100e-12 + 0.25 * 4e-6
    assert joules(energy, 3000, moved, 4e-6) == pytest.approx(by_hand)


def test_energy_of_a_layer_by_hand(tmp_path: Path) -> None:
    """Without caches registers face memory: a filter per strip of pixels, a pixel per tile."""
    energy = Energy(2e-12, {"memory": 100e-12}, 0.25, "a test")
    machine = board(isa="scalar", caches=(), energy=energy)
    choice, plan = decided(pointwise(8, 16, 4), machine, tmp_path)
    found = predict(choice, plan, machine)
    (layer,) = [entry for entry in choice.layers if entry.macs]
    macs = 8 * 16 * 4 * 4
    mr, nr = (int(str(layer.plan[key])) for key in ("mr", "nr"))
    loaded = 4 * macs / mr + 4 * macs / nr
    written = 4 * 16 * 4 * 4
    assert found.ms is not None
    by_hand = macs * 2e-12 + (loaded + written) * 100e-12 + found.ms * 1e-3 * 0.25
    assert found.mj == pytest.approx(1e3 * by_hand)


def test_time_of_streamed_constants_by_hand(tmp_path: Path) -> None:
    """A matrix that no cache holds: it comes from memory, and the multiply-adds hide behind it."""
    model = dense(2048, 1024)
    choice, plan = decided(model, board(), tmp_path)
    (layer,) = choice.layers
    filters = sum(blob.bytes for blob in layer.blobs)
    slots = layer.work.slots
    waiting = (filters + 4 * (2048 + 1024)) / 2e9
    overhead, compute = LAYER_CYCLES / GHZ, slots / GHZ
    found = predict(choice, plan, board())
    assert found.layers[0].bound_by == MEMORY
    seconds = overhead + waiting + EXPOSED * compute
    assert found.ms == pytest.approx(1e3 * seconds, rel=0.01)


@pytest.mark.parametrize(
    ("model", "machine", "bound_by"),
    [
        (pointwise(256, 256, 14), board(), COMPUTE),
        (pointwise(4, 4, 1), board(), OVERHEAD),
        (dense(2048, 1024), board(), MEMORY),
        (dense(256, 128), board(caches=(CACHES[0], replace(CACHES[1], bandwidth=4.0))), "L2"),
    ],
)
def test_bound_by(model: onnx.ModelProto, machine: Board, bound_by: str, tmp_path: Path) -> None:
    found = predicted(model, machine, tmp_path)
    assert max(found.layers, key=lambda layer: layer.ms or 0).bound_by == bound_by


def test_constants_of_firmware_come_from_flash(tmp_path: Path) -> None:
    machine = boards.load("nrf52840")
    energy = Energy(0.0, MappingProxyType({"flash": 1e-9}), 0.0, "a test")
    slow = tuple(replace(r, bandwidth=1e6 if r.is_flash else 1e9) for r in machine.memory)
    found = predicted(dense(256, 64), replace(machine, memory=slow, energy=energy), tmp_path)
    (layer,) = found.layers
    assert layer.bound_by == machine.flash[0].name
    constants = 4 * 256 * 64
    assert layer.mj == pytest.approx(1e3 * constants * 1e-9)
    assert layer.ms == pytest.approx(1e3 * constants / 1e6, rel=0.2)


@given(
    compute=st.floats(0, 1),
    memory=st.dictionaries(st.sampled_from(["L2", "L3", "DRAM"]), st.floats(0, 1), min_size=1),
    more=st.floats(0, 1),
    exposed=st.sampled_from([0.2, 1.0]),
)
def test_more_work_takes_no_less_time(
    compute: float, memory: dict[str, float], more: float, exposed: float
) -> None:
    time = Duration(1e-6, compute, memory, exposed)
    assert replace(time, compute=compute + more).seconds >= time.seconds
    for level, spent in memory.items():
        assert replace(time, memory={**memory, level: spent + more}).seconds >= time.seconds
    parts = 1e-6 + compute + sum(memory.values())
    assert time.seconds <= parts * (1 + 1e-9)


@pytest.mark.parametrize("isa", ["scalar", "neon", "portable"])
@pytest.mark.parametrize("in_c", [16, 64])
def test_time_grows_with_the_layer(isa: str, in_c: int, tmp_path: Path) -> None:
    machine = board(isa=isa)
    base = milliseconds(pointwise(in_c, 32, 8), machine, tmp_path)
    assert milliseconds(pointwise(2 * in_c, 32, 8), machine, tmp_path) > base
    assert milliseconds(pointwise(in_c, 64, 8), machine, tmp_path) > base
    assert milliseconds(pointwise(in_c, 32, 16), machine, tmp_path) > base


@pytest.mark.parametrize("isa", ["scalar", "neon"])
def test_a_faster_board_is_faster(isa: str, tmp_path: Path) -> None:
    model = onnx_models.residual(channels=64, size=65)
    base = milliseconds(model, board(isa=isa), tmp_path)
    faster = replace(DRAM, bandwidth=8e9)
    assert milliseconds(model, board(isa=isa, clock_hz=2 * GHZ), tmp_path) < base
    assert milliseconds(model, board(isa=isa, macs_per_cycle=8.0), tmp_path) < base
    assert milliseconds(model, board(isa=isa, memory=(faster,)), tmp_path) < base


def test_in_order_loads_take_time(tmp_path: Path) -> None:
    """A scalar core computes or loads; a vector unit hides its loads behind the multiply-adds."""
    model = onnx_models.convolution(16, 16, (1, 16, 8, 8))
    moves = {}
    for isa in ("scalar", "portable"):
        choice, _ = decided(model, board(isa=isa, caches=()), tmp_path)
        moves[isa] = max(choice.layers, key=lambda entry: entry.macs).work.moves
    assert moves["scalar"] > 0 == moves["portable"]


def test_padding_is_no_work(tmp_path: Path) -> None:
    choice, _ = decided(onnx_models.convolution(16, 16, (1, 16, 4, 4)), board(), tmp_path)
    layer = max(choice.layers, key=lambda entry: entry.macs)
    met = (1 - 2 / 12) ** 2  # of 4 x 3 taps in a row of 4 outputs, 2 lie on padding
    planned = float(str(layer.plan["predicted_slots"]))
    assert layer.work.slots == pytest.approx(met * planned)


def test_views_cost_nothing(tmp_path: Path) -> None:
    machine = board(energy=Energy(1e-12, {"memory": 1e-10}, 1.0, "a test"))
    choice, plan = decided(onnx_models.residual(), machine, tmp_path)
    found = predict(choice, plan, machine)
    layers = [choice.layers[index] for index in plan.order]
    views = [p for layer, p in zip(layers, found.layers, strict=True) if layer.algorithm == "view"]
    assert views
    for view in views:
        assert (view.ms, view.mj, view.bound_by) == (0.0, 0.0, None)
        assert view.traffic.lower_bound == 0


def test_traffic_of_other_layers_is_what_they_must_move(tmp_path: Path) -> None:
    machine = board()
    choice, plan = decided(onnx_models.residual(), machine, tmp_path)
    found = predict(choice, plan, machine)
    for index, layer in zip(plan.order, found.layers, strict=True):
        moved, bound = layer.traffic.bytes, layer.traffic.lower_bound
        assert bound is not None
        assert moved["L3"] is None
        if level_traffic := choice.layers[index].traffic:
            assert moved["L2"] == math.ceil(level_traffic[0].total)
            assert moved["DRAM"] == math.ceil(level_traffic[1].total)
            assert moved["DRAM"] >= bound
        else:
            assert moved["L2"] == moved["DRAM"] == bound
    softmax = found.layers[[choice.layers[i].algorithm for i in plan.order].index("softmax")]
    assert softmax.traffic.lower_bound == 4 * (6 + 6)


def test_no_traffic_without_caches(tmp_path: Path) -> None:
    found = predicted(onnx_models.residual(), board(isa="scalar", caches=()), tmp_path)
    assert {layer.traffic.lower_bound for layer in found.layers} == {None}
    assert {size for layer in found.layers for size in layer.traffic.bytes.values()} == {None}


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.integers(1024, 1 << 25))
def test_lost_grows_with_distance(near: float, more: float, size: int) -> None:
    assert 0 <= lost(near, size) <= lost(near + more, size) <= 1
    assert lost(SURELY_HELD * size, size) == 0
    assert lost(size, size) == 1


def test_missing_weighs_ages() -> None:
    use = Use(ArgKind.INPUT, "x", 300, (Touched(100, 10.0), Touched(200, 5000.0)))
    assert use.missing(1000) == 200
    assert use.missing(8) == 300
    assert use.missing(100_000) == 0


def test_others_evict_from_the_last_cache_alone() -> None:
    use = Use(ArgKind.INPUT, "x", 300, (Touched(100, 10.0), Touched(200, 10.0, 1e6)))
    assert use.missing(1000) == 0
    assert use.missing(1000, last=True) == 200


def test_what_others_bring_into_the_last_cache_takes_time(tmp_path: Path) -> None:
    """Constants of a network that fits it come from memory then, once a run is long enough."""
    quiet = board(caches=CACHES)
    assert quiet.caches[-1].others is None
    shared = replace(quiet, caches=(*CACHES[:-1], replace(CACHES[-1], others=1000.0)))
    choice, plan = decided(onnx_models.residual(), quiet, tmp_path)
    before, after = (predict(choice, plan, each) for each in (quiet, shared))
    assert before.ms is not None
    assert after.ms is not None
    assert after.ms > before.ms
    assert all(a.price >= b.price for a, b in zip(after.layers, before.layers, strict=True))


def test_operands_age_by_what_is_touched_between(tmp_path: Path) -> None:
    """Constants come round once per run; an input was written by the layer before."""
    choice, plan = decided(onnx_models.residual(), board(), tmp_path)
    found = uses(choice, plan)
    constants = sum(blob.bytes for layer in choice.layers for blob in layer.blobs)
    weights = [use for own in found for use in own if use.kind is ArgKind.WEIGHTS]
    assert weights
    for use in weights:
        (age,) = use.ages
        assert age.distance == constants + plan.arena_bytes
    for own in found:
        for use in own:
            assert sum(age.bytes for age in use.ages) == use.bytes
            assert all(0 < age.distance <= constants + plan.arena_bytes for age in use.ages)


def test_an_input_that_is_the_residual_too_is_one_operand(tmp_path: Path) -> None:
    """A convolution that adds what it reads, and one that adds another tensor of that size."""
    rng = np.random.default_rng(3)
    constants = {"w": rng.standard_normal((16, 16, 3, 3), dtype=np.float32)}
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Sigmoid", ["x"], ["s"]),
        helper.make_node("Conv", ["r", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
    ]
    own, other = (
        onnx_models.model(
            [*nodes, helper.make_node("Add", ["c", added], ["y"])],
            {"x": (1, 16, 16, 16)},
            {"y": None, "r": None, "s": None},
            constants,
        )
        for added in "rs"
    )
    size, distances, near = 4 * 16 * 16 * 16, [], []
    for model, read in ((own, 1), (other, 2)):
        choice, plan = decided(model, board(), tmp_path)
        conv = next(i for i, layer in enumerate(choice.layers) if layer.node.name == "conv")
        found = uses(choice, plan)[plan.order.index(conv)]
        inputs = [use.bytes for use in found if use.kind is ArgKind.INPUT]
        assert inputs == [size] * read
        nearby = between_neighbours(choice.layers[conv], choice.graph.tensors, 0)
        distances.append(nearby[0].ages[0].distance)
        near.append([use.bytes for use in nearby if use.kind is ArgKind.INPUT])
    assert near == [[size], [size] * 2]
    assert distances[1] - distances[0] == size


def test_every_activation_has_a_cost() -> None:
    header = headers.find("ec_activation.h")
    (names,) = re.findall(r"enum ec_act \{(.*?)\}", header.read_text(), re.S)
    kinds = {name.strip().removeprefix("EC_ACT_").lower() for name in names.split(",")}
    assert set(FUNCTIONS) == kinds


def test_what_a_prediction_is_held_against(tmp_path: Path) -> None:
    pi = boards.load("raspberry-pi-4")
    known = deviation_of(pi, threads=1)
    found = predicted(dense(64, 32), pi, tmp_path)
    assert found.deviation == known
    assert known is not None
    assert found.time_source.endswith(f"; {known.words}")
    least, most = known.programs
    assert 0 < least < most
    assert known.model_mean < known.model_most
    assert f"{least:.2f} to {most:.2f} times as long on a model of Cortex-A72" in known.words
    assert deviation_of(pi, threads=2) is None
    assert deviation_of(boards.load("stm32h743"), threads=1) is None


def test_what_is_said_to_be_off_is_what_the_docs_have() -> None:
    """Every row of emitted programs lies within the range of its core, and the ends are rows."""
    text = (Path(__file__).parents[2] / "docs/prediction.md").read_text(encoding="utf-8")
    table = text[text.index("**Emitted programs**") :].partition("## ")[0]
    pair = r"([\d.]+), ([\d.]+): \d?\.\d+"
    rows = [line.split("|")[2:5] for line in table.splitlines() if re.search(pair, line)]
    assert len(rows) >= 5
    for pi, cells in zip(("3", "4", "5"), zip(*rows, strict=True), strict=True):
        known = deviation_of(boards.load(f"raspberry-pi-{pi}"), threads=1)
        assert known is not None
        found = [match.groups() for cell in cells if (match := re.search(pair, cell))]
        least, most = (f(float(a) / float(b) for a, b in found) for f in (min, max))
        assert known.programs == pytest.approx((least, most), abs=0.015)  # of rounded times
