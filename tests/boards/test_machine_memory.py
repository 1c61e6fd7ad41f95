"""The memory maps of boards that QEMU has a machine for, against that machine.

A program of a few lines is loaded to the first flash region of the board file and uses its first
RAM region; it reads both ends of every region, and writes those of RAM.  What is wrong faults.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind

PROGRAM = """\
#include <stdint.h>
extern uint32_t stack_top[];
static void semihosting(int operation, const void *parameter)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = parameter;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}
static void leave(uint32_t status)
{
    const uint32_t exit[2] = {0x20026, status};
    semihosting(0x20, exit);
    for (;;)
        ;
}
static void fault(void)
{
    semihosting(4, "fault\\n");
    leave(1);
}
static const struct { uint32_t address, is_ram; } words[] = {WORDS};
static void reset(void)
{
    for (unsigned n = 0; n < sizeof words / sizeof *words; n++) {
        volatile uint32_t *const word = (volatile uint32_t *)words[n].address;
        const uint32_t found = *word;
        if (!words[n].is_ram)
            continue;
        *word = 0x5eedu + n;
        if (*word != 0x5eedu + n)
            fault();
        *word = found;
    }
    semihosting(4, "all there\\n");
    leave(0);
}
__attribute__((section(".vectors"), used)) const void *const vectors[8] = {
    stack_top, reset, fault, fault, fault, fault, fault, fault};
"""

SCRIPT = """\
ENTRY(vectors)
MEMORY
{{
    CODE (rx) : ORIGIN = {code.base:#x}, LENGTH = {code.size:#x}
    DATA (rw) : ORIGIN = {data.base:#x}, LENGTH = {data.size:#x}
}}
SECTIONS
{{
    .text : {{ KEEP(*(.vectors)) *(.text* .rodata*) }} > CODE
    .bss : {{ *(.data* .bss*) }} > DATA
}}
stack_top = {middle:#x};
"""

NOWHERE = 0xF000_0000  # the vendor's part of the system region, of which these have none
CORTEX_M = [name for name in boards.names() if boards.load(name).architecture.machine == "EM_ARM"]
MACHINES = [name for name in CORTEX_M if boards.load(name).run.kind is RunKind.QEMU_SYSTEM]


def ends(board: Board) -> str:
    """C initialisers for the first and the last word of every region."""
    return ", ".join(
        f"{{{address:#x}u, {int(not region.is_flash)}}}"
        for region in board.memory
        if region.base is not None
        for address in (region.base, region.base + region.size - 4)
    )


def build(board: Board, words: str, folder: Path) -> Path:
    """The program that tries ``words``, initialisers of that array."""
    code, data = board.flash[0], board.ram[0]
    assert data.base is not None
    source, script, image = folder / "words.c", folder / "words.ld", folder / "words.elf"
    source.write_text(PROGRAM.replace("WORDS", words))
    # The stack, in the middle of its region: the ends are read and written.
    script.write_text(SCRIPT.format(code=code, data=data, middle=data.base + data.size // 2))
    command = [board.toolchain.cc[0], *board.flags, "-O1", "-ffreestanding", "-nostdlib"]
    subprocess.run(
        [*command, "-T", script, source, "-o", image], check=True, capture_output=True, timeout=60
    )
    return image


def boot(board: Board, image: Path) -> subprocess.CompletedProcess[str]:
    quiet = ["-display", "none", "-serial", "null", "-monitor", "none", "-semihosting"]
    command = [*board.run.command, *quiet, "-kernel", str(image)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


@pytest.fixture(params=MACHINES)
def board(request: pytest.FixtureRequest) -> Board:
    found = boards.load(request.param)
    for tool in (found.toolchain.cc[0], found.run.command[0]):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    return found


def test_every_region_is_where_the_file_says(board: Board, tmp_path: Path) -> None:
    done = boot(board, build(board, ends(board), tmp_path))
    assert (done.returncode, "all there" in done.stdout + done.stderr) == (0, True), done


def test_an_address_without_memory_faults(board: Board, tmp_path: Path) -> None:
    done = boot(board, build(board, f"{{{NOWHERE:#x}u, 1}}", tmp_path))
    assert (done.returncode, "fault" in done.stdout + done.stderr) == (1, True), done
