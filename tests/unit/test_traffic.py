"""Predicted traffic of every algorithm: what always holds, and against a cache simulator."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.ir.encoding import Encoding
from edgeconv.ir.layout import CHANNELS_LAST, ROW_MAJOR, blocked
from edgeconv.kernels.algorithms import algorithms
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.sums import Facts
from edgeconv.kernels.algorithms.traffic import Runs, lost
from edgeconv.kernels.algorithms.winograd.forms import forms_for
from edgeconv.target import board as boards
from edgeconv.target import host
from edgeconv.target.backends import TARGETS
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target
from tests import ROOT

SCRIPT = ROOT / "bench" / "traffic.py"
WAY = 4096  # bytes of 64 sets of one line
CACHE = Cache(1, 8 * WAY, 64, ways=8)


def test_one_set_holds_what_fits() -> None:
    full = Cache(1, 32 * 1024, 64)
    assert lost(full, Runs(1, 16 * 1024), Runs(4, 4 * 1024)) == 0
    assert lost(full, Runs(1, 16 * 1024), Runs(4, 4 * 1024), Runs(1, 64)) == 1


def test_a_run_that_exceeds_the_cache_is_lost_where_sets_overflow() -> None:
    """Of nine ways' worth of lines every set gets nine; of 8.5 half of the sets do."""
    assert lost(CACHE, Runs(1, 8 * WAY)) == 0
    assert lost(CACHE, Runs(1, 9 * WAY)) == 1
    assert lost(CACHE, Runs(1, 8.5 * WAY)) == pytest.approx(0.5 * 9 / 8.5)


