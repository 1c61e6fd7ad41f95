"""Kernels of int8 for Cortex-M against their definition in int64.

In plain C, in the assembly of Armv7E-M, which Thumb of Armv7-A executes too, and in that of Helium.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from edgeconv.kernels.headers import find, include_flags
from tests.compilers import SANITIZERS

HERE = Path(__file__).parent
PROGRAM, REAL = HERE / "int8_cortex_m.c", HERE / "int8_real.c"
PROGRAMS = {"int8": PROGRAM, "float32": REAL}  # by what results are
TWO, SCALED = HERE / "int8_2x2.c", HERE / "int8_helium.c"
AROUND = HERE / "int8_zero_points.c"
# What sums are scaled by, and how the program is told of it.
SCALINGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fixed": ("ec_int8_scaling", ()),
    "shifted by 6": ("ec_int8_scaling", ("-DEC_INT8_RIGHT=6",)),
    "shifted by 11": ("ec_int8_scaling", ("-DEC_INT8_RIGHT=11",)),
    "offsets": ("ec_int8_scaling_offsets", ()),
    "ties": ("ec_int8_scaling_ties", ()),
    "twice": ("ec_int8_scaling_twice", ("-DIN_SHIFTS=1",)),
}
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", *include_flags())
ARM = "arm-linux-gnueabihf-gcc"
RUNS = {
    "plain C, sanitized": (("gcc", *SANITIZERS, "-O1"), ()),  # runs longer than it compiles
    "plain C, optimised": (("gcc", "-O3"), ()),
    "plain C, Clang": (("clang", "-O2"), ()),
    "SMLAD": ((ARM, "-O3", "-mthumb", "-static"), ("qemu-arm", "-cpu", "cortex-a15")),
    "SMLAD, two instructions in a cycle": (
        (ARM, "-O3", "-mthumb", "-static", "-DEC_DUAL_ISSUE=1"),
        ("qemu-arm", "-cpu", "cortex-a15"),
    ),
    "SMLAD, -O0": ((ARM, "-O0", "-mthumb", "-static"), ("qemu-arm", "-cpu", "cortex-a15")),
    "plain C of 32 bits": ((ARM, "-O3", "-marm", "-static"), ("qemu-arm", "-cpu", "cortex-a15")),
}
FIRMWARE = {
    "cortex-m0": "mps2-an385",  # with a core that does more
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m7": "mps2-an500",
    "cortex-m55": "mps3-an547",
}
# Their code is that of the Cortex-M0 and M4 but for the order of instructions.
ALIKE = ("cortex-m3", "cortex-m7")
# What the runs with sanitizers and by Clang, or the other order of SMLAD's loops, compute too.
BY_OTHERS = ("plain C, optimised", "SMLAD, -O0")
# Float32 results differ from int8 ones in what is done with a sum: once in C, in the assembly of
# Thumb and in that of Helium in `make test`.
ONCE_EACH = ("plain C, sanitized", "SMLAD", "cortex-m0", "cortex-m55")
ALONE = ("-ffreestanding", "-nostdlib", "-fno-tree-loop-distribute-patterns")
SYSTEM = ("-nographic", "-semihosting-config", "enable=on,target=native")
CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")


def of_each(where: Iterable[str]) -> list[ParameterSet]:
    """What results are, by where: those of float32 not everywhere in `make test`."""
    found = []
    for name in where:
        for results in PROGRAMS:
            quick = name not in (*ALIKE, *BY_OTHERS) and (results == "int8" or name in ONCE_EACH)
            marks = () if quick else pytest.mark.slow
            found.append(pytest.param(name, results, id=f"{name}-{results}", marks=marks))
    return found


@pytest.mark.parametrize(("run", "results"), of_each(RUNS))
def test_every_result_is_the_defined_one(run: str, results: str, tmp_path: Path) -> None:
    compiler, emulator = RUNS[run]
    for needed in (compiler[0], *emulator[:1]):
        if not shutil.which(needed):
            pytest.skip(f"{needed} is not installed")
    binary = tmp_path / "int8"
    subprocess.run([*compiler, *STRICT, str(PROGRAMS[results]), "-o", str(binary)], check=True)
    judge([*emulator, str(binary)])


def judge(command: list[str], least: int = 50_000) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    # an emulator writes to either, and a sanitizer's report is no number
    different, compared, between = map(int, (done.stdout + done.stderr).split())
    assert different == 0
    assert compared > least
    assert between > compared / 3, "too many results are bounds, which hide errors"


@pytest.mark.parametrize("order", [(), ("-DEC_DUAL_ISSUE=1",)], ids=["one", "two"])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_loops_in_assembly_with_each_scaling(
    scaling: str, order: tuple[str, ...], tmp_path: Path
) -> None:
    """Pairs of rows, and of filters: constants of a channel are in registers, in the order of a
    core that begins an instruction or two in a cycle."""
    if not shutil.which(ARM) or not shutil.which("qemu-arm"):
        pytest.skip(f"{ARM} or qemu-arm is not installed")
    instead, binary = tmp_path / "instead", tmp_path / "two"
    instead.mkdir()
    header, told = SCALINGS[scaling]
    shutil.copy(find(f"{header}.h"), instead / "ec_int8_scaling.h")
    compiler = (ARM, "-O1", "-mthumb", "-static", *told, *order)
    command = [*compiler, f"-I{instead}", *STRICT, str(TWO), "-o", str(binary)]
    subprocess.run(command, check=True)
    judge(["qemu-arm", "-cpu", "cortex-a15", str(binary)], least=10_000)


@pytest.mark.parametrize(("core", "results"), of_each(FIRMWARE))
def test_every_result_is_the_defined_one_on_a_cortex_m(
    core: str, results: str, tmp_path: Path
) -> None:
    """Whole machines: Thumb alone, and Helium for the Cortex-M55."""
    compiler, emulator = shutil.which("arm-none-eabi-gcc"), shutil.which("qemu-system-arm")
    if not compiler or not emulator:
        pytest.skip("arm-none-eabi-gcc or qemu-system-arm is not installed")
    image = tmp_path / "int8.elf"
    command = [compiler, f"-mcpu={core}", "-mthumb", "-O3", *ALONE, *STRICT]
    command += ["-T", str(HERE / "cortex_m.ld"), str(HERE / "cortex_m_start.c")]
    command += [str(PROGRAMS[results])]
    has_float = core in ("cortex-m4", "cortex-m7", "cortex-m55")
    command += [f"-mfloat-abi={'hard' if has_float else 'soft'}", "-lgcc", "-o", str(image)]
    subprocess.run(command, check=True)
    judge([emulator, "-M", FIRMWARE[core], *SYSTEM, "-kernel", str(image)])


@pytest.mark.parametrize("scaling", ["fixed", "offsets", "ties", "twice"])
def test_helium_with_each_scaling(scaling: str, tmp_path: Path) -> None:
    """Of windows of every length that another kernel, or another part of a vector, has."""
    compiler, emulator = shutil.which("arm-none-eabi-gcc"), shutil.which("qemu-system-arm")
    if not compiler or not emulator:
        pytest.skip("arm-none-eabi-gcc or qemu-system-arm is not installed")
    instead, image = tmp_path / "instead", tmp_path / "int8.elf"
    instead.mkdir()
    header, told = SCALINGS[scaling]
    shutil.copy(find(f"{header}.h"), instead / "ec_int8_scaling.h")
    command = [compiler, "-mcpu=cortex-m55", "-mthumb", "-O1", *ALONE, *told, f"-I{instead}"]
    command += [*STRICT, "-T", str(HERE / "cortex_m.ld"), str(HERE / "cortex_m_start.c")]
    command += [str(SCALED), "-mfloat-abi=hard", "-lgcc", "-o", str(image)]
    subprocess.run(command, check=True)
    judge([emulator, "-M", FIRMWARE["cortex-m55"], *SYSTEM, "-kernel", str(image)], least=10_000)


def test_filters_with_zero_points(tmp_path: Path) -> None:
    """In plain C, sanitized, and for Helium."""
    binary, image = tmp_path / "int8", tmp_path / "int8.elf"
    command = ["gcc", *SANITIZERS, "-O1", *STRICT, str(AROUND), "-o", str(binary)]
    subprocess.run(command, check=True)
    judge([str(binary)], least=30_000)
    compiler, emulator = shutil.which("arm-none-eabi-gcc"), shutil.which("qemu-system-arm")
    if not compiler or not emulator:
        pytest.skip("arm-none-eabi-gcc or qemu-system-arm is not installed")
    command = [compiler, "-mcpu=cortex-m55", "-mthumb", "-O1", *ALONE, *STRICT]
    command += ["-T", str(HERE / "cortex_m.ld"), str(HERE / "cortex_m_start.c"), str(AROUND)]
    subprocess.run([*command, "-mfloat-abi=hard", "-lgcc", "-o", str(image)], check=True)
    judge([emulator, "-M", FIRMWARE["cortex-m55"], *SYSTEM, "-kernel", str(image)], least=30_000)


@pytest.mark.parametrize("level", ["-O0", "-Os", "-O3"])
@pytest.mark.parametrize("core", CORES)
def test_kernels_compile_for_every_core(core: str, level: str, tmp_path: Path) -> None:
    """Freestanding; by GCC, which has the assembler take every instruction for the core's own."""
    compiler = shutil.which("arm-none-eabi-gcc")
    if not compiler:
        pytest.skip("arm-none-eabi-gcc is not installed")
    source = tmp_path / "kernels.c"
    lines = dict.fromkeys(
        REAL.read_text("utf-8").splitlines() + PROGRAM.read_text("utf-8").splitlines()
    )
    ours = ('#include "ec_',)
    includes = [line for line in lines if line.startswith(ours)]
    source.write_text("\n".join([*includes, "int nothing;", ""]), encoding="utf-8")
    command = [compiler, f"-mcpu={core}", "-mthumb", "-ffreestanding", level, *STRICT]
    subprocess.run([*command, "-c", str(source), "-o", str(tmp_path / "kernels.o")], check=True)
