"""What `explain` says of a convolution's data movement, its slicing, and the blocking's plan."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.ir.layout import ROW_MAJOR
from edgeconv.kernels.algorithms import planned
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.sconv import blocked
from edgeconv.kernels.algorithms.sconv.candidate import alternatives, candidates
from edgeconv.kernels.algorithms.sconv.plan import make_plan
from edgeconv.kernels.algorithms.sconv.search import ceil_div
from edgeconv.kernels.algorithms.sconv.slicing import Schedule
from edgeconv.report.movement_text import brief
from edgeconv.target import board as boards
from edgeconv.target.backends import TARGETS
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target
from tests.command import Command
from tests.examples import examples

pytestmark = pytest.mark.usefixtures("unoptimised")

BOARD = """
schema = 1
name = "small-caches"
description = "Portable C on this machine, planned for caches of 1 and 4 KiB"
arch = "host"
isa = "portable"

[[cache]]
level = 1
size = "1KiB"
line = "64B"

[[cache]]
level = 2
size = "4KiB"
line = "64B"

[toolchain]
cc = ["cc", "gcc", "clang"]
install = "apt-get install gcc"

[run]
kind = "native"
"""


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A board with two caches that even a small network overflows."""
    folder = tmp_path / "boards"
    folder.mkdir()
    (folder / "small-caches.toml").write_text(BOARD)
    monkeypatch.setenv("EDGECONV_BOARDS", str(folder))
    return "small-caches"


@pytest.fixture
def bare_board(board: str, tmp_path: Path) -> str:
    """A board of another architecture, so that no cache is detected, that names none."""
    head, tail = BOARD.split("[[cache]]", 1)[0], BOARD[BOARD.index("[toolchain]") :]
    text = (head + tail).replace(board, "bare").replace('"host"', '"riscv64"')
    (tmp_path / "boards" / "bare.toml").write_text(text)
    return "bare"


@pytest.fixture
def always_blocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The blocking's plan always wins."""
    planned.cache_clear()
    monkeypatch.setattr(blocked, "WORTHWHILE", math.inf)
    monkeypatch.setattr(blocked, "schedule_cycles", lambda *_, prefetch: 0.0)
    yield
    planned.cache_clear()


def test_words_bound_and_blocking_by_level(
    edgeconv: Command, residual_model: Path, board: str
) -> None:
    command = ("explain", residual_model, "--board", board)
    layers = edgeconv.ok(*command, "--json").json()["layers"]
    assert {layer["op"] for layer in layers if layer["movement"]} == {"Conv"}
    for layer in (layer for layer in layers if layer["op"] == "Conv"):
        near, far = layer["movement"]["levels"]
        assert [(level["cache"], level["source"]) for level in (near, far)] == [
            ("L1", "L2"), ("L2", "DRAM"),
        ]  # fmt: skip
        assert far["memory_words"] == near["memory_words"] + 1024
        for level in (near, far):
            moved, bound, blocking = level["moved"], level["bound"], level["blocking"]
            assert moved["words"] == sum(moved.values()) - moved["words"]
            assert bound["words"] == max(bound["terms"].values())
            assert bound["terms"][bound["binding"]] == bound["words"]
            assert level["ratio"] == moved["words"] / bound["words"] >= 1
            assert blocking["words"] == sum(blocking[key] for key in ("input", "filters", "output"))
            assert blocking["words"] >= bound["words"]
            assert level["parallel"] is None
            traffic = layer["traffic_bytes"][level["source"]]
            assert 0 <= 4 * moved["words"] - traffic < 6 * 4  # six parts, rounded up
        assert layer["traffic_lower_bound_bytes"] == 4 * far["bound"]["words"]
        assert layer["movement"]["words_per_element"] == {"input": 1, "filter": 1, "output": 1}


def test_bounds_for_threads(edgeconv: Command, residual_model: Path, board: str) -> None:
    command = ("explain", residual_model, "--board", board, "--layer", "stem", "--threads")
    (one,), (four,) = (
        edgeconv.ok(*command, str(threads), "--json").json()["layers"] for threads in (1, 4)
    )
    for single, shared in zip(one["movement"]["levels"], four["movement"]["levels"], strict=True):
        assert shared["parallel"]["processors"] == 4
        assert single["parallel"]["memory_words"] == single["memory_words"]
        assert single["parallel"]["words"] <= single["bound"]["words"]
        for term in ("large filter", "small filter"):
            assert single["parallel"]["terms"][term] > shared["parallel"]["terms"][term]
        assert set(shared["parallel"]["terms"]) == {
            "large filter", "small filter", "large filter, any memory", "small filter, any memory",
        }  # fmt: skip
        assert (shared["parallel"]["binding"] is None) == (shared["parallel"]["words"] == 0)
    text = edgeconv.ok(*command, "4").stdout
    assert "one of 4 processors" in text
    assert edgeconv(*command, "0").status == 2


def test_slicing_of_both_schedules(edgeconv: Command, residual_model: Path, board: str) -> None:
    command = ("explain", residual_model, "--board", board, "--algorithm", "stem=sconv")
    (layer,) = edgeconv.ok(*command, "--layer", "stem", "--json").json()["layers"]
    slicing = layer["slicing"]
    assert list(slicing["plans"]) == ["IS", "WS", "blocking"]
    chosen = slicing["plans"][slicing["chosen"]]
    sizes = ("n_win", "n_f", "nc", "k1", "k2", "k3", "schedule")
    assert [chosen[size] for size in sizes] == [layer["plan"][size] for size in sizes]
    for plan in slicing["plans"].values():
        assert all(1 <= plan["last"][size] <= plan[size] for size in sizes[:-1])
        cost = plan["cost"]
        assert cost["all"] == pytest.approx(cost["L2"] + cost["L3"] + cost["DRAM"], abs=2)
    assert slicing["plans"]["IS"]["schedule"] == "IS"
    others = edgeconv.ok(*command, "--json").json()["layers"]
    assert all((layer["slicing"] is None) == (layer["op"] != "Conv") for layer in others)


