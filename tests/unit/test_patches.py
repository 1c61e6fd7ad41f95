"""Layers that stream rows in patches of columns compute what they compute of whole images."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain as chain_of
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.app.deciding import Decider, decide
from edgeconv.app.deciding.less_ram import predicted_price, trade_offs
from edgeconv.app.deciding.planning import Allowed
from edgeconv.app.pipeline import compile_model, verify_project
from edgeconv.codegen.row_streaming import patch_columns
from edgeconv.ir.check import InvariantError
from edgeconv.ir.choice import Choice, divides_of
from edgeconv.ir.step import Divides, patches_of
from edgeconv.run.build.project import Project
from edgeconv.run.verify.layers import Unread, unread
from edgeconv.search.choose.row_streaming import joins, macs_computed, most_columns, stream_rows_of
from edgeconv.search.choose.storage import EVERY_RESULT
from edgeconv.search.memory.step_check import check_steps
from edgeconv.search.options import CompileOptions
from edgeconv.target import board as boards
from tests.int8_chains import Kinds, chain
from tests.row_streaming import one_by_one, stream

pytestmark = pytest.mark.usefixtures("unoptimised")

BOARD = "mps2-an500"
TARGET = boards.load(BOARD).target
THREE, DEPTHWISE = {"out": 7, "kernel": 3, "pad": 1}, {"kernel": 3, "pad": 1}
POINT, HALVED = {"out": 9, "kernel": 1}, {"kernel": 3, "pad": 1, "stride": 2}
CHAINS: dict[str, Kinds] = {
    "mobile": ({**THREE, "stride": 2}, POINT, DEPTHWISE, {"out": 5, "kernel": 1}, POINT, HALVED),
    "borders": ({**THREE, "kernel": 5, "pad": 4}, {"kernel": 5, "pad": 0}, {**THREE, "pad": 0}),
    "strides": (THREE, {**POINT, "stride": 3}, {"kernel": 5, "pad": 2, "stride": 2}),
    "dilated": (THREE, {**DEPTHWISE, "dilation": 2, "pad": 1}, POINT),
    "sums": ({**THREE, "stride": 2}, POINT, {"pool": "GlobalAveragePool"}),
}


@pytest.mark.parametrize(
    ("name", "board"),
    [*((name, BOARD) for name in CHAINS), ("mobile", "mps3-an547"), ("borders", "microbit")],
)
def test_the_same_bytes(
    name: str, board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an emulator every result, put together from the columns of all patches, is that of exact
    arithmetic."""
    one_by_one(monkeypatch)
    kinds, folder = CHAINS[name], tmp_path / "patches"
    path = tmp_path / "net.onnx"
    onnx.save(chain(kinds, (23, 29), nhwc=name == "strides"), path)
    alternative = "edgeconv.app.deciding.formats.with_faster"  # in float32
    monkeypatch.setattr(alternative, lambda planner, graph, decided: decided)
    with monkeypatch.context() as patch:
        stream(patch, {"l0_node": len(kinds)}, 1, patches=3)
        options = CompileOptions(path, board, name="net", algorithms={"*": "integer"})
        compile_model(options, folder)
    (step,) = Project.open(folder).report["steps"]
    assert step["patches"] == 3
    assert verify_project(folder, layers=True).passed


