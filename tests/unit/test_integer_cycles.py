"""Predicted cycles of integer layers on the cores of the catalogue."""

from __future__ import annotations

import pytest

from edgeconv import board as boards
from edgeconv.algorithms.integer.candidate import candidates
from edgeconv.algorithms.problem import ConvProblem
from edgeconv.ir.layout import CHANNELS_LAST
from edgeconv.targets import DUAL_ISSUE

LAYER = ConvProblem(
    *(1, 64, 64, 1, (1, 24, 6), (1, 24, 6), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
    in_layout=CHANNELS_LAST,
    out_layout=CHANNELS_LAST,
    integers=True,
)


def cycles(board: str) -> float:
    """Of a multiply-add."""
    (found,) = candidates(LAYER, boards.load(board).target)
    return found.work.moves / LAYER.macs


@pytest.mark.parametrize(
    ("board", "least", "most"),
    [
        # 12 of 24 products' 17 cycles are SMLAD at least; 28 cycles by the manual; VMLADAVA in 2.
        ("stm32h743", 12 / 24, 1.0),
        ("stm32f407", 28 / 24, 1.6),
        ("mps2-an505", 28 / 24, 1.6),
        ("mps3-an547", 8 / 64, 0.35),
        ("microbit", 2.0, 6.0),
    ],
)
def test_cycles_of_a_multiply_add(board: str, least: float, most: float) -> None:
    assert least < cycles(board) < most


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
