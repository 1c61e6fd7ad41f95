"""Every register tile of cores of AArch64 that execute in order, fewer rows included."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.kernels.headers import include_flags
from edgeconv.run.build.toolchain import program_named
from edgeconv.target.backends import TARGETS
from tests import ROOT

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