def test_tables_fit_a_hundred_columns(edgeconv: Command, residual_model: Path, board: str) -> None:
    command = ("explain", residual_model, "--board", board, "--threads", "4")
    text = edgeconv.ok(*command).stdout
    assert max(map(len, text.splitlines())) <= 100
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert " behind " in text
    assert " slicing " in text


def test_board_without_caches_has_no_tables_of_them(
    edgeconv: Command, residual_model: Path, bare_board: str
) -> None:
    command = ("explain", residual_model, "--board", bare_board, "--layer", "stem")
    (layer,) = edgeconv.ok(*command, "--json").json()["layers"]
    assert layer["movement"] is None
    assert list(layer["slicing"]["plans"]) == ["IS", "WS"]
    assert layer["traffic_bytes"] == {"L2": None, "L3": None, "DRAM": None}
    text = edgeconv.ok(*command).stdout
    assert "algorithm" in text
    assert " slicing " not in text
    assert "DRAM" not in text


@pytest.mark.usefixtures("always_blocked")
def test_a_blocked_plan_computes_the_same(
    edgeconv: Command, residual_model: Path, board: str, tmp_path: Path
) -> None:
    command = (residual_model, "--board", board, "--algorithm", "stem=sconv")
    (layer,) = edgeconv.ok("explain", *command, "--layer", "stem", "--json").json()["layers"]
    assert layer["slicing"]["chosen"] == "blocking"
    assert layer["plan"]["k3"] == layer["slicing"]["plans"]["blocking"]["k3"]
    edgeconv.ok("compile", *command, "-o", tmp_path / "out", "--verify")


@st.composite
def problems(draw: st.DrawFn) -> ConvProblem:
    height, width = draw(st.integers(1, 60)), draw(st.integers(1, 60))
    kernel = draw(st.sampled_from([1, 3, 5]))
    return ConvProblem(
        batch=draw(st.integers(1, 2)),
        in_c=draw(st.integers(1, 200)),
        out_c=draw(st.integers(1, 200)),
        groups=1,
        in_size=(1, height, width),
        out_size=(1, height, width),
        kernel=(1, kernel, kernel),
        strides=(1, 1, 1),
        dilations=(1, 1, 1),
        pads=(0, kernel // 2, kernel // 2),
        in_layout=ROW_MAJOR,
        out_layout=ROW_MAJOR,
    )


def small(name: str) -> Target:
    return replace(TARGETS[name], caches=(Cache(1, 16384, 64), Cache(2, 65536, 64)))


@given(problems(), st.sampled_from(sorted(TARGETS)))
@settings(max_examples=examples(60))
def test_the_blocking_is_mapped_to_loops_that_exist(problem: ConvProblem, name: str) -> None:
    target = small(name)
    plan = make_plan(problem, target)
    found = blocked.blocked_plan(problem, target, plan)
    before, after = plan.slicing, found.slicing
    assert (after.schedule, after.n_win, after.n_f) == (before.schedule, before.n_win, before.n_f)
    assert 1 <= after.nc <= before.nc
    (count, _), (passing, _) = after.stationary, after.streaming
    assert 1 <= after.k1 <= after.k3 <= count
    assert 1 <= after.k2 <= passing
    assert after.workspace <= max(before.workspace, 16384, after.in_bytes)
    assert after.k3 in (count, after.k3 // after.k1 * after.k1)
    assert after.channel_sets == ceil_div(problem.in_c, after.nc)
    assert (found.last_rows, found.last_vectors) == (plan.last_rows, plan.last_vectors)


@given(problems(), st.sampled_from(sorted(TARGETS)))
@settings(max_examples=examples(60))
def test_it_changes_nothing_unless_it_wins(problem: ConvProblem, name: str) -> None:
    target = small(name)
    plan = make_plan(problem, target)
    final = blocked.final_plan(problem, target, plan)
    if final != plan:
        least = blocked.WORTHWHILE * blocked.predicted_cycles(problem, target, plan)
        assert blocked.predicted_cycles(problem, target, final) < least
    for schedule in Schedule:
        asked, wanted = (
            replace(problem, schedule=schedule.value),
            make_plan(problem, target, schedule),
        )
        assert blocked.final_plan(asked, target, wanted) == wanted


def test_what_was_chosen_is_among_the_alternatives() -> None:
    """Also where two register tiles cost the same, as in ResNet-18's projection to 512 channels."""
    target = boards.load("raspberry-pi-5").target
    problem = ConvProblem(
        batch=1,
        in_c=256,
        out_c=512,
        groups=1,
        in_size=(1, 14, 14),
        out_size=(1, 7, 7),
        kernel=(1, 1, 1),
        strides=(1, 2, 2),
        dilations=(1, 1, 1),
        pads=(0, 0, 0),
        in_layout=ROW_MAJOR,
        out_layout=ROW_MAJOR,
    )
    for asked in ("", *(schedule.value for schedule in Schedule)):
        (found,) = candidates(replace(problem, schedule=asked), target)
        assert found.plan in alternatives(found, target).values()


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (999, "999"), (1000, "1.00k"), (9996, "10.0k"), (99_960, "100k"),
     (999_499, "999k"), (999_500, "1.00M"), (12_345_678, "12.3M"), (10**16, "10000T")],
)  # fmt: skip
def test_numbers_have_three_digits(count: int, text: str) -> None:
    assert brief(count) == text
