"""Instructions beside engines on Arm cores: what is counted of a small network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from arm_engines import Engines, Row, rows, types_of
from counting.compiled import counted
from onnx import helper

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build import find_compiler, find_emulator
from edgeconv.target import board as boards
from tests import onnx_models

CHANNELS, SIDE = 48, 14


def save_model(folder: Path, *, quantised: bool = False) -> Path:
    """A 1x1 convolution, behind a quantised input or not."""
    rng = np.random.default_rng(0)
    constants: dict[str, Any] = {
        "w": rng.standard_normal((CHANNELS, CHANNELS, 1, 1), np.float32),
        "scale": np.array(0.05, np.float32),
        "zero": np.array(0, np.int8),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"]),
        helper.make_node("Conv", ["d", "w"], ["y"]),
    ]
    if not quantised:
        nodes, constants = [helper.make_node("Conv", ["x", "w"], ["y"])], {"w": constants["w"]}
    model = onnx_models.model(nodes, {"x": (1, CHANNELS, SIDE, SIDE)}, {"y": None}, constants)
    path = folder / "small.onnx"
    onnx.save(model, path)
    return path


def test_an_inference_executes_its_multiply_adds_and_little_more(tmp_path: Path) -> None:
    board = boards.load("raspberry-pi-5")
    try:
        find_compiler(board)
        find_emulator(board)
    except EdgeconvError as error:
        pytest.skip(error.one_line())
    model = save_model(tmp_path)
    macs = CHANNELS**2 * SIDE**2
    single = counted(model, board, float16=False).instructions
    half = counted(model, board, float16=True).instructions
    assert macs / 4 < single < macs
    assert macs / 8 < half < single


@pytest.mark.parametrize(
    ("channels", "filters", "kernel", "most"), [(64, 64, 1, 1.22), (3, 32, 3, 1.45)]
)
def test_channels_last_load_by_vectors(
    channels: int, filters: int, kernel: int, most: float, tmp_path: Path
) -> None:
    """A 1x1 layer goes through all channels in one loop, a first layer takes a row of its kernel as
    one run: instructions in multiply-adds of a vector."""
    board = boards.load("raspberry-pi-4")
    try:
        find_compiler(board)
        find_emulator(board)
    except EdgeconvError as error:
        pytest.skip(error.one_line())
    side, rng = 32, np.random.default_rng(0)
    constants = {"w": rng.standard_normal((filters, channels, kernel, kernel), np.float32)}
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["t", "w"], ["c"]),
        helper.make_node("Transpose", ["c"], ["y"], perm=[0, 2, 3, 1]),
    ]
    model = onnx_models.model(nodes, {"x": (1, side, side, channels)}, {"y": None}, constants)
    onnx.save(model, tmp_path / "net.onnx")
    macs = channels * filters * kernel**2 * (side - kernel + 1) ** 2
    found = counted(tmp_path / "net.onnx", board).instructions
    assert found < most * macs / 4


def test_functions_take_what_the_program_does(tmp_path: Path) -> None:
    """Counted without engines: the layers' functions, and the least of their multiply-adds."""
    board = boards.load("raspberry-pi-5")
    try:
        find_compiler(board)
        find_emulator(board)
    except EdgeconvError as error:
        pytest.skip(error.one_line())
    (row,) = rows([save_model(tmp_path)], [board], ["float16"], None, layers=True)
    assert row.ratio is None
    convolution = next(each for each in row.functions if each.least)
    assert convolution.least == CHANNELS**2 * SIDE**2 / 8
    of_layers = sum(each.instructions for each in row.functions if each.layers)
    assert convolution.least < of_layers <= row.program
    assert row.program < sum(each.instructions for each in row.functions)  # start and end, too


def test_which_types_are_compared(tmp_path: Path) -> None:
    model, pi4, pi5 = save_model(tmp_path), *map(boards.load, ("raspberry-pi-4", "raspberry-pi-5"))
    assert types_of(model, pi4) == ("float32",)
    assert types_of(model, pi5) == ("float32", "float16")
    assert types_of(save_model(tmp_path, quantised=True), pi5) == ("int8",)


def test_the_ratio_is_to_the_engine_of_the_fewest() -> None:
    row = Row("net", "raspberry-pi-4", "float32", 90, {"onnxruntime": 180, "ncnn": 100})
    assert row.ratio == pytest.approx(0.9)
    assert Row("net", "raspberry-pi-4", "float16", 90, {}).ratio is None


def test_a_folder_without_a_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EdgeconvError, match="no AArch64 Python"):
        Engines(tmp_path, "pnnx", tmp_path)
