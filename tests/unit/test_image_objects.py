"""Objects that were built for another processor than the board's."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.run.build.abi import check_objects
from edgeconv.run.build.elf import build_attributes, identity
from edgeconv.target import board as boards
from tests.tiny_firmware import ARM, M4, Firmware, binary, board, run


@pytest.fixture
def firmware(tmp_path: Path) -> Firmware:
    return Firmware(tmp_path)


FLOAT = "float scale(float x, float y) { return x * y; }\n"


def violations(name: str, tmp_path: Path, compiler: str, *flags: str) -> tuple[str, ...]:
    """What ``check_objects`` finds in an object for a board."""
    source, out = tmp_path / "scale.c", tmp_path / "scale.o"
    source.write_text(FLOAT)
    run(compiler, *flags, "-O1", "-c", source, "-o", out)
    try:
        check_objects(binary(out, boards.load(name), scale=out))
    except EdgeconvError as error:
        return error.details
    return ()


BUILDERS = {
    "microbit": ARM,
    "nrf52840": ARM,
    "stm32f407": ARM,
    "stm32h743": ARM,
    "mps2-an386": ARM,
    "mps2-an500": ARM,
    "mps3-an547": ARM,
    "odroid-xu3": "arm-linux-gnueabihf-gcc",
    "jetson-tx1": "aarch64-linux-gnu-gcc",
    "power10-s1024": "powerpc64le-linux-gnu-gcc",
    "zen4": "x86_64-linux-gnu-gcc",
}


@pytest.mark.parametrize("name", BUILDERS)
def test_objects_with_the_boards_own_flags(name: str, tmp_path: Path) -> None:
    assert violations(name, tmp_path, BUILDERS[name], *boards.load(name).flags) == ()


@pytest.mark.parametrize(
    ("name", "compiler", "flags", "message"),
    [
        (
            "mps2-an386",
            ARM,
            "-mcpu=cortex-m4 -mfloat-abi=soft",
            "passes floating-point arguments another way (Tag_ABI_VFP_args 0), the board's",
        ),
        (
            "mps2-an386",
            ARM,
            "-mcpu=cortex-m4 -mfloat-abi=softfp -mfpu=fpv4-sp-d16",
            "passes floating-point arguments another way",
        ),
        (
            "mps2-an386",
            ARM,
            "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv5-d16",
            "uses a floating-point unit (Tag_FP_arch 8), the board's is fpv4-sp-d16",
        ),
        (
            "mps2-an386",
            ARM,
            "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=vfpv4-d16",
            "may use double precision, the board's fpv4-sp-d16 has single only",
        ),
        (
            "microbit",
            ARM,
            "-mcpu=cortex-m4 -mfloat-abi=soft",
            "needs an architecture (Tag_CPU_arch 13, profile M)",
        ),
        (
            "microbit",
            ARM,
            "-mcpu=cortex-m4 -mfloat-abi=softfp -mfpu=fpv4-sp-d16",
            "uses a floating-point unit (Tag_FP_arch 6), the board's is none",
        ),
        (
            "mps2-an500",
            ARM,
            "-mcpu=cortex-m55 -mfloat-abi=hard",
            "uses the vector extension MVE, which the board's architecture does not have",
        ),
        (
            "odroid-xu3",
            ARM,
            "-mcpu=cortex-m4",
            "needs an architecture (Tag_CPU_arch 13, profile M)",
        ),
        ("mps2-an386", "x86_64-linux-gnu-gcc", "", "is for EM_X86_64 with 64 bits"),
        ("zen4", "aarch64-linux-gnu-gcc", "", "is for EM_AARCH64 with 64 bits"),
        (
            "jetson-tx1",
            "aarch64-linux-gnu-gcc",
            "-mbig-endian",
            "is for EM_AARCH64 with 64 bits, big",
        ),
    ],
)
def test_objects_for_another_processor(
    name: str, compiler: str, flags: str, message: str, tmp_path: Path
) -> None:
    thumb = ["-mthumb"] if compiler == ARM else []
    found = violations(name, tmp_path, compiler, *flags.split(), *thumb)
    assert any(line.startswith(f"scale: {message}") for line in found), found


def test_the_other_abi_of_power(tmp_path: Path) -> None:
    source, out = tmp_path / "old.S", tmp_path / "old.o"
    source.write_text("    .abiversion 1\n    .text\n    nop\n")
    run("powerpc64le-linux-gnu-gcc", "-c", source, "-o", out)
    with pytest.raises(EdgeconvError, match="old: has ABI version 1, the board's is ELFv2"):
        check_objects(binary(out, boards.load("power10-s1024"), old=out))


def test_one_object_of_many_is_found(firmware: Firmware) -> None:
    image = firmware()
    source, soft = firmware.folder / "soft.c", firmware.folder / "soft.o"
    source.write_text(FLOAT)
    run(ARM, "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=soft", "-c", source, "-o", soft)
    check_objects(binary(image, board()))
    with pytest.raises(EdgeconvError, match="not built for the board: .*1 violation") as caught:
        check_objects(binary(image, board(), soft=soft))
    assert caught.value.details[0].startswith("soft: passes floating-point")


def test_data_runs_anywhere(tmp_path: Path) -> None:
    source, out = tmp_path / "weights.S", tmp_path / "weights.o"
    source.write_text("    .section .rodata\n    .globl w\nw: .word 1, 2\n")
    run(ARM, "-mcpu=cortex-m7", "-c", source, "-o", out)
    check_objects(binary(out, boards.load("microbit"), weights=out))
    assert identity(out).machine == "EM_ARM"


def test_build_attributes(tmp_path: Path) -> None:
    source, out = tmp_path / "scale.c", tmp_path / "scale.o"
    source.write_text(FLOAT)
    run(ARM, *M4, "-c", source, "-o", out)
    found = build_attributes(out)
    assert (found["TAG_FP_ARCH"], found["TAG_ABI_VFP_ARGS"]) == (6, 1)
    run("gcc", "-c", source, "-o", out)
    assert build_attributes(out) == {}
