"""A valid board file of a microcontroller, and the errors of changed ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError, Exit
from edgeconv.target import board as boards
from edgeconv.target.host import Host

FOLDER = Path(__file__).resolve().parents[1] / "boards"
X86 = Host("x86_64", "Example CPU", frozenset({"sse2"}), None, 4, ())

FIRMWARE = """\
schema = 1
name = "tiny"
description = "A microcontroller"
arch = "armv7e-m"
os = "none"
isa = "scalar"
clock = "480MHz"
macs_per_cycle = 1.0
fpu = "fpv5-d16"
float_abi = "hard"
[[cache]]
level = 1
size = "16KiB"
line = "32B"
bandwidth = "8B/cycle"
[[memory]]
name = "flash"
kind = "flash"
base = 0x0800_0000
size = "2MiB"
[[memory]]
name = "RAM"
kind = "sram"
base = 0x2000_0000
size = "128KiB"
bandwidth = "400MB/s"
latency = "10ns"
[energy]
mac = "4.6pJ"
idle = "0.5W"
source = "an example"
byte = {L2 = "12pJ"}
[firmware]
stack = "4KiB"
interrupts = 150
[toolchain]
cc = ["arm-none-eabi-gcc"]
flags = ["-mcpu=cortex-m7", "-mthumb"]
[run]
kind = "none"
"""


def message(folder: Path, text: str) -> str:
    """The error of a board file behind its path: one line, wrong usage."""
    path = folder / "tiny.toml"
    path.write_text(text)
    with pytest.raises(EdgeconvError) as caught:
        boards.check(path, X86)
    assert caught.value.code is Exit.USAGE
    assert "\n" not in str(caught.value)
    return str(caught.value).partition(str(path))[2]


def changed(old: str, new: str) -> str:
    """FIRMWARE with one mistake."""
    assert FIRMWARE.count(old) == 1
    return FIRMWARE.replace(old, new)
