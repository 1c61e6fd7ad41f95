"""Integers that a range found at run time makes, without a division for each, against division."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from edgeconv.kernels.headers import include_flags
from tests.compilers import SANITIZERS

PROGRAM = Path(__file__).parent / "dynamic_quantise.c"
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *include_flags())
ARM = ("arm-linux-gnueabihf-gcc", "-O3", "-ffp-contract=fast", "-mthumb", "-static")
RUNS = {
    "sanitized": (("gcc", *SANITIZERS), ()),
    "contracted": (("gcc", "-O3", "-march=native", "-ffp-contract=fast"), ()),
    "of 32 bits": (ARM, ("qemu-arm", "-cpu", "cortex-a15")),
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
    done = subprocess.run([*emulator, str(binary)], capture_output=True, text=True, check=False)
    different, compared, between = map(int, (done.stdout + done.stderr).split())
    assert different == 0
    assert compared > 4_000_000
    assert between > compared / 4, "too few numbers are near the middle between two integers"
