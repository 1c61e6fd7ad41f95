"""A network by a matrix unit, of a backend elsewhere, whose micro-kernels sum in memory."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

from edgeconv.run.build.project import Project
from edgeconv.run.verify.program import Outputs, run_program
from edgeconv.target import board as boards
from edgeconv.target import board_folders, host
from tests import onnx_models, toy
from tests.command import Command


def in_integers() -> onnx.ModelProto:
    """A convolution of int8 whose filters have zero points, the product of its result with itself,
    and another convolution of the input whose result is no integer."""
    rng = np.random.default_rng(4)
    filters = {
        name: rng.integers(0, 256, (count, 10, *sides), dtype=np.uint8)
        for name, count, sides in (("w", 21, (3, 3)), ("v", 9, (1, 1)))
    }
    numbers: dict[str, npt.ArrayLike] = {
        "s": np.float32(0.05),
        "z": np.uint8(120),
        "sw": np.float32(0.01),
        "zw": np.uint8(131),
        "zv": np.uint8(99),
        "sq": np.float32(0.4),
        "zq": np.uint8(128),
        "sp": np.float32(9),
        "b": rng.integers(-99, 99, 21).astype(np.int32),
        "flat": np.array([1, 21, 70]),
        **filters,
    }
    constants = {name: np.asarray(value) for name, value in numbers.items()}
    of_x, of_w, of_q = (("s", "z"), ("sw", "zw"), ("sq", "zq"))
    nodes = [
        helper.make_node("QuantizeLinear", ["x", *of_x], ["q"], "quantised"),
        helper.make_node(
            *("QLinearConv", ["q", *of_x, "w", *of_w, *of_q, "b"], ["c"], "conv"), pads=[1, 1, 1, 1]
        ),
        helper.make_node("Reshape", ["c", "flat"], ["a"], "rows"),
        helper.make_node("Transpose", ["a"], ["t"], "columns", perm=[0, 2, 1]),
        helper.make_node("QLinearMatMul", ["a", *of_q, "t", *of_q, "sp", "zq"], ["m"], "product"),
        helper.make_node("DequantizeLinear", ["m", "sp", "zq"], ["y"], "dequantised"),
        helper.make_node("DequantizeLinear", ["q", *of_x], ["r"], "real_x"),
        helper.make_node("DequantizeLinear", ["v", "sw", "zv"], ["rv"], "real_v"),
        helper.make_node("Conv", ["r", "rv"], ["u"], "real"),
    ]
    return onnx_models.model(nodes, {"x": (1, 10, 7, 10)}, {"y": None, "u": None}, constants)


@pytest.mark.parametrize(
    ("board", "isa"),
    [
        ("x86-64-v3", "avx2_memory"),
        pytest.param("xeon-silver-4208", "avx512_memory", marks=pytest.mark.slow),
    ],
)
def test_a_network_by_a_matrix_unit_has_the_same_results(
    board: str, isa: str, edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Filters with zero points, a product, real results: bit by bit those of sums in registers."""
    target = boards.load(board).target
    words = (word for row in target.micro_kernels for word in row.cpu_flags)
    if not host.running().has((*target.cpu_flags, *words)):
        pytest.skip(f"this CPU has no {target.name}")
    path = onnx_models.save(in_integers(), tmp_path / "net.onnx")
    given = tmp_path / "given.bin"
    given.write_bytes(np.random.default_rng(5).normal(0, 2, (1, 10, 7, 10)).astype("f4").tobytes())
    toy.write_board(tmp_path, "by-unit", board, isa)
    monkeypatch.setenv(board_folders.FOLDERS_VARIABLE, str(tmp_path))

    def results(name: str) -> Outputs:
        asked = ("--board", name, "--algorithm", "real=int8_packed")
        edgeconv.ok("compile", path, *asked, "-o", tmp_path / name)
        project = Project.open(tmp_path / name)
        return run_program(project, project.build(), inputs=given)[0]

    usual = results(board)
    with toy.backends_added(toy.MEMORY_SUMS):
        by_unit = results("by-unit")
    text = (tmp_path / "by-unit" / "net.c").read_text()
    assert text.count("= EC_ROW_S8_TOY") == 3
    assert text.count(".sums_at = ") >= 2
    for name, values in usual.items():
        assert np.array_equal(by_unit[name], values), name


def test_a_unit_that_the_system_refuses_is_told_of_by_init(
    edgeconv: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not by a fault in the first layer that it computes."""
    path = onnx_models.save(in_integers(), tmp_path / "net.onnx")
    toy.write_board(tmp_path, "refused", "generic-c", "portable_memory")
    monkeypatch.setenv(board_folders.FOLDERS_VARIABLE, str(tmp_path))
    out, program = tmp_path / "out", tmp_path / "net"
    with toy.backends_added(toy.MEMORY_SUMS):
        edgeconv.ok("compile", path, "--board", "refused", "-o", out)
    assert "NET_E_PERMISSION = 16 " in (out / "net.h").read_text()
    sources = [str(out / name) for name in ("net.c", "main.c", "net_weights.S")]
    command = ["gcc", "-DEC_TOY_REFUSED", "-DEC_DEBUG", "-I", str(out), *sources, "-lm"]
    subprocess.run([*command, "-o", str(program)], cwd=out, check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (done.returncode, "no matrix unit" in done.stderr) == (2, True)
