"""The board files: every one loads, every number names its source, and mistakes are explained."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeconv.base.errors import EdgeconvError
from edgeconv.base.quantities import DIMENSIONS, parse
from edgeconv.target import board as boards
from tests.board_example import FIRMWARE, FOLDER, X86, changed, message
from tests.tools import representatives

FILES = sorted(FOLDER.glob("*.toml"))
CLASSES = sorted((FOLDER / "classes").glob("*.toml"))
PROMISED = {
    *(
        "raspberry-pi-3",
        "quartz64-a",
        "odroid-xu3",
        "odroid-xu3-a7",
        "jetson-tx1",
        "raspberry-pi-4",
        "raspberry-pi-5",
        "graviton3",
    ),
    *("xeon-silver-4208", "core-i7-11700k", "zen4", "power10-s1024"),
    *("stm32h743", "stm32f407", "nrf52840", "microbit"),
    *("mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547"),
}
COUNTERS = ("schema", "level")  # no properties of a board
# A line of these files: one key and a value on that line, perhaps followed by a comment.
ENTRY = re.compile(r"(?P<key>\w+) = (?P<value>(?:\"[^\"]*\"|[^\"#])+)(?P<comment># \S.*)?")


def is_number(key: str, value: object) -> bool:
    """``value`` is a number, or a quantity with its unit."""
    if key in COUNTERS or isinstance(value, bool):
        return False
    return isinstance(value, int | float) or any(is_quantity(value, name) for name in DIMENSIONS)


def is_quantity(value: object, dimension: str) -> bool:
    try:
        return parse(value, dimension) > 0
    except EdgeconvError:
        return False


def without_source(text: str) -> Iterator[str]:
    """The lines that state a number with no comment behind them and none directly above."""
    above = False
    for line in text.splitlines():
        entry = ENTRY.fullmatch(line)
        if entry is None:
            assert not line or line[0] in "#[", f"not one entry on one line: {line}"
        else:
            value = tomllib.loads(line)[entry["key"]]
            if is_number(entry["key"], value) and not (entry["comment"] or above):
                yield line
        above = line.startswith("# ")


def test_the_promised_boards_are_there() -> None:
    assert {path.stem for path in FILES} >= PROMISED


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_board_loads(path: Path) -> None:
    board = boards.check(path, X86)
    assert board.name == path.stem
    assert board.bare_metal == (board.firmware is not None)
    if board.bare_metal:
        assert board.flash
        assert board.ram
        assert board.clock_hz
        assert board.macs_per_cycle
        assert board.firmware
        assert board.firmware.stack < board.ram[0].size, "variables have to fit beside it"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nearer_memory_is_no_slower(path: Path) -> None:
    board = boards.check(path, X86)
    for regions in (board.ram, board.flash):
        speeds = [region.bandwidth for region in regions if region.bandwidth]
        assert speeds == sorted(speeds, reverse=True)
    rates = [cache.bandwidth for cache in board.caches if cache.bandwidth]
    assert rates == sorted(rates, reverse=True)
    waits = [cache.latency for cache in board.caches if cache.latency]
    assert waits == sorted(waits)


@pytest.mark.parametrize("path", [*FILES, *CLASSES], ids=lambda path: path.stem)
def test_every_number_names_its_source(path: Path) -> None:
    assert list(without_source(path.read_text())) == []


def test_a_number_without_a_source_is_found() -> None:
    text = '# head\n\n[[cache]]\nlevel = 1\nsize = "1KiB" # one\n# two\nline = "64B"\nways = 4\n'
    assert list(without_source(text)) == ["ways = 4"]
    assert list(without_source('# far above\n\nclock = "1GHz"')) == ['clock = "1GHz"']
    assert list(without_source('name = "a # b"\nstatic = true\ncc = ["gcc-12"]')) == []


# Of float32, by an FPU and by the compiler's library.
_PRODUCTS = {"EM_ARM": ("vmul.f32", "__aeabi_fmul"), "EM_RISCV": ("fmul.s", "__mulsf3")}


@pytest.mark.parametrize(
    "name", [n for n in representatives(boards.names()) if boards.load(n).bare_metal]
)
def test_the_compiler_takes_the_flags_of_firmware(name: str, tmp_path: Path) -> None:
    """And compiles floats as the board says: with its FPU, or with calls."""
    board = boards.load(name)
    compiler = shutil.which(board.toolchain.cc[0])
    if compiler is None:
        pytest.skip(f"{board.toolchain.cc[0]} is not installed")
    source, output = tmp_path / "product.c", tmp_path / "product.s"
    source.write_text("float product(float a, float b) { return a * b; }\n")
    command = [compiler, *board.flags, "-O1", "-S", str(source), "-o", str(output)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assembly = output.read_text()
    product, call = _PRODUCTS[board.architecture.machine]
    assert (product in assembly) == board.has_fpu
    assert (call in assembly) == (not board.has_fpu)


def test_the_example_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(FIRMWARE)
    board = boards.check(path, X86)
    assert board.energy is not None
    assert board.energy.byte == {"L2": pytest.approx(12e-12)}
    assert board.flags[-2:] == ("-mfpu=fpv5-d16", "-mfloat-abi=hard")
    assert board.ram[0].latency == pytest.approx(10e-9)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"480MHz"', '"480"', ": clock: got '480'; a frequency needs its unit: Hz, kHz, MHz, GHz"),
        ('"480MHz"', "480", ": clock: got 480; a frequency needs its unit"),
        ('"480MHz"', '"480KiB"', ": clock: got '480KiB'; a frequency has one of the units Hz"),
        ('"8B/cycle"', '"8MB/s"', ": cache[0].bandwidth: got '8MB/s'; a bandwidth per cycle has"),
        ('"400MB/s"', '"4B/cycle"', ": memory[1].bandwidth: got '4B/cycle'; a bandwidth has one"),
        ('"10ns"', '"10cycles"', ": memory[1].latency: got '10cycles'; a time has one of"),
        ('"4.6pJ"', '"4.6"', ": energy.mac: got '4.6'; an energy needs its unit"),
        ('"12pJ"', '"12W"', ": energy.byte.L2: got '12W'; an energy has one of the units"),
        ('"0.5W"', '"0.5pJ"', ": energy.idle: got '0.5pJ'; a power has one of the units"),
        ('"4KiB"', '"4KB"', ": firmware.stack: got '4KB'; KB may mean powers of 1000"),
        ('"scalar"', '"scaler"', ": isa: got 'scaler'; no such instruction set; did you mean sca"),
        ("0x2000_0000", "0x0810_0000", ": memory[1].base: got 0x8100000; 'RAM' overlaps 'flash'"),
        ('"16KiB"', '"-16KiB"', ": cache[0].size: got '-16KiB'; a size is expected"),
        ('"sram"', '"ram"', ': memory[1].kind: got "ram"; must be one of flash, tcm, sram, dram'),
        ("base = 0x2000_0000\n", "", ": memory[1].base: is missing; address of the first byte"),
        ('"-mthumb"', '"-mfpu=vfpv4"', ": toolchain.flags[1]: got '-mfpu=vfpv4'; the keys fpu"),
        ('"-mthumb"', '"-mfloat-abi=soft"', ": toolchain.flags[1]: got '-mfloat-abi=soft'; the"),
        ('"-mthumb"', '"-ffast-math"', ": toolchain.flags[1]: got '-ffast-math'; emitted C relies"),
        ('"-mthumb"', '"-Ofast"', ": toolchain.flags[1]: got '-Ofast'; emitted C relies on IEEE"),
        ('gcc"', 'gcc -ffast-math"', ": toolchain.cc[0]: got '-ffast-math'; emitted C relies on"),
        ('"fpv5-d16"', '"none"', ": float_abi: got 'hard'; a core whose fpu is \"none\" has"),
        ('"hard"', '"soft"', ": float_abi: got 'soft'; the fpu would not be used"),
        ('float_abi = "hard"\n', "", ': float_abi: an fpu, here "fpv5-d16", needs it; write'),
        ('"fpv5-d16"', '"fpv9"', ': fpu: got "fpv9"; must be one of none, '),
        ('stack = "4KiB"\n', "", ": firmware.stack: is missing; kept free for the stack"),
        ('kind = "flash"', 'kind = "dram"', ": memory: got dram, sram; firmware starts from a"),
        ("= 1.0", "= 0", ": macs_per_cycle: got 0; must be more than 0"),
        ("interrupts = 150", "interrupts = 481", ": firmware.interrupts: got 481; must be at most"),
        ('mac = "4.6pJ"', 'run = "1W"', ": energy.byte: got {'L2': '12pJ'}; run of the same table"),
        (
            'idle = "0.5W"',
            'run = "0.5W"',
            ": energy.mac: got '4.6pJ'; run of the same table has it",
        ),
        ('mac = "4.6pJ"\n', "", ": energy.mac: is missing; of one float32 multiply-add, where"),
        ("[energy]", "[energie]", ": energie: no such key; did you mean energy?"),
    ],
)
def test_a_mistake_names_the_field(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert message(tmp_path, changed(old, new)).startswith(expected)
