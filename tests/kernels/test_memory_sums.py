"""Micro-kernels whose sums are memory: how often their mode is entered, what waits, what it costs.

What they compute is tested where all micro-kernels are: test_sconv.py, test_winograd.py,
test_attention.py, test_int8_packed.py, test_int8_winograd.py and the random geometries.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.headers import include_flags
from edgeconv.kernels.ops.attention import plan_of
from edgeconv.target.backends import TARGETS
from edgeconv.target.micro_kernel import MicroKernel
from edgeconv.target.targets import Target
from tests import toy
from tests.kernels import builds
from tests.kernels.cases import Build, Case
from tests.kernels.programs import Program, compile_program, values_of
from tests.kernels.test_attention import operands, spec
from tests.kernels.test_conv import conv
from tests.kernels.test_int8_packed import SMALL, packed
from tests.kernels.test_integer_layers import layer
from tests.kernels.test_sconv import SCHEDULES, TINY, sconv
from tests.kernels.test_winograd import SQUARE, winograd

SAME = (1, 1, 1, 1)


@pytest.fixture
def counting() -> Build:
    """Programs that say on stderr how often the mode was entered."""
    found = builds.native(TARGETS["portable"], "gcc")
    return replace(found, compiler=(*found.compiler, "-DEC_TOY_COUNTS"))


@pytest.fixture
def build(counting: Build) -> Iterator[Build]:
    """The same, of a backend whose micro-kernels sum in memory."""
    with builds.memory_backends():
        yield replace(counting, target=TARGETS[builds.in_memory("portable")])


def beside_those_in_registers(isa: str, change: Callable[[MicroKernel], MicroKernel]) -> Target:
    """An ISA with its own micro-kernels and those that sum in memory, changed so."""
    toys = (row for row in TARGETS[builds.in_memory(isa)].kernels if row.memory_sums)
    target = TARGETS[isa]
    return toy.with_kernels(target, map(change, (*target.kernels, *toys)))


def entered(build: Build, case: Case, folder: Path) -> int:
    """How often the mode is, in a run of ``case``."""
    program = Program(build.target)
    program.add(case, ())
    binary = compile_program(build, program, folder)
    data = b"".join(values_of(case))
    done = subprocess.run([str(binary)], input=data, capture_output=True, check=True)
    (count,) = re.findall(rb"entered (\d+)", done.stderr)
    return int(count)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sconv_enters_as_often_as_planned(schedule: str, build: Build, folder: Path) -> None:
    """Several sets of channels, chunks of either operand, groups and images; caches of which each
    schedule has several tiles."""
    levels = tuple(replace(cache, size=3 * cache.size) for cache in TINY)
    tiny = replace(build.target, caches=TINY if schedule == "WS" else levels)
    (case,) = sconv(conv((2, 60, 9, 20), 50, (3, 3), SAME, groups=2), tiny, schedule)
    assert isinstance(case.layer.candidate, ConvCandidate)
    plan, workspace = case.layer.candidate.plan, case.layer.candidate.workspace
    assert plan.slicing.channel_sets > 1
    assert plan.waiting.lines > 1
    assert workspace["waiting"] == plan.waiting.bytes
    assert entered(build, case, folder) == plan.entered > 8


@pytest.mark.parametrize("room", [1, 4096, 10**6])
def test_packed_rows_enter_as_often_as_planned(room: int, build: Build, folder: Path) -> None:
    """By as many lines as wait at a time: one, some, or all of a panel under all filters."""

    kernels = [replace(row, waiting=room) for row in build.target.kernels]
    roomy = toy.with_kernels(build.target, kernels)
    few = replace(build, target=replace(roomy, caches=SMALL))
    (case,) = packed(layer((2, 40, 13, 9), (23, 40, 3, 3), {"pads": SAME}), few)
    assert isinstance(case.layer.candidate, ConvCandidate)
    plan = case.layer.candidate.plan
    assert plan.chunk < plan.rows
    assert entered(build, case, folder) == 2 * plan.entered
    panels, tiles = -(-13 // plan.chunk), -(-23 // plan.vectors)
    of_all = {1: 13 * tiles, 10**6: panels}
    assert plan.entered == of_all.get(room, plan.entered)
    assert panels <= plan.entered <= 13 * tiles
    words = plan.waiting.lines * plan.waiting.line
    assert 4 * words <= max(room, 4 * plan.waiting.line)
    assert case.layer.workspace_bytes == plan.panel.bytes + plan.waiting.bytes


def test_winograd_enters_once_for_a_strip_and_a_tile_of_filters(build: Build, folder: Path) -> None:
    small = replace(build.target, caches=SMALL)
    (case, *_) = winograd(SQUARE[0], conv((2, 5, 19, 23), 11, (3, 3), SAME)).cases(small)
    assert isinstance(case.layer.candidate, ConvCandidate)
    plan = case.layer.candidate.plan
    assert plan.strips > 1
    assert entered(build, case, folder) == 2 * plan.strips * -(-11 // plan.vectors)


def test_attention_enters_twice_for_a_panel_and_a_block(build: Build, folder: Path) -> None:
    """For scores, and for sums of values."""
    inputs, attrs = operands((9, 67, 5, 6), (2,), scale=0.4)
    attrs = {**attrs, "workspace": 1}
    (case,) = spec(inputs, attrs, (2, 9, 6)).cases(build.target)
    plan = plan_of(case.layer.node, build.target)
    panels, blocks = -(-9 // plan.vectors), -(-67 // plan.keys)
    assert min(panels, blocks) > 1
    assert entered(build, case, folder) == 2 * 2 * panels * blocks


@pytest.mark.parametrize(("enter", "own"), [(0.0, False), (1e9, True)])
def test_a_mode_that_is_dear_is_not_entered(enter: float, own: bool) -> None:
    """Of float32 and int8: sums in registers are taken where entering costs more than it gains."""

    def priced(row: MicroKernel) -> MicroKernel:
        return replace(row, enter=enter)

    with builds.memory_backends():
        target = beside_those_in_registers("avx2", priced)
        floats = conv((1, 64, 30, 30), 64, (3, 3), SAME)
        (case,) = sconv(floats, target)
        inputs, attrs = operands((64, 64, 64, 64))
        cases = [
            case,
            *winograd(SQUARE[0], floats).cases(target)[:1],
            *spec(inputs, attrs, (64, 64)).cases(target),
            *packed(
                layer((1, 64, 30, 30), (64, 64, 3, 3), {"pads": SAME}), builds.native(target, "gcc")
            ),
        ]
    chosen = [str(case.layer.params["micro_kernel"]) for case in cases]
    assert {name.endswith("_TOY") for name in chosen} == {not own}, chosen


def test_depth_in_multiples_is_for_what_fills_it_up() -> None:
    """Packed rows do; products of float32 take micro-kernels of any depth."""

    def deep(row: MicroKernel) -> MicroKernel:
        return replace(row, k_multiple=5) if row.memory_sums else row

    with builds.memory_backends():
        target = beside_those_in_registers("avx2", deep)
        assert [row.prefix for row in target.float_rows] == ["f32"]
        (case,) = packed(
            layer((1, 6, 5, 5), (9, 6, 3, 3), {"pads": SAME}), builds.native(target, "gcc")
        )
    assert case.layer.params["micro_kernel"] == "EC_ROW_S8_TOY"
    assert case.layer.params["k_multiple"] == 5
    assert isinstance(case.layer.candidate, ConvCandidate)
    assert case.layer.candidate.plan.panel.block == 5  # where two groups of four have all channels
    assert sum(blob.bytes for blob in case.layer.blobs) >= 5 * 4 * 9 * 9


MISUSE = """
#include "ec_common.h"
#include "ec_isa_portable.h"
#define EC_MEMORY_SUMS(ROW) ROW(f32_toy, F32_TOY)
#include "ec_toy_f32.h"
#include "ec_micro_kernel.h"
#define ENTER ec_row_enter(EC_ROW_F32_TOY, &jobs)
#define JOB ec_row_job(EC_ROW_F32_TOY, &jobs, &job)
#define LEAVE ec_row_leave(EC_ROW_F32_TOY, &jobs)
int main(void)
{
    float words[4] = {0};
    ec_jobs jobs = {0};
    const ec_dot_job job = {.mr = 1, .nv = 1, .sums = words, .sums_row = 1};
    %s
    return words[0] != 0.0f;
}
"""


@pytest.mark.parametrize(
    ("statements", "ends"),
    [
        (
            "ENTER; JOB; LEAVE; ec_store(words, ec_load(words));",
            0,
        ),
        ("JOB;", None),
        ("ENTER; ENTER;", None),
        ("LEAVE;", None),
        ("ENTER; ec_store(words, ec_load(words));", None),
    ],
    ids=["in turn", "job outside", "entered twice", "left twice", "vectors inside"],
)
def test_the_toy_sees_what_is_out_of_turn(
    statements: str, ends: int | None, build: Build, folder: Path
) -> None:
    """What the tests of all kernels rely on."""
    source, binary = folder / "misuse.c", folder / "misuse"
    source.write_text(MISUSE % statements)
    command = [build.compiler[0], "-std=c11", *include_flags(), str(source), "-o", str(binary)]
    subprocess.run(command, check=True)
    status = subprocess.run([str(binary)], check=False, capture_output=True).returncode
    assert status == 0 if ends == 0 else status < 0
