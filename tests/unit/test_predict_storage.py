"""Storage formats in predicted traffic, time and energy: each test fails if they are ignored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import paper_energy
import pytest
from onnx import helper

from edgeconv.ir.candidate import Candidate
from edgeconv.ir.encoding import FLOAT32, INT8, Encoding, int8
from edgeconv.ir.layout import ROW_MAJOR, blocked
from edgeconv.kernels.algorithms import algorithms
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.storage import formats
from edgeconv.model import frontend, passes
from edgeconv.search import choose, memory
from edgeconv.search.choose.storage import weight_formats
from edgeconv.search.predict import Prediction, predict
from edgeconv.search.predict.traffic import precision_of
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.board import Board, Energy, Memory
from edgeconv.target.cache import Cache
from edgeconv.target.targets import QUANTISED, Target
from tests import onnx_models

CACHES = (Cache(1, 32 << 10, 64, 4, 8, 32.0), Cache(2, 256 << 10, 64, 12, 8, 16.0))
ENERGY = Energy(1e-12, {"memory": 1e-9}, 0.0, "a test")
FILTERS = {"flyte24": 3 / 4, "flyte16": 1 / 2, "flyte8": 1 / 4, "int8": 1 / 4, "int4": 1 / 8}
SIZE = 20
IMAGES = {name: FILTERS[name] for name in ("flyte24", "flyte16", "flyte8")}


def board(isa: str = "neon", **changes: object) -> Board:
    """Four multiply-adds per cycle at 1 GHz, two caches, 2 GB/s."""
    stated = {
        "clock_hz": 1_000_000_000,
        "macs_per_cycle": 4.0,
        "caches": CACHES,
        "memory": (Memory("DDR", "dram", 1 << 30, bandwidth=2e9),),
        "energy": ENERGY,
    }
    return replace(boards.load("generic-c"), isa=isa, **{**stated, **changes})  # type: ignore[arg-type]


def problem(algorithm: str, lanes: int, channels: int = 64, size: int = SIZE) -> ConvProblem:
    """3 x 3, padded; every channel alone for depthwise."""
    layout = ROW_MAJOR if algorithm == "sconv" else blocked(lanes)
    square = (1, size, size)
    return ConvProblem(
        batch=1,
        in_c=channels,
        out_c=channels,
        groups=channels if algorithm == "depthwise" else 1,
        in_size=square,
        out_size=square,
        kernel=(1, 3, 3),
        strides=(1, 1, 1),
        dilations=(1, 1, 1),
        pads=(0, 1, 1),
        in_layout=layout,
        out_layout=layout,
    )


def target() -> Target:
    return board().target


def predicted(model: onnx.ModelProto, machine: Board, folder: Path, storage: str) -> Prediction:
    graph = passes.optimise(frontend.load(onnx_models.save(model, folder / "net.onnx")))
    choice = choose.select(graph, machine.target, storage={"*": storage})
    return predict(choice, memory.plan(choice), machine)


def dense(in_c: int, out_c: int) -> onnx.ModelProto:
    weights = np.ones((in_c, out_c), np.float32)
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="dense")
    return onnx_models.model([node], {"x": (1, in_c)}, {"y": None}, {"w": weights})


def only(algorithm: str, of: ConvProblem, machine: Target) -> Candidate:
    (found,) = algorithms()[algorithm].candidates(of, machine)
    return found


@pytest.mark.parametrize("algorithm", ["direct", "depthwise", "sconv"])
@pytest.mark.parametrize("storage", ["flyte24", "flyte16", "int4"])
def test_filters_cross_memory_as_they_are_stored(algorithm: str, storage: str) -> None:
    plain = problem(algorithm, target().lanes)
    before, after = (
        only(algorithm, replace(plain, filters_as=formats()[name].encoding), target()).traffic[-1]
        for name in ("float32", storage)
    )
    assert after.filters <= FILTERS[storage] * before.filters * 1.001
    least = plain.out_c * plain.group_in_c * 9 * 4 * FILTERS[storage]
    assert after.filters >= least * 0.999


@pytest.mark.parametrize("algorithm", ["direct", "depthwise", "sconv"])
@pytest.mark.parametrize("storage", ["flyte16", "flyte8"])
def test_images_cross_memory_as_they_are_stored(algorithm: str, storage: str) -> None:
    plain = problem(algorithm, target().lanes)
    form = formats()[storage].encoding
    stored = replace(plain, in_as=form, out_as=form)
    before, after = (only(algorithm, each, target()).traffic[-1] for each in (plain, stored))
    least = plain.in_c * SIZE * SIZE * 4 * IMAGES[storage]
    assert least * 0.999 <= after.input < before.input * (1 + IMAGES[storage]) / 2
    assert least * 0.999 <= after.output_writes < before.output_writes * (1 + IMAGES[storage]) / 2


@pytest.mark.parametrize("storage", ["flyte16", "int4"])
def test_a_matrix_waits_for_fewer_bytes(storage: str, tmp_path: Path) -> None:
    """A dense layer that no cache holds takes the time and the energy of its bytes."""
    before = predicted(dense(2048, 2048), board(), tmp_path, "float32")
    after = predicted(dense(2048, 2048), board(macs_per_cycle=64.0), tmp_path, storage)
    assert before.ms and after.ms and before.mj and after.mj  # noqa: PT018
    assert after.mj == pytest.approx(FILTERS[storage] * before.mj, rel=0.05)
    assert after.ms == pytest.approx(FILTERS[storage] * before.ms, rel=0.35)
    assert after.ms < before.ms


@pytest.mark.parametrize("name", TARGETS)
def test_every_format_that_kernels_read_has_a_price(name: str) -> None:
    stored = weight_formats().keys() - {"float32"}
    assert {entry.storage for entry in TARGETS[name].decodings} == stored | {QUANTISED}
    price = TARGETS[name].decoding(int8(0.5, 3))
    assert price.storage == QUANTISED
    assert price.vector >= TARGETS[name].decoding(INT8).vector


@pytest.mark.parametrize("storage", ["flyte24", "int8"])
def test_decoding_by_hand(storage: str, tmp_path: Path) -> None:
    """A vector of filters once per strip of output pixels; its slots need time and energy."""
    weights = np.ones((64, 64, 1, 1), np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv")
    model = onnx_models.model([node], {"x": (1, 64, 14, 14)}, {"y": None}, {"w": weights})
    graph = passes.optimise(frontend.load(onnx_models.save(model, tmp_path / "net.onnx")))
    machine = board(caches=())  # where filters are not decoded to memory
    tile = machine.target
    choice = choose.select(graph, tile, algorithms={"conv": "direct"}, storage={"*": storage})
    (layer,) = [entry for entry in choice.layers if entry.macs]
    work = layer.work
    vectors = layer.macs / float(str(layer.plan["mr"])) / tile.lanes
    assert work.decoding == pytest.approx(
        vectors * tile.decoding(formats()[storage].encoding).vector
    )
    assert precision_of(layer, choice.graph).filter == FILTERS[storage]
    costly = layer.macs * 1e-12 + work.decoding * tile.lanes * 1e-12
    machine = replace(machine, energy=replace(ENERGY, byte={}))
    found = predict(choice, memory.plan(choice), machine)
    assert sum(entry.mj or 0 for entry in found.layers) == pytest.approx(1e3 * costly)


def test_plans_count_decoding() -> None:
    """A direct convolution costs more where decoding does, and float32 what it always did."""
    machine = boards.load("odroid-xu3").target
    every = [problem("direct", machine.lanes, channels, 14) for channels in (64, 128, 256, 512)]
    free = replace(machine, decodings=())
    for plain in every:
        stored = replace(plain, filters_as=Encoding(24))
        here, there = (
            {each.filters_as: only("direct", each, t).work.slots for each in (plain, stored)}
            for t in (machine, free)
        )
        assert here[Encoding(24)] > there[Encoding(24)] == there[FLOAT32] == here[FLOAT32]


# Table 4.1: filters that exceed L2, images that do, three channels.
SOME = ((14, 14, 512, 512, 3), (56, 56, 64, 64, 3), (35, 35, 64, 96, 3), (224, 224, 3, 32, 3))


def test_order_of_energy() -> None:
    """flyte24 takes the most.  Decoded once, flyte8 takes the least where images or filters of one
    pass leave L1 (the paper's order by the number of layers that gain)."""
    machine = boards.load("odroid-xu3")
    for once in (False, True):
        case = paper_energy.Case(images=True, once=once, truncated=True)
        found = {
            (shape, name): paper_energy.energy_and_time(shape, name, machine, case)[0]
            for shape in SOME
            for name in ("float32", *paper_energy.FORMATS)
        }
        for shape in SOME:
            assert found[shape, "flyte24"] > found[shape, "flyte16"]
            assert found[shape, "flyte24"] > found[shape, "flyte8"]
    # Decoded once, what memory no longer moves shows, and the more the fewer bytes there are.
    for shape in SOME[1:3]:
        order = [found[shape, name] for name in ("flyte8", "flyte16", "flyte24", "float32")]
        assert order == sorted(order)
