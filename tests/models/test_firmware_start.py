"""What the start-up code promises: a stack that overflows is seen, whatever runs before it, and
nothing that a bootloader has left on is lost."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.run.build import Completed, run_binary
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.firmware import FIRMWARE_LIBRARIES, FIRMWARE_LINK
from edgeconv.run.build.project import Project
from edgeconv.target.board import Board
from tests import onnx_models
from tests.tools import available, booting

CORTEX_M = ("microbit", "mps2-an386", "mps2-an500", "mps3-an547")
BOOTING = (*CORTEX_M, "generic-riscv32")
OVERFLOWED = 103


@dataclass(frozen=True, slots=True)
class Booted:
    """A network as firmware that has run: its output, and the bytes of stack that it took."""

    project: Project
    binary: Binary
    output: bytes
    stack: int

    def run(self, image: Path) -> Completed:
        return run_binary(image, self.binary.board, cwd=self.project.directory, timeout=60)

    @property
    def output_file(self) -> Path:
        return self.project.directory / "net_output.bin"

    def linked(self, stack: int) -> Path:
        """With so many bytes of stack."""
        image = self.binary.path.with_name(f"with-{stack}.elf")
        size = f"-Wl,--defsym=firmware_stack_size={stack}"
        script = f"-Wl,-T,{self.project.linker_script}"
        command = [*self.binary.compiler.command, *self.binary.board.flags]
        command += [*map(str, self.binary.objects.values()), *FIRMWARE_LINK, size, script]
        command += [*FIRMWARE_LIBRARIES, "-o", str(image)]
        subprocess.run(command, cwd=self.project.directory, check=True)
        return image


def boot(board: Board, folder: Path) -> Booted:
    model = onnx_models.save(onnx_models.residual(), folder / "net.onnx")
    project, _ = pipeline.compile_model(CompileOptions(model, board.name), folder / "net")
    binary = project.build(run_here=True)
    inputs = bytes(range(1, 61)) * (project.inputs[0].bytes // 60 + 1)
    project.input_file.write_bytes(inputs[: project.inputs[0].bytes])
    done = run_binary(binary.path, board, cwd=project.directory, timeout=60)
    assert done.status == 0, done.stderr
    printed = re.search(r"stack (\d+)", done.stdout + done.stderr)
    assert printed
    output = project.directory / "net_output.bin"
    return Booted(project, binary, output.read_bytes(), int(printed[1]))


@pytest.mark.parametrize("name", booting(BOOTING))
def test_a_stack_that_is_too_small_is_a_failure(name: str, tmp_path: Path) -> None:
    """By a word or by most of it.  Under QEMU writes to no memory vanish: the answer is wrong."""
    booted = boot(available(name), tmp_path)
    step = booted.binary.board.architecture.stack_align
    enough = -(-booted.stack // step) * step
    done = booted.run(booted.linked(enough))
    assert (done.status, booted.output_file.read_bytes()) == (0, booted.output)
    for less in (step, 2 * step, 3 * step, 5 * step, enough // 2, enough - 64):
        done = booted.run(booted.linked(enough - less))
        assert done.status != 0, f"{enough - less} of {booted.stack} bytes"
        if less <= 24:  # further down the frame of a function may have skipped the guard
            assert done.status == OVERFLOWED
            assert "the stack has overflowed" in done.stdout + done.stderr


@pytest.mark.parametrize("name", CORTEX_M)
def test_the_stack_of_whoever_came_before_is_not_used(name: str, tmp_path: Path) -> None:
    """A bootloader, or a debugger that starts at the entry: the vector table has its word."""
    booted = boot(available(name), tmp_path)
    image = bytearray(booted.binary.path.read_bytes())
    with booted.binary.path.open("rb") as stream:
        vectors = ELFFile(stream).get_section_by_name(".vectors")
    assert vectors is not None
    at = vectors["sh_offset"]
    image[at : at + 4] = (0x0000_1000).to_bytes(4, "little")  # in flash, or in nothing
    elsewhere = booted.binary.path.with_name("elsewhere.elf")
    elsewhere.write_bytes(image)
    booted.output_file.unlink()
    done = booted.run(elsewhere)
    assert done.status == 0, done.stdout + done.stderr
    assert booted.output_file.read_bytes() == booted.output


# enable_caches on registers that remember what was written: address, value.
CACHES = """\
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static uint32_t dummy, ccr, last;
static uint32_t *at(uint32_t address)
{{
    if (last)
        printf("%x %x\\n", last, dummy);
    last = 0;
    if (address == 0xe000ed14u)
        return &ccr;
    dummy = address == 0xe000ed78u ? 3u : address == 0xe000ed80u ? 1u << 13 | 1u << 3 : 0;
    last = address < 0xe000ef50u ? 0 : address;
    return &dummy;
}}
#define REGISTER(address) (*at(address))
{function}
int main(int argc, char **argv)
{{
    ccr = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 0;
    enable_caches();
    at(0);
    printf("ccr %x\\n", ccr);
    return 0;
}}
"""
BY_SET_AND_WAY = ["0", "40000000", "20", "40000020"]
INVALIDATE, CLEAN = "e000ef60", "e000ef74"


@pytest.mark.parametrize(("ccr", "operation"), [("0", INVALIDATE), ("0x10000", CLEAN)])
def test_a_data_cache_that_is_on_is_written_back(ccr: str, operation: str, tmp_path: Path) -> None:
    """One that is off has nothing valid in it; both before the instruction cache."""
    native = available("generic-c")
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    project, _ = pipeline.compile_model(CompileOptions(model, "stm32h743"), tmp_path / "net")
    startup = (project.directory / "startup.c").read_text()
    function = re.search(r"static void enable_caches\(void\)\n\{.*?\n\}\n", startup, re.DOTALL)
    assert function
    body = re.sub(r"__asm__ volatile\([^;]*;", ";", function[0])
    (tmp_path / "caches.c").write_text(CACHES.format(function=body))
    program = tmp_path / "caches"
    subprocess.run(
        ["cc", "-D__ARM_ARCH=7", "-Wno-builtin-macro-redefined", "caches.c", "-o", program],
        cwd=tmp_path,
        check=True,
    )
    lines = run_binary(program, native, [ccr]).stdout.splitlines()
    assert lines[:4] == [f"{operation} {value}" for value in BY_SET_AND_WAY]
    assert lines[4:] == ["e000ef50 0", "ccr 30000"]
