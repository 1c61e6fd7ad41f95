"""Distances follow from latencies and the cycles of a step, and cost less than they spare."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from edgeconv.app.pipeline import CompileOptions, compile_model
from edgeconv.codegen.amalgamate import amalgamate
from edgeconv.codegen.guarded import LOADS_IN_ORDER, PREFETCH, WORKERS, for_program
from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.ir.work import Work
from edgeconv.kernels.algorithms.direct.plan import make_plan
from edgeconv.kernels.algorithms.direct.tiles import filters_are_far
from edgeconv.kernels.algorithms.int8_packed.lower import fetches_filters
from edgeconv.kernels.algorithms.prefetch import fetches, latency, rounds
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.winograd.forms import forms_for
from edgeconv.kernels.algorithms.winograd.plan import make_plans
from edgeconv.kernels.algorithms.winograd.prefetch import CHANNELS, prefetch_distances
from edgeconv.kernels.lowering.calls import merge_headers
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.price.duration import EXPOSED, IN_ORDER, duration_of
from edgeconv.target.price.flows import Flow
from edgeconv.target.price.machine import machine_of
from edgeconv.target.targets import PANELS, Target
from tests import onnx_models
from tests.unit.test_direct_plan import FAR

ASKED = ("raspberry-pi-3", "raspberry-pi-zero-2-w", "quartz64-a", "odroid-xu3-a7")
LINES = 64.0 * 1000


@pytest.fixture
def target() -> Target:
    """3 cycles to the first cache, 16 to the second, 235 to the memory."""
    return boards.load("raspberry-pi-3").target


def test_who_is_asked() -> None:
    asked = {name for name in boards.names() if fetches(boards.load(name).target)}
    assert asked == set(ASKED)


def test_a_single_row_out_of_order_fetches_no_filters(target: Target) -> None:
    sizes = ((1, 1, 1),) * 4
    row = ConvProblem(1, 64, 64, 1, *sizes, (1, 1, 1), (0, 0, 0), ROW_MAJOR, ROW_MAJOR)
    for in_order, batch, asked in ((False, 1, False), (False, 2, True), (True, 1, True)):
        core = replace(target, prefetch=True, in_order=in_order)
        assert fetches_filters(replace(row, batch=batch), core) is asked
        assert not fetches_filters(row, replace(core, prefetch=False))


def test_it_is_the_latency_of_the_farthest_level_that_matters(target: Target) -> None:
    assert latency([LINES, LINES], target, 0) == 235
    assert latency([LINES, 0], target, 0) == 16
    assert latency([LINES, LINES / 1000], target, 0) == 16


def test_no_more_is_spent_than_spared(target: Target) -> None:
    near = 16 - 3 - 4  # less what passes between a load and its use
    assert latency([LINES, 0], target, 1000 * near - 1) == 16
    assert latency([LINES, 0], target, 1000 * near) == 0
    assert latency([LINES, 0], target, 500 * near, together=2) == 0
    assert latency([0, 0], target, 0) == 0


def test_a_distance_is_whole_rounds() -> None:
    assert rounds(235, 100) == 3
    assert rounds(200, 100) == 2
    assert rounds(0, 100) == 0


def test_what_is_not_stated_is_not_guessed(target: Target) -> None:
    assert not fetches(replace(target, memory_cycles=None))
    assert not fetches(replace(target, caches=target.caches[:1]))
    silent = tuple(replace(cache, latency=None) for cache in target.caches)
    assert not fetches(replace(target, caches=silent))


def test_programs_without_prefetch_have_none_of_it() -> None:
    headers = ("ec_decode.h", "ec_strips.h", "ec_window.h", "ec_conv_sums.h", "ec_conv_direct.h")
    without = "".join(amalgamate(TARGETS["neon"].header, headers))
    assert "prefetch_filters" not in without
    assert "EC_PREFETCH_DISTANCES" not in without
    prefetch = (*headers[:-2], "ec_prefetch.h", *headers[-2:])
    assert "prefetch_filters" in "".join(amalgamate(TARGETS["neon"].header, prefetch))


def test_fetches_are_declared_in_front_of_all_kernels() -> None:
    """A layer that fetches nothing comes first, and its header has fetches all the same."""
    headers = ("ec_strips.h", "ec_window.h", "ec_conv_sums.h", "ec_conv_direct.h")
    later = ("ec_strips.h", "ec_window.h", "ec_prefetch.h", "ec_conv_depthwise.h")
    text = "".join(amalgamate(TARGETS["neon"].header, merge_headers([headers, later])))
    made, *uses = (found.start() for found in re.finditer(r"\bec_fetch_run\(", text))
    assert text[:made].endswith("EC_INLINE void ")
    assert len(uses) > 1


def test_parts_are_kept_or_left_out() -> None:
    text = "a\n#ifdef EC_PREFETCH_DISTANCES\nb\n#endif\nc\n"
    assert for_program(text, {PREFETCH: True}) == "a\nb\nc\n"
    assert for_program(text, {PREFETCH: False}) == "a\nc\n"
    assert for_program(text, {WORKERS: True}) == text


def test_register_tiles_are_those_of_the_core(target: Target) -> None:
    assert "ec_tile_four" in "".join(amalgamate(target.header, ()))
    assert "ec_tile_four" not in "".join(amalgamate(replace(target, in_order=False).header, ()))
    assert LOADS_IN_ORDER not in "".join(amalgamate(TARGETS["neon"].header, ()))


@pytest.mark.parametrize("name", ["raspberry-pi-3", "raspberry-pi-4"])
def test_programs_have_the_register_tiles_of_their_core(name: str, tmp_path: Path) -> None:
    """Loads in order on a Cortex-A53, runs of filters on a Cortex-A72."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
    weights = {"w": np.ones((16, 16, 1, 1), np.float32)}
    onnx.save(
        onnx_models.model(nodes, {"x": (1, 16, 8, 8)}, {"y": None}, weights), tmp_path / "m.onnx"
    )
    compile_model(CompileOptions(tmp_path / "m.onnx", name, name="net"), tmp_path / "net")
    headers = (tmp_path / "net" / "net_runtime.h").read_text()
    in_order = boards.load(name).target.in_order
    assert in_order is (name == "raspberry-pi-3")
    assert ("ec_load_in_order(" in headers) is in_order
    assert ("ec_load_run(" in headers) is not in_order


