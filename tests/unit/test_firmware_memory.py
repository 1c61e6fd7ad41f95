"""memcpy, memmove and memset of firmware images, run here."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import ROOT

PROGRAM = r"""
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
FUNCTIONS
int main(void)
{
    enum { ROOM = 96 };
    static union { uint32_t words[ROOM / 4]; unsigned char bytes[ROOM]; } memory;
    int wrong = 0;
    for (int from = 0; from < 24; from++)
        for (int to = 0; to < 24; to++)
            for (int n = 0; n < 64; n++) {
                for (int i = 0; i < ROOM; i++)
                    memory.bytes[i] = (unsigned char)i;
                own_memmove(memory.bytes + to, memory.bytes + from, (size_t)n);
                for (int i = 0; i < ROOM; i++)
                    wrong += memory.bytes[i] != (i >= to && i < to + n ? i - to + from : i);
            }
    printf("%d\n", wrong);
    return 0;
}
"""


ARM = "arm-linux-gnueabihf-gcc"
COMMANDS = {
    "host": (["gcc", "-O3"], []),
    "Thumb": ([ARM, "-O3", "-mthumb", "-mtune=cortex-m7", "-static"], ["qemu-arm"]),
    "Thumb for size": ([ARM, "-Os", "-mthumb", "-static"], ["qemu-arm"]),
}


@pytest.mark.parametrize("way", COMMANDS)
def test_memmove_over_itself(way: str, tmp_path: Path) -> None:
    """In either direction, where memcpy, which promises nothing of overlaps, would go wrong."""
    compiler, emulator = COMMANDS[way]
    for program in (compiler[0], *emulator):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    startup = ROOT / "codegen" / "templates" / "firmware" / "startup.c.j2"
    text = startup.read_text(encoding="utf-8")
    first, last = map(text.index, ("/* The empty asm keeps", "__attribute__((weak)) int memcmp"))
    functions = re.sub(r"\b(mem(?:cpy|move|set))\(", r"own_\1(", text[first:last])
    source, binary = tmp_path / "memory.c", tmp_path / "memory"
    source.write_text(PROGRAM.replace("FUNCTIONS", functions), encoding="utf-8")
    subprocess.run([*compiler, "-fno-builtin", str(source), "-o", str(binary)], check=True)
    done = subprocess.run([*emulator, str(binary)], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
