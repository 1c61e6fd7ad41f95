from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from edgeconv import board as boards
from edgeconv.board import Board, Memory
from edgeconv.build.abi import check_objects
from edgeconv.build.compile import Binary
from edgeconv.build.elf import build_attributes, identity, read_sections, symbols
from edgeconv.build.image import check_image, check_network
from edgeconv.build.toolchain import Compiler
from edgeconv.build.usage import does_not_fit, overflows, region_usage, usage_table
from edgeconv.errors import EdgeconvError

ARM = "arm-none-eabi-gcc"
M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
CODE = """\
#define IN(name) __attribute__((section(name), used))
IN(".rodata.net_weights") const unsigned char net_weights[5000] = {1};
IN(".bss.net_arena") unsigned char net_arena[2048];
IN(".bss.net_arena_sram") unsigned char net_arena_sram[1024];
volatile int counter, initial = 3;
#ifdef CALLS
void elsewhere(void) __attribute__((weak));
#elif defined MISSES
void elsewhere(void);
#else
static void elsewhere(void) {}
#endif
void Reset_Handler(void) { for (;;) { counter += initial; elsewhere(); } }
"""
SCRIPT = """\
ENTRY(Reset_Handler)
MEMORY
{
    FLASH (rx)  : ORIGIN = 0x00000000, LENGTH = 0x10000 /* Flash, flash */
    TCM   (rwx) : ORIGIN = 0x20000000, LENGTH = 0x1000 /* TCM, tcm */
    SRAM  (rwx) : ORIGIN = 0x24000000, LENGTH = 8192
}
SECTIONS
{
    .weights : ALIGN(64) { KEEP(*(.rodata.net_weights)) } > FLASH
    .text : { *(.text .text.*) } > FLASH
    .rodata : { *(.rodata .rodata.*) } > FLASH
    .stack (NOLOAD) : ALIGN(8)
    {
        firmware_stack_bottom = .;
        . += 256;
        firmware_stack_top = .;
    } > TCM
    .data : ALIGN(4) { *(.data .data.*) } > TCM AT > FLASH
    .net_arena (NOLOAD) : ALIGN(16) { KEEP(*(.bss.net_arena)) } > TCM
    .net_arena_sram (NOLOAD) : ALIGN(16) { KEEP(*(.bss.net_arena_sram)) } > SRAM
    .bss (NOLOAD) : { *(.bss .bss.* COMMON) } > TCM
    /DISCARD/ : { *(.ARM.exidx* .comment) }
}
"""
MEMORY = (
    Memory("Flash", "flash", 0x10000, 0),
    Memory("TCM", "tcm", 0x1000, 0x20000000),
    Memory("SRAM", "sram", 0x2000, 0x24000000),
)
REPORT: dict[str, Any] = {
    "program": {"name": "net"},
    "ram": {
        "stack_bound": 100,
        "regions": [
            {"name": "TCM", "kind": "tcm", "arena": 2048, "io": 0, "data": 8, "stack": 256},
            {"name": "SRAM", "kind": "sram", "arena": 1024, "io": 0, "data": 0, "stack": 0},
        ],
    },
    "flash": {
        "weights": 5000,
        "regions": [{"name": "Flash", "weights": 5000, "code": None, "rodata": 4}],
    },
}


def board(memory: tuple[Memory, ...] = MEMORY) -> Board:
    return replace(boards.load("mps2-an386"), memory=memory)


def run(*command: str | Path) -> None:
    if not shutil.which(str(command[0])):
        pytest.skip(f"{command[0]} is not installed")
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


def binary(path: Path, on: Board, **objects: Path) -> Binary:
    return Binary(path, on, Compiler((ARM,), "gcc", ""), objects)


@dataclass(frozen=True, slots=True)
class Firmware:
    folder: Path

    def __call__(self, script: str = SCRIPT, *flags: str) -> Path:
        """A linked image."""
        image = self.folder / "net.elf"
        (self.folder / "code.c").write_text(CODE)
        (self.folder / "net.ld").write_text(script)
        source = self.folder / "code.c"
        link = ["-nostdlib", f"-Wl,-T,{self.folder / 'net.ld'}"]
        run(ARM, *M4, "-O1", *link, *flags, source, "-o", image)
        return image


@pytest.fixture
def firmware(tmp_path: Path) -> Firmware:
    return Firmware(tmp_path)


