"""Integers that a range found at run time makes, without a division for each, against division."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.compilers import SANITIZERS
from tests.kernels.test_int8_cortex_m import ALONE, FIRMWARE, STRICT, SYSTEM

HERE = Path(__file__).parent
PROGRAM = HERE / "dynamic_quantise.c"
ARM = ("arm-linux-gnueabihf-gcc", "-O3", "-ffp-contract=fast", "-mthumb", "-static")
RUNS = {
    "sanitized": (("gcc", *SANITIZERS, "-O1"), ()),  # runs longer than it compiles
    "contracted": (("gcc", "-O3", "-march=native", "-ffp-contract=fast"), ()),
    "of 32 bits": (ARM, ("qemu-arm", "-cpu", "cortex-a15")),
    "eight at a time": (
        (*ARM, "-mcpu=cortex-a15", "-mfpu=vfpv4"),
        ("qemu-arm", "-cpu", "cortex-a15"),
    ),
    "without optimisation": (
        (*ARM[:1], "-O0", *ARM[2:], "-mcpu=cortex-a15", "-mfpu=vfpv4"),
        ("qemu-arm", "-cpu", "cortex-a15"),
    ),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_integer_is_that_of_a_division(
    run: tuple[tuple[str, ...], tuple[str, ...]], tmp_path: Path
) -> None:
    compiler, emulator = run
    for needed in (compiler[0], *emulator[:1]):
        if not shutil.which(needed):
            pytest.skip(f"{needed} is not installed")
    binary = tmp_path / "quantise"
    subprocess.run([*compiler, *STRICT, str(PROGRAM), "-o", str(binary)], check=True)
    judge([*emulator, str(binary)])


def judge(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    different, compared, between = map(int, (done.stdout + done.stderr).split())
    assert different == 0
    assert compared > 4_000_000
    assert between > compared / 4, "too few numbers are near the middle between two integers"


def test_every_integer_is_that_of_a_division_on_a_cortex_m7(tmp_path: Path) -> None:
    """Which has maxima of float32."""
    core = "cortex-m7"
    compiler, emulator = shutil.which("arm-none-eabi-gcc"), shutil.which("qemu-system-arm")
    if not compiler or not emulator:
        pytest.skip("arm-none-eabi-gcc or qemu-system-arm is not installed")
    image = tmp_path / "quantise.elf"
    command = [compiler, f"-mcpu={core}", "-mthumb", "-mfloat-abi=hard", "-O3", *ALONE, *STRICT]
    command += ["-T", str(HERE / "cortex_m.ld"), str(HERE / "cortex_m_start.c"), str(PROGRAM)]
    subprocess.run([*command, "-lgcc", "-o", str(image)], check=True)
    judge([emulator, "-M", FIRMWARE[core], *SYSTEM, "-kernel", str(image)])