def test_waiting_counts_whole_unless_lines_are_fetched(target: Target) -> None:
    """What fetches take is among the instructions."""
    machine = machine_of(target)
    work = Work(slots=1e6, moves=0, weight_bytes=1e6, data_bytes=0)
    moved = [Flow(filters=1e6, data=0, total=1e6)] * len(machine.sizes)
    waits = duration_of(work, moved, (), machine)
    fetched = duration_of(replace(work, fetches=1e6 / 64), moved, (), machine)
    assert (waits.exposed, fetched.exposed) == (IN_ORDER, EXPOSED)
    assert fetched.compute == pytest.approx(waits.compute + 1e6 / 64 * machine.cycle)
    assert fetched.seconds < waits.seconds
    hurried = machine_of(replace(target, in_order=False))
    assert duration_of(work, moved, (), hurried).exposed == EXPOSED


@pytest.mark.parametrize(("channels", "far"), [(256, True), (16, False)])
def test_tiles_of_winograd_are_fetched_on_cores_in_order(channels: int, far: bool) -> None:
    """So many channels ahead that the memory answers meanwhile; filters where the second cache does
    not hold them."""
    (form, *_), *_ = forms_for(3, 3)
    problem = replace(FAR, in_c=channels, out_c=channels, winograd_forms=(form,))
    for name in ("raspberry-pi-3", "quartz64-a", "raspberry-pi-4"):
        target = boards.load(name).target
        plan = next(make_plans(problem, target))
        prefetch = prefetch_distances(problem, plan, target)
        if not target.in_order:
            assert not prefetch.params
            continue
        assert prefetch.params["prefetch"] is False
        steps = prefetch.tiles // (4 * plan.rows)
        assert prefetch.filters == (4 * steps * plan.vectors * target.lanes if far else 0)
        cycles = target.tile_slots(target.kernel(PANELS), plan.rows, plan.vectors)  # 4 lanes each
        assert target.memory_cycles
        assert steps * cycles >= target.memory_cycles > (steps - CHANNELS) * cycles


@pytest.mark.parametrize(
    ("board", "line"), [("stm32h743", 32), ("power10-s1024", 128), ("raspberry-pi-4", 64)]
)
def test_lines_are_those_of_the_boards_nearest_cache(board: str, line: int) -> None:
    assert boards.load(board).target.line_bytes == line
    text = "".join(amalgamate("ec_isa_portable.h", (), line_bytes=line))
    assert re.findall(r"#define EC_LINE_BYTES .*", text) == [f"#define EC_LINE_BYTES {line}"]


def test_a_core_without_a_cache_has_all_filters_near_and_fetches_none() -> None:
    without = boards.load("mps2-an500").target
    assert without.line_bytes == 0
    assert filters_are_far(FAR, boards.load("stm32h743").target)
    assert not filters_are_far(FAR, without)
    assert make_plan(FAR, without).channels == 0
