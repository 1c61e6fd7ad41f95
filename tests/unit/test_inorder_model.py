"""The model of an in-order core against cycles that were measured on one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from inorder.program import Core, Program, build

from edgeconv.target import board as boards

TOOLS = ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", "qemu-aarch64", "cc")
TIMES = 512
_SOURCE = """
static float memory[64];
__attribute__((noinline)) void kernel(float *p)
{{
    __asm__ volatile("{text}" : : "r"(p) : "memory", "x1", "x2", {vectors});
}}
int main(void) {{ kernel(memory); return 0; }}
"""
ADDS = "fmla v{n}.4s, v30.4s, v31.s[0]; "
# Of instructions their cycles: on Cortex-A53 as daniestevez/qsdr, tests/instruction_benchmark,
# measured them; of Cortex-A55 what differs (Tencent/ncnn, developer guide, A53 and A55 dual issue).
CASES = {
    "raspberry-pi-3": {
        "ldr q{n}, [%0]": 2,
        "ldp q{n}, q{m}, [%0]": 4,
        "ins v{n}.d[1], x1; ins v{m}.d[1], x2": 1,
        "ldr d{n}, [%0]; ins v{m}.d[1], x1": 1,
        ADDS + "ldr x1, [%0]": 1,
        "ldr x1, [%0]; " + ADDS + "nop": 2,
        ADDS + "ldr d{m}, [%0]": 2,
        ADDS + "ldr q{m}, [%0]": 3,
        "str q{n}, [%0]; fadd v{m}.4s, v30.4s, v31.4s": 2,
    },
    "quartz64-a": {
        ADDS + "ldr d{m}, [%0]": 1,
        ADDS + "ins v{m}.d[1], x1": 1,
        ADDS + "ldr q{m}, [%0]": 3,
    },
}


def _program(text: str) -> str:
    lines = (text.format(n=n % 8, m=8 + n % 8) for n in range(TIMES))
    vectors = ", ".join(f'"v{n}"' for n in range(32))
    return _SOURCE.format(text="\\n".join(lines), vectors=vectors)


@pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason="no compiler or emulator of AArch64")
@pytest.mark.parametrize("name", CASES)
def test_instructions_take_the_cycles_that_were_measured(name: str, tmp_path: Path) -> None:
    board, plugin = boards.load(name), build(tmp_path)
    for text, cycles in CASES[name].items():
        program = Program(_program(text), board, tmp_path / "case")
        assert round(program.cycles(plugin, Core()).near / TIMES, 1) == cycles, text
