"""A firmware of a few lines, its linker script and its board."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from edgeconv.run.build.compile import Binary
from edgeconv.run.build.toolchain import Compiler
from edgeconv.target import board as boards
from edgeconv.target.board import Board, Memory

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
    .net_arena (NOLOAD) : ALIGN(16) { KEEP(*(.bss.net_arena)) } > TCM AT > TCM
    .net_arena_sram (NOLOAD) : ALIGN(16) { KEEP(*(.bss.net_arena_sram)) } > SRAM AT > SRAM
    .bss (NOLOAD) : { *(.bss .bss.* COMMON) } > TCM AT > TCM
    /DISCARD/ : { *(.ARM.exidx* .comment) }
}
"""


MEMORY = (
    Memory("Flash", "flash", 0x10000, 0),
    Memory("TCM", "tcm", 0x1000, 0x20000000),
    Memory("SRAM", "sram", 0x2000, 0x24000000),
)


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