@st.composite
def windows(draw: st.DrawFn) -> tuple[int, list[Divides]]:
    """The columns of an image, and layers each of which reads the columns of the one before."""
    image = width = draw(st.integers(6, 40))
    found = list[Divides]()
    for _ in range(draw(st.integers(2, 5))):
        reach, stride = draw(st.integers(1, 5)), draw(st.integers(1, 3))
        pad = draw(st.integers(0, reach - 1))
        width = max(1, (width + 2 * pad - reach) // stride + 1)
        found.append(Divides(1, columns=Divides(width, reach, stride, pad)))
    return image, found


def summed(
    row: npt.NDArray[np.int64], out: int, window: Divides, pad: int
) -> npt.NDArray[np.int64]:
    """A row under a window whose taps count 1, 2, ..., and ``pad`` columns of zeros in front."""
    behind = out * window.stride + window.reach
    wide = np.concatenate([np.zeros(pad, np.int64), row, np.zeros(behind, np.int64)])
    taps = np.arange(1, window.reach + 1)
    starts = np.arange(out) * window.stride
    found: npt.NDArray[np.int64] = wide[starts[:, None] + np.arange(window.reach)] @ taps
    return found


@given(windows(), st.integers(2, 9))
def test_patches_have_all_that_their_windows_read(
    drawn: tuple[int, list[Divides]], count: int
) -> None:
    """Computed by the numbers that the program is given, of nothing but the columns of a patch, the
    last row is that of the whole image."""
    width, layers = drawn
    columns = [layer.columns for layer in layers if layer.columns]
    image = np.arange(1, width + 1)
    whole = image
    for window in columns:
        whole = summed(whole, window.rows, window, window.pad)
    last, found = columns[-1].rows, np.zeros(columns[-1].rows, np.int64)
    for patch in patches_of(layers, count):
        widths = [width, *(window.rows for window in columns[:-1])]
        numbers = [*patch_columns(layers, patch, widths)]
        row = image[numbers[0][0] : numbers[0][0] + numbers[0][1]]
        for window, (_, in_w, _, out_w, pad) in zip(columns, numbers, strict=True):
            assert len(row) == in_w
            row = summed(row, out_w, window, pad)
        out_x = numbers[-1][2]
        found[out_x : out_x + len(row)] = row
    if patches_of(layers, count):
        assert count <= last
        assert np.array_equal(found, whole)


def test_what_is_left_of_the_columns_makes_no_patch_wider_than_it_must() -> None:
    """Eight columns behind two strides: three patches of three at most, not one as wide as half."""
    halved = Divides(8, 3, 4, 9, columns=Divides(8, 3, 4, 9))
    layers = [Divides(32, columns=Divides(32)), halved, Divides(8, columns=Divides(8))]
    assert [patch[-1].width for patch in patches_of(layers, 3)] == [3, 2, 3]


def test_one_border_may_have_a_column_more_than_the_other() -> None:
    """Behind strides whose padding is all on the right the patch on the left reads the wider halo:
    of equal patches of the first layer those that need less of the others."""
    windows = ((32, 1, 1, 0), *2 * ((32, 3, 1, 1),), (16, 3, 2, 0), (16, 3, 1, 1), (8, 3, 2, 0))
    layers = [Divides(*each, columns=Divides(*each)) for each in (*windows, (8, 3, 1, 1))]
    patches = patches_of(layers, 5)
    assert [patch[-1].width for patch in patches] == [2, 1, 1, 1, 3]
    widest = [max(each.width for each in layer) for layer in zip(*patches, strict=True)]
    assert widest == [23, 21, 19, 9, 8, 4, 3]


@pytest.fixture(scope="module")
def mobile(tmp_path_factory: pytest.TempPathFactory) -> Choice:
    """Six layers from `l0_node` on."""
    path = tmp_path_factory.mktemp("model") / "net.onnx"
    onnx.save(chain(CHAINS["mobile"], (32, 32)), path)
    with Decider(CompileOptions(path, BOARD)) as decider:
        return decider.decide(streaming=False).choice


def test_blocks_that_are_alike_are_looked_at_once(mobile: Choice) -> None:
    """Layers that divide alike have the very same object, by which searches find what is known."""
    layers = [each for each in mobile.layers if each.node.name.startswith("l")][:2]
    renamed = [replace(each, divides=replace(each.divides)) for each in layers if each.divides]
    for known, found in zip(divides_of(layers), divides_of(renamed), strict=True):
        assert known is found
    assert patches_of(divides_of(layers), 3) is patches_of(divides_of(renamed), 3)


def test_columns_that_no_window_reads_are_not_judged() -> None:
    of = {"rows": 6, "ring": 6, "reach": 1, "stride": 1, "pad": 0}
    skips = {"rows": 2, "ring": 2, "reach": 1, "stride": 3, "pad": 0}
    layers = [
        {**of, "layer": 4, "columns": {**of, "ring": 1}},
        {**skips, "layer": 5, "columns": skips},
    ]
    step = {"stream_rows": 1, "patches": 2, "layers": layers}
    assert unread([step]) == {4: Unread((4, 5), (1, 2, 4, 5))}


def test_a_plan_of_patches_is_checked(mobile: Choice) -> None:
    """Rings of patches have the columns that their readers need, and work that is done again is
    counted."""
    choice = mobile
    first = [layer.node.name for layer in choice.layers].index("l0_node")
    layers = choice.layers[first : first + 6]
    made = stream_rows_of(choice, TARGET, first, 6, 1, patches=4)
    assert made
    check_steps(made)
    assert macs_computed(choice) == sum(layer.macs for layer in choice.layers)
    assert 1 < macs_computed(made) / macs_computed(choice) < 2
    widths = [made.graph[layer.node.output].ring_columns for layer in layers[:-1]]
    assert widths == [most for _, most in most_columns(layers, 4, choice.graph)][:-1]
    joined = chain_of.from_iterable(range(at, at + count) for at, count, _ in joins(made))
    assert {first, first - 1}.isdisjoint(joined)  # with whole rows of what changes the layout
    joined = chain_of.from_iterable(range(at, at + count) for at, count, _ in joins(choice))
    assert {first, first - 1} <= {*joined}
    assert all(
        width < choice.graph[layer.node.output].shape[-1]
        for width, layer in zip(widths, layers, strict=False)
    )
    ring = made.graph[layers[2].node.output]
    narrow = made.graph.with_tensors({ring.name: replace(ring, ring_columns=ring.ring_columns - 1)})
    with pytest.raises(InvariantError, match="columns"):
        check_steps(replace(made, graph=narrow))


def test_less_ram_is_traded_for_time(tmp_path: Path) -> None:
    """In integers on a microcontroller: without a budget whole rows are streamed, as RAM costs no
    time worth a word; less of it takes patches, and more and more time."""
    path = tmp_path / "net.onnx"
    onnx.save(chain((*CHAINS["mobile"], POINT), (64, 64)), path)
    with Decider(CompileOptions(path, BOARD, io="caller")) as decider:
        planner, default = decider.planner, decider.decide()
        draft = planner.draft(decider.graph, Allowed(integers=EVERY_RESULT), {})
        found = trade_offs(planner, draft)
    rams = [plan.sizes.ram.total for plan in found]
    times = [predicted_price(planner, plan) for plan in found]
    assert len(found) > 2
    assert rams == sorted(rams, reverse=True)
    assert times == sorted(times)
    assert any(step.patches > 1 for step in found[-1].choice.steps)
    assert not any(step.patches > 1 for step in default.choice.steps)
    assert default.memory.arena_bytes < draft.memory.arena_bytes
    assert default.predicted.price <= 1.02 * predicted_price(planner, draft)


def test_more_ram_is_never_slower(tmp_path: Path) -> None:
    """Where the default misses a budget by a byte, since blocks leave gaps, and by more."""
    path = tmp_path / "net.onnx"
    onnx.save(chain((*CHAINS["mobile"], POINT, DEPTHWISE, POINT), (48, 48)), path)
    most = decide(CompileOptions(path, BOARD, io="caller")).sizes.ram.total
    budgets = (most - less for less in (1, 64, 300, 1200))
    found = [decide(CompileOptions(path, BOARD, io="caller", ram=ram)) for ram in budgets]
    prices = [each.predicted.price for each in found]
    assert prices == sorted(prices)
