"""Predicted cycles of integer layers on the cores of the catalogue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from edgeconv.ir.layout import CHANNELS_LAST
from edgeconv.kernels.algorithms.integer.candidate import (
    candidates,
    dense_candidate,
    image_candidates,
)
from edgeconv.kernels.algorithms.integer.kernels import (
    CONVOLVE,
    CONVOLVE_JOINED,
    CONVOLVE_JOINED_2X4,
    CONVOLVE_JOINED_DUAL_ISSUE,
    DENSE,
    DEPTHWISE_3X3_6X2,
    IntegerKernel,
)
from edgeconv.kernels.algorithms.integer.panels import kernel_of, panels_of
from edgeconv.kernels.algorithms.integer.real_candidate import (
    DEPTHWISE_2X2,
    DEPTHWISE_3X3,
    DEPTHWISE_TAPS,
    RealPlan,
    real_candidates,
)
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.sums import Facts
from edgeconv.target import board as boards
from edgeconv.target.targets import DUAL_ISSUE

LAYER = ConvProblem(
    *(1, 64, 64, 1, (1, 24, 6), (1, 24, 6), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
    in_layout=CHANNELS_LAST,
    out_layout=CHANNELS_LAST,
    integers=True,
)


def cycles(board: str) -> float:
    """Of a multiply-add."""
    found, *_ = candidates(LAYER, boards.load(board).target)
    return found.work.moves / LAYER.macs


@pytest.mark.parametrize(
    ("board", "least", "most"),
    [
        # 12 of 24 products' 17 cycles are SMLAD at least; 28 cycles by the manual; VMLADAVA in 2.
        ("stm32h743", 12 / 24, 1.0),
        ("stm32f407", 28 / 24, 1.6),
        ("mps2-an505", 28 / 24, 1.6),
        ("mps3-an547", 8 / 64, 0.35),
        # 220 instructions of 24 products are executed, 269 cycles by the manual.
        ("microbit", 220 / 24, 14.0),
        # 71 instructions of 24 products, and those of the results.
        ("generic-riscv32", 71 / 24, 4.0),
    ],
)
def test_cycles_of_a_multiply_add(board: str, least: float, most: float) -> None:
    assert least < cycles(board) < most


@pytest.mark.parametrize("board", ["stm32h743", "stm32f407"])
def test_rows_of_a_dense_layer_are_computed_together(board: str) -> None:
    """Three pixels of a tile share what is taken apart of a filter: 24 products of a Cortex-M7 in
    17.5 cycles, where a row alone takes 18.5 for 16."""
    target = boards.load(board).target
    alone = replace(LAYER, in_size=(1, 1, 1), out_size=(1, 1, 1))
    rows = replace(LAYER, in_size=(1, 1, 64), out_size=(1, 1, 64))
    one, many = (dense_candidate(each, target) for each in (alone, rows))
    assert (one.plan.kernel, many.plan.kernel) == (DENSE, CONVOLVE)
    assert many.work.moves < 0.85 * 64 * one.work.moves
    kept = dense_candidate(rows, replace(target, workspaces=False))
    assert (kept.plan.kernel, kept.workspace_bytes) == (DENSE, 0)
    ways = [candidates(each, target)[0].plan.kernel for each in (alone, rows)]
    assert ways == [DENSE, CONVOLVE]  # of a convolution of as many pixels


def test_a_product_of_two_tensors_has_a_panel_however_few_its_numbers() -> None:
    """It is packed for that at run time; a convolution as small is computed row by row."""
    target, size = boards.load("stm32h743").target, (1, 1, 8)
    small = replace(LAYER, in_c=4, out_c=4, in_size=size, out_size=size)
    found, *_ = candidates(small, target)
    assert (found.plan.kernel, found.workspace_bytes) == (DENSE, 0)
    (product,) = image_candidates(small, target)
    assert product.plan.kernel == CONVOLVE
    assert product.workspace_bytes > 0


def test_only_a_cortex_m7_begins_two_instructions_at_a_time() -> None:
    listed = (
        "stm32h743",
        "mps2-an500",
        "stm32f407",
        "nrf52840",
        "microbit",
        "mps2-an505",
        "mps3-an547",
    )
    dual = [name for name in listed if DUAL_ISSUE in boards.load(name).target.features]
    assert dual == ["stm32h743", "mps2-an500"]


def test_a_core_without_fpu_multiplies_integers_faster_whether_its_rate_is_stated_or_not() -> None:
    target = boards.load("microbit").target
    for stated in (target, replace(target, macs_per_cycle=None)):
        found, *_ = candidates(LAYER, stated)
        assert found.work.moves < LAYER.macs * stated.slot_cycles / 10


def test_padding_and_pixels_of_three_channels_take_longer_than_what_lies_side_by_side() -> None:
    """A layer of few channels is mostly the gathering of its windows."""
    target, size = boards.load("stm32f407").target, (1, 12, 12)
    whole = replace(LAYER, in_c=3, out_c=2, in_size=size, out_size=(1, 10, 10), kernel=(1, 3, 3))
    padded = replace(whole, out_size=size, pads=(0, 1, 1))
    each = [candidates(each, target)[0].work.moves / each.macs for each in (LAYER, whole, padded)]
    assert each[0] < each[1] / 2 < each[2] / 2


def test_of_a_ring_of_rows_panels_end_with_a_row() -> None:
    """Five pixels are two panels of three, so that 25 rows of them are 50 panels, and not 42."""
    target = boards.load("stm32f407").target
    whole = replace(LAYER, in_size=(1, 25, 5), out_size=(1, 25, 5))
    ring = replace(whole, out_ring=4)
    assert panels_of(whole) == (42, 125)
    assert panels_of(ring) == (50, 125)
    ways = [candidates(each, target)[0].work.moves for each in (whole, ring)]
    assert 1.1 < ways[1] / ways[0] < 50 / 42


@pytest.mark.parametrize("board", ["stm32h743", "stm32f407", "mps2-an505", "mps3-an547"])
@pytest.mark.parametrize(
    ("kernel", "dilation"), [((1, 9), 1), ((9, 1), 1), ((5, 5), 1), ((3, 3), 2), ((5, 5), 2)]
)
def test_a_product_of_a_depthwise_layer_costs_little_more_with_another_window(
    board: str, kernel: tuple[int, int], dilation: int
) -> None:
    """As 3x3 by two rows does; by six rows it costs less, with DSP 1.7 times less than is predicted
    of 1x9 (counted, 1.3: `bench/depthwise_windows.py`)."""

    def cycles_of(size: tuple[int, int], apart: int) -> float:
        pads = (0, (size[0] - 1) * apart // 2, (size[1] - 1) * apart // 2)
        image = replace(LAYER, in_size=(1, 24, 24), out_size=(1, 24, 24), groups=64)
        layer = replace(image, kernel=(1, *size), pads=pads, dilations=(1, apart, apart))
        ways = candidates(layer, boards.load(board).target)
        found = next(way for way in ways if way.plan.kernel is not DEPTHWISE_3X3_6X2)
        return found.work.moves / layer.macs

    assert cycles_of(kernel, dilation) < 1.5 * cycles_of((3, 3), 1)


def test_six_rows_of_a_depthwise_layer_are_for_calls_that_compute_them() -> None:
    """Rings say how many rows a call has; the panel of six rows takes more workspace."""
    target = boards.load("stm32f407").target
    image = replace(LAYER, in_size=(1, 24, 24), out_size=(1, 24, 24), groups=64)
    whole = replace(image, kernel=(1, 3, 3), pads=(0, 1, 1))

    def has_six(in_ring: int = 0, out_ring: int = 0) -> bool:
        ways = candidates(replace(whole, in_ring=in_ring, out_ring=out_ring), target)
        return any(way.plan.kernel is DEPTHWISE_3X3_6X2 for way in ways)

    assert has_six()
    assert has_six(in_ring=5)
    assert has_six(out_ring=3)
    assert not has_six(in_ring=4)
    assert not has_six(out_ring=2)
    assert not has_six(in_ring=5, out_ring=2)


JOINED = replace(LAYER, sum_facts=Facts(1, joins=True))


@pytest.mark.parametrize(
    ("board", "changes", "kernel"),
    [
        ("stm32f407", {}, CONVOLVE_JOINED_2X4),
        ("stm32f407", {"out_c": 11}, CONVOLVE_JOINED_2X4),  # the last three with a filter of zeros
        ("stm32f407", {"out_c": 10}, CONVOLVE_JOINED),
        ("stm32f407", {"in_size": (1, 3, 3), "out_size": (1, 3, 3)}, CONVOLVE_JOINED),
        ("mps2-an505", {}, CONVOLVE_JOINED_2X4),
        ("stm32h743", {}, CONVOLVE_JOINED_DUAL_ISSUE),
        ("microbit", {}, CONVOLVE_JOINED),
    ],
)
def test_joined_filters_are_multiplied_in_the_tile_that_a_core_is_fastest_with(
    board: str, changes: dict[str, Any], kernel: IntegerKernel
) -> None:
    layer, target = replace(JOINED, **changes), boards.load(board).target
    assert kernel_of(layer, target) == kernel
    if "in_size" not in changes:  # a row of it is computed alike, where layers stream rows
        row = replace(layer, in_size=(1, 1, 6), out_size=(1, 1, 6))
        assert kernel_of(row, target) == kernel


def test_edges_take_longer_than_windows_that_lie_side_by_side() -> None:
    """Of many channels and of few, whose windows are copied; of these a column outside costs
    less the wider an image is."""
    target = boards.load("stm32f407").target
    for channels in (3, 16):
        whole = replace(
            JOINED, in_c=channels, kernel=(1, 3, 3), in_size=(1, 18, 18), out_size=(1, 16, 16)
        )
        padded = replace(whole, in_size=(1, 16, 16), pads=(0, 1, 1))
        wide = replace(padded, in_size=(1, 64, 64), out_size=(1, 64, 64))
        each = [candidates(e, target)[0].work.moves / e.macs for e in (whole, padded, wide)]
        assert each[0] < each[2] < each[1]


@pytest.mark.parametrize("board", ["stm32h743", "stm32f407"])
@pytest.mark.parametrize(
    ("kernel", "stride", "plan"),
    [
        (5, 1, DEPTHWISE_2X2),
        (7, 1, DEPTHWISE_2X2),
        (3, 1, DEPTHWISE_3X3),
        (5, 2, DEPTHWISE_TAPS),
    ],
)
def test_sums_of_two_rows_share_what_is_taken_apart(
    board: str, kernel: int, stride: int, plan: RealPlan
) -> None:
    """Of depthwise layers whose results are real numbers, windows of neighbouring rows but 3x3."""
    layer = replace(
        LAYER,
        groups=64,
        in_size=(1, 16, 16),
        out_size=(1, 16 // stride, 16 // stride),
        kernel=(1, kernel, kernel),
        strides=(1, stride, stride),
        pads=(0, kernel // 2, kernel // 2),
        integers=False,
        real_sums=True,
    )
    (found,) = real_candidates(layer, boards.load(board).target)
    assert found.plan == plan
