"""Products of tiles by AMX, on a processor that has it; its jobs also by a model in plain C.

Networks by it are in `test_zoo.py`, on `host`, and random sizes in the random geometries.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.kernels.headers import include_flags
from edgeconv.target import host
from edgeconv.target.backends import TARGETS
from tests.kernels import builds
from tests.kernels.cases import Build
from tests.kernels.harness import check
from tests.kernels.test_bfloat16 import cases as of_bfloat16
from tests.kernels.test_conv import conv
from tests.kernels.test_int8_packed import Shape, Window, packed
from tests.kernels.test_integer_layers import layer

KERNELS = Path(__file__).parent
REFUSED = 77  # what the program of jobs ends with
SAME = (1, 1, 1, 1)
WORDS = ("amx_int8", "amx_bf16", "avx512_vnni", "avx512_bf16")
FEATURES = frozenset({"int8_dot", "bfloat16"})


def has_amx() -> bool:
    return host.detect().has((*TARGETS["amx"].cpu_flags, *WORDS))


WAYS = {
    "by a model": ("-DAMX_MODEL", "-O2"),
    "by this CPU": ("-mamx-tile", "-mamx-int8", "-mamx-bf16"),
}


@pytest.mark.parametrize("way", WAYS)
def test_jobs_of_all_shapes(way: str, folder: Path) -> None:
    """Rows and vectors, depths of a job and of chains of them, what sums begin with, groups apart;
    whatever tiles were configured for before."""
    if way == "by this CPU" and not has_amx():
        pytest.skip("this CPU has no AMX")
    program = folder / "jobs"
    command = ["gcc", "-O1", "-std=c11", "-Wall", "-Wextra", "-Werror", *WAYS[way]]
    source = str(KERNELS / "amx_jobs.c")
    subprocess.run([*command, *include_flags(), source, "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    if done.returncode == REFUSED:
        pytest.skip("the system refuses AMX")
    assert done.returncode == 0, done.stdout


def test_a_core_without_tiles_is_refused(folder: Path) -> None:
    """By what init asks: QEMU's has neither them nor AVX-512."""
    if platform.machine() != "x86_64" or not shutil.which("qemu-x86_64"):
        pytest.skip("no qemu-x86_64")
    program = folder / "jobs"
    command = ["gcc", "-O0", *WAYS["by this CPU"], *include_flags(), str(KERNELS / "amx_jobs.c")]
    subprocess.run([*command, "-o", str(program)], check=True)
    done = subprocess.run(["qemu-x86_64", str(program)], check=False)
    assert done.returncode == REFUSED


@pytest.fixture
def build() -> Build:
    """What multiplies is the matrix unit; skips, by name, where this CPU has none."""
    if not has_amx():
        pytest.skip("this CPU has no AMX")
    plain = TARGETS["amx"]
    target = replace(plain, features=FEATURES)
    target = replace(target, flags=(*target.flags, *target.feature_flags))
    found = builds.native(builds.by_own_unit(target), "gcc", builds.SHIPPED)
    return replace(found, compiled_once=True, chosen=builds.unit_of(plain))


def test_int8(build: Build, folder: Path) -> None:
    """To the last bit: windows and filters that are no whole tiles; groups of channels that are
    left over, by blocks and alone; dilated columns, which are brought together."""
    shapes: list[tuple[Shape, Shape, Window]] = [
        ((1, 30, 9, 21), (40, 30, 3, 3), {"pads": SAME}),
        ((2, 150, 1, 70), (35, 150, 1, 1), {}),
        ((1, 3, 40, 61), (20, 3, 7, 7), {"strides": (2, 2), "pads": (3, 3, 3, 3)}),
        ((1, 4, 9, 30), (70, 4, 3, 3), {"dilations": (1, 2)}),
        ((1, 64, 2, 23), (100, 64, 3, 3), {"pads": SAME}),
    ]
    made = [layer(x, w, attrs) for x, w, attrs in shapes]
    check(build, [case for each in made for case in packed(each, build)], folder)


def test_bfloat16(build: Build, folder: Path) -> None:
    of = conv((1, 35, 5, 40), 45, (3, 3), SAME, residual=True)
    check(build, of_bfloat16(of, build), folder)