def test_runs_a_multiple_of_the_sets_apart_collide() -> None:
    line = Runs(1, 64)
    assert lost(CACHE, Runs(9, 64, pitch=WAY)) == 1
    assert lost(CACHE, Runs(8, 64, pitch=WAY)) == 0
    assert lost(CACHE, Runs(9, 64)) < 1e-9
    assert lost(CACHE, line, Runs(8, WAY / 2, pitch=WAY)) == pytest.approx(0.5)
    assert lost(CACHE, line, Runs(8, WAY / 2, pitch=WAY + WAY // 2)) == 0
    assert 0 < lost(CACHE, line, Runs(8, WAY / 2)) < 0.01


def test_a_board_may_state_ways() -> None:
    assert [cache.ways for cache in boards.load("x86-64-v3").caches] == [8, 8]
    assert boards.load("power10-s1024").caches[2].ways is None


def meetings(problem: ConvProblem, axis: int) -> set[tuple[int, int]]:
    """Pairs of a kernel position and an input position that some output multiplies."""
    step, dilation = problem.strides[axis], problem.dilations[axis]
    pairs = {
        (k, y * step - problem.pads[axis] + k * dilation)
        for y in range(problem.out_size[axis])
        for k in range(problem.kernel[axis])
    }
    return {(k, at) for k, at in pairs if 0 <= at < problem.in_size[axis]}


def least_bytes(problem: ConvProblem) -> tuple[int, int, int]:
    """Of input, filters and output elements that take part at all."""
    pairs = [meetings(problem, axis) for axis in range(3)]
    image = problem.batch * problem.in_c * math.prod(len({at for _, at in p}) for p in pairs)
    taps = math.prod(len({k for k, _ in p}) for p in pairs)
    result = problem.batch * problem.out_c * math.prod(problem.out_size)
    weights = problem.out_c * problem.group_in_c * taps
    filters = round(problem.filter_bytes * weights)
    return round(problem.in_bytes * image), filters, round(problem.out_bytes * result)


@st.composite
def axes(draw: st.DrawFn) -> tuple[int, int, int, int, int, int]:
    """in_size, out_size, kernel, stride, dilation and pad of one dimension."""
    kernel, stride = draw(st.sampled_from([1, 1, 2, 3, 3, 5, 7])), draw(st.integers(1, 3))
    dilation = draw(st.sampled_from([1, 1, 2]))
    reach = (kernel - 1) * dilation + 1
    pad = draw(st.integers(0, reach // 2))
    size = draw(st.integers(max(1, reach - 2 * pad), 70))
    return size, (size + 2 * pad - reach) // stride + 1, kernel, stride, dilation, pad


@st.composite
def minimal(
    draw: st.DrawFn, most: int, taps: Sequence[int] = (2, 3, 4, 5, 7)
) -> tuple[int, int, int, int, int, int]:
    """The same of a dimension that Winograd has a form for, with strides up to ``most`` or, where
    that is 0, with dilation; of so many taps in a phase."""
    if not most:
        kernel, dilation = draw(st.sampled_from([2, 3, 5])), draw(st.integers(2, 4))
        size = draw(st.integers(dilation * (kernel - 1) + 1, 70))
        return size, size - dilation * (kernel - 1), kernel, 1, dilation, 0
    stride = draw(st.integers(1, most))
    kernel = stride * draw(st.sampled_from(taps)) - draw(st.integers(0, stride - 1))
    pad = draw(st.integers(0, kernel // 2))
    size = draw(st.integers(kernel, 70))
    return size, (size + 2 * pad - kernel) // stride + 1, kernel, stride, 1, pad


FLAT = (1, 1, 1, 1, 1, 0)
# What a core must have for those whose panels are rows.
FEATURES = {"bfloat16": "bfloat16", "int8_packed": "int8_dot", "int8_winograd": "int8_dot"}


@st.composite
def problems(draw: st.DrawFn, algorithm: str, lanes: int) -> ConvProblem:
    """Any convolution that ``algorithm`` may be given, in a layout that it reads."""
    deep = draw(axes()) if algorithm != "outer" and draw(st.integers(0, 7)) == 0 else FLAT
    sizes = list(zip(deep, draw(axes()), draw(axes()), strict=True))
    in_size, out_size, kernel, strides, dilations, pads = sizes
    groups = draw(st.sampled_from([1, 1, 1, 2, 5]))
    rows = algorithm in FEATURES
    in_c, out_c = (groups * draw(st.integers(1 + rows, 60)) for _ in range(2))
    reads = writes = ROW_MAJOR
    if algorithm == "depthwise":
        in_c = out_c = groups = draw(st.integers(2, 100))
        reads = writes = blocked(lanes)
    elif algorithm == "winograd":
        reads = writes = blocked(lanes)
        if groups > 1:
            in_c, out_c = (groups * lanes * draw(st.integers(2, 3)) for _ in range(2))
        most = draw(st.integers(0, 1 if groups > 1 else 3))
        plain = [FLAT, draw(minimal(most)), draw(minimal(most))]
        in_size, out_size, kernel, strides, dilations, pads = zip(*plain, strict=True)
    elif algorithm == "int8_winograd":
        reads = writes = CHANNELS_LAST
        plain = [FLAT, draw(minimal(1, [3])), draw(minimal(1, [3]))]
        in_size, out_size, kernel, strides, dilations, pads = zip(*plain, strict=True)
    elif rows:
        reads = writes = CHANNELS_LAST
    elif algorithm == "direct":
        reads = draw(st.sampled_from([blocked(lanes), CHANNELS_LAST, ROW_MAJOR]))
        writes = draw(st.sampled_from([blocked(lanes), CHANNELS_LAST]))
    batch = draw(st.integers(1, 3))
    spatial = (in_size, out_size, kernel, strides, dilations, pads)
    integers = algorithm.startswith("int8_")
    stored = Encoding(8 if integers else {"bfloat16": 16}.get(algorithm, 32))
    made = ConvProblem(batch, in_c, out_c, groups, *spatial, reads, writes, stored)
    if algorithm == "winograd":
        ways = forms_for(*kernel[1:], strides=strides[1:])
        allowed = draw(st.sampled_from([form for points in ways for form in points]))
        return replace(made, winograd_forms=(allowed,))
    if integers:
        facts = Facts(spare_bits=6)
        return replace(made, in_as=stored, out_as=stored, whole_sums=True, sum_facts=facts)
    if algorithm != "direct":
        return made
    image, result = (Encoding(draw(st.sampled_from([32, 16]))) for _ in range(2))
    return replace(made, in_as=image, out_as=result)


@st.composite
def targets(draw: st.DrawFn) -> Target:
    """An instruction set with three caches, each larger than the one before."""
    first, ways = draw(st.sampled_from([8192, 32768])), draw(st.sampled_from([None, 4, 8]))
    sizes = (first, 8 * first, 64 * first)
    caches = tuple(Cache(n, size, 64, ways=ways) for n, size in enumerate(sizes, 1))
    name = draw(st.sampled_from(["avx2", "avx512", "neon", "portable"]))
    return replace(TARGETS[name], caches=caches)


TESTED = [
    *("bfloat16", "depthwise", "direct", "int8_packed", "int8_winograd", "outer", "sconv"),
    "winograd",
]


@pytest.mark.parametrize("algorithm", TESTED)
@given(data=st.data(), target=targets())
def test_never_less_than_compulsory_and_never_more_behind_a_larger_cache(
    algorithm: str, data: st.DataObject, target: Target
) -> None:
    if algorithm in FEATURES:
        having = frozenset({FEATURES[algorithm]})
        target = replace(TARGETS["avx512"], features=having, caches=target.caches)
    elif algorithm == "outer":
        target = replace(TARGETS["sme512"], caches=target.caches)
    problem = data.draw(problems(algorithm, target.lanes))
    candidate = algorithms()[algorithm].candidates(problem, target)[0]
    levels = candidate.traffic
    image, filters, result = least_bytes(problem)
    for level_traffic in levels:
        assert level_traffic.input >= image * (1 - 1e-9)
        assert level_traffic.filters >= filters * (1 - 1e-9)
        assert level_traffic.output_writes >= result * (1 - 1e-9)
        assert (
            min(level_traffic.packed, level_traffic.packed_writes, level_traffic.output_reads) >= 0
        )
    assert [level_traffic.level for level_traffic in levels] == [1, 2, 3]
    for near, far in pairwise(levels):
        assert near.misses(64) >= far.misses(64) * (1 - 1e-9)
        assert near.total >= far.total * (1 - 1e-9)


def test_all_algorithms_are_tested() -> None:
    """But those that are taken to move every operand once."""
    assert (
        sorted(algorithms().keys() - {"integer", "int16", "int8_depthwise", "bit_serial"}) == TESTED
    )


needs_cachegrind = [
    pytest.mark.slow,
    pytest.mark.skipif(not SCRIPT.is_file(), reason="not run from a source checkout"),
    pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed"),
    pytest.mark.skipif(
        not host.running().has(TARGETS["avx2"].cpu_flags), reason="this CPU has no AVX2"
    ),
]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


KINDS = (
    *("3x3, aligned", "3x3 /2", "1x1, expanding", "1x1, large image"),
    *("1x1 /2", "1x1, grouped", "3x3, batch 2", "5x5 /2, depthwise"),
)


@pytest.mark.skipif(not SCRIPT.is_file(), reason="not run from a source checkout")
def test_the_comparison_names_what_is_wrong() -> None:
    unknown = bench("3x3, unheard of")
    odd = bench("--levels", "32KiB/7", "1MiB")
    for done in (unknown, odd):
        if "not installed" not in done.stderr and "native programs" not in done.stderr:
            assert done.returncode == 2
    assert "Traceback" not in unknown.stderr + odd.stderr


class TestAgainstCachegrind:
    pytestmark = needs_cachegrind

    @pytest.mark.parametrize(
        "levels",
        [
            pytest.param((), id="board"),
            pytest.param(("--levels", "32KiB/8", "1MiB/16"), id="larger"),
        ],
    )
    def test_lines_brought_in_are_as_simulated(self, levels: tuple[str, ...]) -> None:
        done = bench(*KINDS, "--json", *levels)
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout)["convolutions"]
        assert {row["kind"] for row in rows} == set(KINDS)
        for row in rows:
            assert row["predicted"] == pytest.approx(row["simulated"], rel=0.25), row
