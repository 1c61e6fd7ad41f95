"""Faults of programs that read bytes nobody wrote: right by chance where these are zeros."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

from edgeconv.app.pipeline import compile_model, verify_project
from edgeconv.report import outcome_json
from edgeconv.run.build.project import Project
from edgeconv.run.build.toolchain import find_compiler
from edgeconv.run.verify import Verification
from edgeconv.run.verify.uninitialised_memory import unwritten
from edgeconv.search.options import CompileOptions
from tests import onnx_models
from tests.tools import available

pytest.importorskip("onnxruntime", reason="what the programs are held to")
pytestmark = pytest.mark.usefixtures("unoptimised")

ROWS = 24
# What a hosted program, an emulated one and firmware in an emulator have each their own main.c,
# places and file access for.
BOARDS = ("generic-c", "odroid-xu3", "mps3-an547")


def crop() -> onnx.ModelProto:
    """ROWS of ROWS + 2 rows of an image "x", then a convolution, "y"."""
    rng = np.random.default_rng(1)
    constants = {
        "begin": np.array([1, 1]),
        "end": np.array([ROWS + 1, 7]),
        "axes": np.array([2, 3]),
        "w": rng.standard_normal((4, 2, 3, 3)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Slice", ["x", "begin", "end", "axes"], ["crop"], name="crop"),
        helper.make_node("Conv", ["crop", "w"], ["y"], name="conv", pads=[1, 1, 1, 1]),
    ]
    return onnx_models.model(nodes, {"x": (1, 2, ROWS + 2, 8)}, {"y": None}, constants)


def black_below(folder: Path, rows: int) -> Path:
    """An input of which so many of the last rows are 0, as where an image is letterboxed."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((1, 2, ROWS + 2, 8), dtype=np.float32)
    x[:, :, ROWS + 1 - rows :] = 0
    np.savez(folder / "x.npz", x=x)
    return folder / "x.npz"


def compiled(folder: Path, board: str, io: str = "caller") -> Project:
    available(board)
    model = onnx_models.save(crop(), folder / "net.onnx")
    compile_model(CompileOptions(model, board, name="net", io=io), folder / "out")
    return Project.open(folder / "out")


def changed(project: Project, pattern: str, text: str) -> None:
    """The one place of the program that ``pattern`` finds becomes ``text``."""
    source = project.directory / "net.c"
    program, count = re.subn(pattern, text, source.read_text())
    assert count == 1
    source.write_text(program)


def verified(project: Project, inputs: Path) -> Verification:
    return verify_project(project.directory, inputs=inputs)


@pytest.mark.parametrize("io", ["caller", "arena"])
@pytest.mark.parametrize("board", BOARDS)
def test_a_copy_that_lacks_a_row(board: str, io: str, tmp_path: Path) -> None:
    project = compiled(tmp_path, board, io)
    black = black_below(tmp_path, 1)
    right = verified(project, black)
    assert right.passed
    assert right.runs == 3
    changed(project, rf"\.rows = {ROWS}\b", f".rows = {ROWS - 1}")
    wrong = verified(project, black)
    assert not wrong.passed
    (found,) = wrong.unwritten
    # Of the convolution's result the last row reads it, and the one above.
    assert (found.name, found.index) == ("y", (0, 0, ROWS - 2, 0))
    assert (found.elements, found.of) == (4 * 2 * 6, 4 * ROWS * 6)
    assert found.values[0] == "nan"
    assert abs(float(found.values[1])) > 1e30
    (named,) = outcome_json.verification_json(wrong)["unwritten"]
    assert named["name"] == "y"
    assert "bytes that nobody wrote" in wrong.one_line()


def test_an_output_that_is_left_out_in_part(tmp_path: Path) -> None:
    project = compiled(tmp_path, "generic-c")
    changed(project, rf"operands, 2, 0, 0, {ROWS}\)", f"operands, 2, 0, 0, {ROWS - 1})")
    wrong = verified(project, black_below(tmp_path, 2))
    (found,) = wrong.unwritten
    assert found.index == (0, 0, ROWS - 1, 0)
    assert found.elements == 4 * 6


def test_where_results_differ() -> None:
    first = {"y": np.array([[1.0, np.nan], [2.0, 3.0]]), "z": np.array(True)}
    same = {name: value.copy() for name, value in first.items()}
    assert unwritten(first, [same]) == ()
    other = {"y": np.array([[1.0, np.nan], [2.0, np.inf]]), "z": np.array(False)}
    y, z = unwritten(first, [same, other])
    assert (y.index, y.values, y.elements, y.of) == ((1, 1), ("3.0", "inf"), 1, 4)
    assert (z.index, z.values) == ((), ("True", "False"))
    signed = unwritten({"y": np.array([0.0])}, [{"y": np.array([-0.0])}])
    assert signed[0].values == ("0.0", "-0.0")


def garbage(project: Project) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """What ``fill`` of the emitted main.c writes in front of the first two sets of inputs."""
    text = (project.directory / "main.c").read_text()
    begin = text.index("static void fill(")
    code = text[begin : text.index("\n}\n", begin) + 3].removeprefix("static ")
    source = project.directory / "fill.c"
    source.write_text(f"#include <stddef.h>\n{code}")
    library = source.with_suffix(".so")
    command = [*find_compiler(available("generic-c")).command, "-shared", "-fPIC", str(source)]
    subprocess.run([*command, "-o", str(library)], check=True)
    sets = [np.zeros(64, np.uint8) for _ in range(2)]
    for number, each in enumerate(sets):
        ctypes.CDLL(str(library)).fill(
            each.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(each.size), number
        )
    return sets[0], sets[1]


@pytest.mark.parametrize("board", ["generic-c", "mps3-an547"])
def test_garbage_that_no_type_mistakes_for_zeros(board: str, tmp_path: Path) -> None:
    model = onnx_models.save(crop(), tmp_path / "net.onnx")
    compile_model(CompileOptions(model, board, name="net"), tmp_path / "out")
    first, second = garbage(Project.open(tmp_path / "out"))
    assert (first != second).all()
    for kind in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        assert np.isnan(first.view(kind).astype(np.float64)).all()
        large = second.view(kind).astype(np.float64)
        assert np.isfinite(large).all()
        assert large.min() < -6e4
        assert large.max() > 6e4
    assert (first == np.iinfo(np.uint8).max).all()
    for integer in (np.int8, np.int16, np.int32):
        assert second.view(integer).min() < -0.9 * np.iinfo(np.int8).max
    assert second.view(np.int8).min() == np.iinfo(np.int8).min
