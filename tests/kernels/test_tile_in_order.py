"""Every register tile of cores of AArch64 that execute in order, fewer rows included."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from innerloop.assembly import functions, loops
from innerloop.syntax import SYNTAXES
from onnx import helper

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.kernels.headers import include_flags
from edgeconv.run.build.toolchain import program_named
from edgeconv.target.backends import TARGETS
from tests import ROOT
from tests.onnx_models import Values, model, save

NEON = replace(TARGETS["neon"], in_order=True)
COMPILERS = (("aarch64-linux-gnu-gcc",), ("clang", "--target=aarch64-linux-gnu"))


@pytest.mark.parametrize("compiler", COMPILERS, ids=("gcc", "clang"))
def test_every_tile(compiler: tuple[str, ...], tmp_path: Path) -> None:
    name = program_named(compiler[0]) or shutil.which(compiler[0])
    if not name or not shutil.which("qemu-aarch64") or not shutil.which(COMPILERS[0][0]):
        pytest.skip("no compiler or emulator of AArch64")
    largest = [(tile.rows, tile.vectors) for tile in NEON.tiles]
    shapes = {*largest, *((rows // 2 + 1, vectors) for rows, vectors in largest), (3, 2), (1, 8)}
    tiles = " ".join(f"X({rows}, {vectors})" for rows, vectors in sorted(shapes))
    command = [name, *compiler[1:], "-O2", "-Wall", "-Wextra", "-Werror", "-mcpu=cortex-a53"]
    command += [*include_flags(), f'-DEC_ISA_HEADER="{NEON.header}"']
    source = [f"-DEC_TILES={tiles}", str(ROOT / "tests" / "kernels" / "tile_in_order.c")]
    subprocess.run([*command, *source, "-static", "-o", "tile"], cwd=tmp_path, check=True)
    done = subprocess.run(
        ["qemu-aarch64", "./tile"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_bounds_of_results_leave_sums_in_registers(tmp_path: Path) -> None:
    """Both of a clip take a register each, and a tile has most of the others."""
    gcc = program_named(COMPILERS[0][0])
    if not gcc:
        pytest.skip("no compiler of AArch64")
    weights: dict[str, Values] = {"low": np.array(0, np.float32), "high": np.array(6, np.float32)}
    nodes, x, channels = [], "x", 16
    for i, (out, kernel, groups) in enumerate(((96, 1, 1), (96, 3, 96), (24, 1, 1))):
        shape = (out, channels // groups, kernel, kernel)
        weights[f"w{i}"] = np.full(shape, 0.1, np.float32)
        pads = [kernel // 2] * 4
        nodes.append(helper.make_node("Conv", [x, f"w{i}"], [f"c{i}"], group=groups, pads=pads))
        nodes.append(helper.make_node("Clip", [f"c{i}", "low", "high"], [f"y{i}"]))
        x, channels = f"y{i}", out
    save(model(nodes, {"x": (1, 16, 28, 28)}, {x: (1, 24, 28, 28)}, weights), tmp_path / "n.onnx")
    options = CompileOptions(tmp_path / "n.onnx", "raspberry-pi-3", "net")
    pipeline.compile_model(options, tmp_path / "net")
    command = [gcc, "-O3", "-ffp-contract=fast", "-mcpu=cortex-a53", "-S", "net.c", "-o", "-"]
    done = subprocess.run(command, cwd=tmp_path / "net", check=True, capture_output=True, text=True)
    by_element = [
        loop
        for lines in functions(done.stdout).values()
        for loop in loops(lines, SYNTAXES["aarch64"])
        if loop.multiply_adds >= 4 * 7 * 3  # four channels of a tile of 7 by 3
    ]
    assert by_element
    assert not [loop.spills for loop in by_element if loop.spills]