def contradictions(image: Path, report: Any = REPORT, on: Board | None = None) -> tuple[str, ...]:
    """What ``check_image`` finds."""
    try:
        check_image(binary(image, on or board()), report)
    except EdgeconvError as error:
        return error.details
    return ()


def changed(*path: str | int, to: object) -> dict[str, Any]:
    """REPORT with another value."""
    report = deepcopy(REPORT)
    entry: Any = report
    for key in path[:-1]:
        entry = entry[key]
    entry[path[-1]] = to
    return report


def test_an_image_as_promised(firmware: Firmware) -> None:
    image = firmware()
    assert contradictions(image) == ()
    code = read_sections(image).text
    assert contradictions(image, changed("flash", "regions", 0, "code", to=code)) == ()
    assert symbols(image)["net_arena"].size == 2048


@pytest.mark.parametrize(
    ("report", "message"),
    [
        (changed("flash", "weights", to=4999), "net_weights: 5,000 bytes, reported are 4,999"),
        (changed("ram", "regions", 0, "arena", to=2064), "net_arena: 2,048 bytes, reported"),
        (
            changed("ram", "regions", 1, "arena", to=0),
            "net_arena_sram: 1,024 bytes, reported are 0",
        ),
        (changed("ram", "regions", 0, "data", to=12), "data in TCM: 8 bytes, reported are 12"),
        (changed("ram", "regions", 0, "stack", to=248), "the stack: 256 bytes, reported are 248"),
        (changed("ram", "stack_bound", to=257), "the stack has 256 bytes, its bound is 257"),
        (changed("flash", "regions", 0, "code", to=1), "code in Flash: "),
        (
            changed("flash", "regions", 0, "rodata", to=0),
            "rodata in Flash: 4 bytes, reported are 0",
        ),
    ],
)
def test_sizes_other_than_reported(report: Any, message: str, firmware: Firmware) -> None:
    found = contradictions(firmware(), report)
    assert any(line.startswith(message) for line in found), found


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "net_weights)) } > FLASH",
            "net_weights)) } > SRAM",
            "net_weights lies in SRAM, planned was Flash",
        ),
        (
            "net_weights)) } > FLASH",
            "net_weights)) } > SRAM",
            ".weights has contents at start, which SRAM (sram) loses",
        ),
        ("net_arena)) } > TCM", "net_arena)) } > SRAM", "no part of the arena lies in TCM"),
        ("} > TCM AT > FLASH", "} > TCM", ".data has contents at start, which TCM (tcm) loses"),
        ("COMMON) } > TCM", "COMMON) } > FLASH", ".bss is written to, Flash is flash"),
        ("firmware_stack_top", "other_top", "firmware_stack_top is not defined"),
        ("0x24000000", "0x25000000", ".net_arena_sram at 0x25000000, 1,024 bytes, lies in no"),
        (". += 256", ". += 128", "the stack: 128 bytes, reported are 256"),
    ],
)
def test_places_other_than_planned(old: str, new: str, message: str, firmware: Firmware) -> None:
    assert old in SCRIPT
    found = contradictions(firmware(SCRIPT.replace(old, new)))
    assert any(line.startswith(message) for line in found), found


def test_a_region_that_is_smaller_than_the_script_says(firmware: Firmware) -> None:
    small = (MEMORY[0], replace(MEMORY[1], size=2100), MEMORY[2])
    found = contradictions(firmware(), on=board(small))
    assert any("runs past the end of TCM" in line for line in found), found


def test_an_undefined_symbol(firmware: Firmware) -> None:
    """A strong one fails the link; what is weak becomes a call to nowhere."""
    image, out = firmware(SCRIPT, "-DCALLS"), firmware.folder / "code.o"
    run(ARM, *M4, "-DCALLS", "-c", firmware.folder / "code.c", "-o", out)
    with pytest.raises(EdgeconvError, match="got elsewhere is undefined; 1 contradiction to"):
        check_image(binary(image, board(), code=out), REPORT)


