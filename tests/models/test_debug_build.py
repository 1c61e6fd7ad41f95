"""The preset ``debug``: kernels that can be stepped through, and still fit where they are meant to.

``-Og`` inlines a loop nest wherever it is called and unrolls what it is told to: for a
microcontroller the C of digits-cnn becomes 18 times as large as with ``-O3``.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import onnx.parser
import pytest

from edgeconv.run.build import find_compiler
from tests import ROOT, onnx_models, quantised_models
from tests.command import Command
from tests.tools import available

pytestmark = pytest.mark.usefixtures("unoptimised")

TOP = """<ir_version: 8, opset_import: ["" : 18]>
top (float[4, 6] x) => (float[4, 2] v, int64[4, 2] i) <int64[1] k = {2}> { v, i = TopK(x, k) }"""
MODEL = ROOT / "examples" / "digits" / "digits-cnn.onnx"
DEBUG = ("-Og", "-g", "-DEC_DEBUG")


def compiled(board: str, folder: Path, *options: str, source: str = "digits_cnn.c") -> Path:
    found = available(board, to_run=False)
    made = folder / f"{'_'.join(options)}.o"
    command = [*find_compiler(found).command, *found.flags, "-std=c11", "-ffp-contract=fast"]
    command += ["-Wall", "-Wextra", "-Wpedantic", "-Werror", *options]
    subprocess.run([*command, "-c", folder / source, "-o", made], check=True)
    return made


def code_bytes(found: Path) -> int:
    """Of code and constants, by size(1): the numbers in its second line."""
    done = subprocess.run(["size", found], check=True, capture_output=True, text=True)
    return int(done.stdout.splitlines()[1].split()[0])


@pytest.mark.parametrize("board", ["microbit", "stm32h743"])
def test_firmware_is_at_most_three_times_as_large_as_for_size(
    edgeconv: Command, tmp_path: Path, board: str
) -> None:
    edgeconv.ok("compile", MODEL, "--board", board, "-o", tmp_path / "out")
    small, debug = (compiled(board, tmp_path / "out", *each) for each in (("-Os",), DEBUG))
    assert code_bytes(debug) <= 3 * code_bytes(small)


@pytest.mark.parametrize("options", [DEBUG, ("-O2",)], ids=["debug", "-O2"])
def test_instructions_of_helium_have_the_registers_that_they_take(
    edgeconv: Command, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Stores that narrow address by r0 to r7 alone, which -O3 happens to choose."""
    model = onnx_models.save(quantised_models.tiny()[0], tmp_path / "net.onnx")
    edgeconv.ok("compile", model, "--board", "mps3-an547", "-o", tmp_path / "out")
    compiled("mps3-an547", tmp_path / "out", *options, "-ffreestanding", source="net.c")


def test_the_preset_builds_what_computes_the_same(edgeconv: Command, tmp_path: Path) -> None:
    """With every loop nest as a function that a debugger stops in."""
    out = tmp_path / "out"
    edgeconv.ok("compile", MODEL, "--board", "generic-c", "-o", out, "--build", "--verify")
    for command in (["cmake", "--preset", "debug"], ["cmake", "--build", "--preset", "debug"]):
        subprocess.run(command, cwd=out, check=True, capture_output=True)
    program = out / "build-debug" / "digits_cnn_main"
    names = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    assert " t ec_conv_" in names
    done = subprocess.run([program], cwd=out, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_choice_among_functions_is_there_once_where_nothing_takes_it_away(
    edgeconv: Command, tmp_path: Path
) -> None:
    """Inlined into every place that compares two elements it would be 160 KB of each TopK."""
    onnx.save(onnx.parser.parse_model(TOP), tmp_path / "top.onnx")
    out = tmp_path / "out"
    edgeconv.ok("compile", tmp_path / "top.onnx", "--board", "generic-c", "-o", out)
    plain, fast = (compiled("generic-c", out, level, source="top.c") for level in ("-O0", "-O3"))
    names = [
        subprocess.run(["nm", made], check=True, capture_output=True, text=True).stdout
        for made in (plain, fast)
    ]
    assert " t ec_elementwise_one" in names[0]
    assert "ec_elementwise_one" not in names[1]
    assert code_bytes(plain) < 20 * code_bytes(fast)