def test_who_takes_what(firmware: Firmware) -> None:
    image = firmware()
    flash, tcm, sram = region_usage(image, image.with_name("net.ld"))
    assert (flash.name, flash.base, flash.size) == ("FLASH", 0, 0x10000)
    assert flash.shares[0].what == "net_weights"
    assert flash.shares[0].bytes == 5000
    assert {s.section: s.bytes for s in tcm.shares} | {"": 0} == {
        ".net_arena": 2048, ".stack": 256, ".data": 4, ".bss": 4, "": 0,
    }  # fmt: skip
    assert tcm.used == 256 + 4 + 12 + 2048 + 4  # 12 to align the arena
    assert sram.free == 8192 - 1024
    table = usage_table([flash, tcm, sram])
    assert table[0].startswith("FLASH: ")
    assert "         5,000  net_weights" in table[1]
    assert "TCM: 2,324 of 4,096 bytes, 1,772 free" in table


def linker(firmware: Firmware, script: str, *flags: str) -> Callable[[Sequence[str]], None]:
    def link(arguments: Sequence[str]) -> None:
        try:
            firmware(script, *flags, *arguments)
        except subprocess.CalledProcessError as error:
            raise EdgeconvError(error.stderr.decode()) from error

    return link


@pytest.mark.parametrize(
    ("old", "new", "region", "excess"),
    [
        ("LENGTH = 0x1000", "LENGTH = 0x800", "TCM", 2324 - 2048),
        ("LENGTH = 8192", "LENGTH = 1000", "SRAM", 24),
    ],
)
def test_what_does_not_fit_is_a_table(
    old: str, new: str, region: str, excess: int, firmware: Firmware
) -> None:
    link = linker(firmware, SCRIPT.replace(old, new))
    with pytest.raises(EdgeconvError) as caught:
        link(())
    log, image = str(caught.value), firmware.folder / "net.elf"
    assert overflows(log) == {region: excess}
    error = does_not_fit(link, image, firmware.folder / "net.ld", log)
    assert error
    assert f"{region} {excess:,} bytes too many" in str(error)
    assert any(
        line.startswith(f"{region}: ") and line.endswith(f", {excess:,} too many")
        for line in error.details
    ), error.details
    assert any("net_weights" in line for line in error.details)
    assert not image.exists()


def test_a_link_that_fails_for_another_reason(firmware: Firmware) -> None:
    link = linker(firmware, SCRIPT, "-DMISSES")
    with pytest.raises(EdgeconvError, match="undefined reference") as caught:
        link(())
    script = firmware.folder / "net.ld"
    assert does_not_fit(link, firmware.folder / "net.elf", script, str(caught.value)) is None


def test_the_words_of_both_linkers() -> None:
    gnu = "ld: region `RAM' overflowed by 1234 bytes\nld: region `FLASH' overflowed by 8 bytes"
    lld = "ld.lld: error: section '.bss' will not fit in region 'RAM': overflowed by 99 bytes"
    assert overflows(gnu) == {"RAM": 1234, "FLASH": 8}
    assert overflows(lld) == {"RAM": 99}


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


def network(tmp_path: Path, text: str) -> Binary:
    source, out = tmp_path / "net.c", tmp_path / "net.o"
    source.write_text(text)
    run("gcc", "-O1", "-c", source, "-o", out)
    return replace(binary(out, boards.load("host")), objects={"net.c": out})


def test_a_network_of_a_hosted_program(tmp_path: Path) -> None:
    text = "#include <string.h>\nvoid f(char *p, char *q, size_t n) { memcpy(p, q, n); }\n"
    built = network(tmp_path, text)
    sizes = built.sections(["net.c"])
    report = {
        "program": {"name": "net"},
        "flash": {"weights": 0, "code": sizes.text, "rodata": sizes.rodata},
    }
    check_network(built, report, "net.c")
    report["flash"] = {"weights": 0, "code": sizes.text + 1, "rodata": None}
    with pytest.raises(EdgeconvError, match=r"code of net.c: \d+ bytes, reported are \d+"):
        check_network(built, report, "net.c")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('int puts(const char *); void f(void) { puts(""); }', "puts is called, which is none of"),
        ("float sqrtf(float); float f(float x) { return 1 + sqrtf(x); }", "sqrtf is called"),
        ("int counter[10];", "zeroed variables of net.c: 40 bytes, reported are 0"),
    ],
)
def test_what_a_network_may_not_need(text: str, message: str, tmp_path: Path) -> None:
    report = {"program": {"name": "net"}, "flash": {"code": None, "rodata": None}}
    with pytest.raises(EdgeconvError, match=message):
        check_network(network(tmp_path, f"{text}\n"), report, "net.c")
