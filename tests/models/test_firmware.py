"""Firmware of real networks: booted on every emulated machine, and the files to flash."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.run.build import run_binary
from edgeconv.run.build.project import Project
from edgeconv.search.fitting import UnfitError
from edgeconv.target import board as boards
from edgeconv.target.board import RunKind
from edgeconv.target.board_folders import FOLDERS_VARIABLE
from tests import onnx_models
from tests.command import Command
from tests.compilers import lightly
from tests.tools import available, booting, is_slow, representatives
from tests.weight_images import with_flipped

NETWORKS = sorted((Path(__file__).parent / "networks").glob("mlperf-tiny-*.onnx"))
# The micro:bit has too little RAM for these, and the mps2-an505 runs what the mps2-an386 does.
MACHINES = ("mps2-an386", "mps2-an500", "mps3-an547")
BARE_METAL = [name for name in representatives(boards.names()) if boards.load(name).bare_metal]
# Of every kind of core and division of memory one; the mps2-an505 has the memory of the mps2-an500.
FITTED = (
    *("microbit", "nrf52840", "stm32f407", "stm32h743", "mps2-an386", "mps2-an500", "mps3-an547"),
    *("esp32-c3", "generic-riscv32"),
)
# In every run each network boots on one machine or two, and each machine boots two or three;
# `make test-all` has them all.
BOOTED = {
    ("mlperf-tiny-ad", "mps2-an386"),
    ("mlperf-tiny-kws", "mps2-an500"),
    ("mlperf-tiny-kws", "mps3-an547"),
    ("mlperf-tiny-resnet8", "mps2-an386"),
    ("mlperf-tiny-resnet8", "mps3-an547"),
    ("mlperf-tiny-vww", "mps2-an500"),
}
# All others fit: where one no longer does, the plan or the choice of formats became worse.
TOO_LARGE = {
    ("mlperf-tiny-kws", "microbit"),
    ("mlperf-tiny-resnet8", "microbit"),
    ("mlperf-tiny-vww", "microbit"),
}
# In every run a network is fitted to boards with little memory, and booted on those with much.
LEFT_OUT = {
    ("mlperf-tiny-vww", "nrf52840"),  # the stm32f407 has the same core and less RAM
    *((path.stem, machine) for path in NETWORKS for machine in MACHINES),
}
BOOTING = [name for name in BARE_METAL if boards.load(name).run.kind is RunKind.QEMU_SYSTEM]
# A program starts and ends alike on all of Arm's cores: in every run that is tried on one of each
# architecture (Armv6-M, Armv7E-M, Armv8-M, Armv8.1-M).  tests/boards builds for the others.
ALIKE = ("generic-mcu-nofpu", "mps2-an385", "mps2-an500")


def one_each(names: Iterable[str]) -> list[ParameterSet]:
    """Boards as parameters of a test: those that are `ALIKE` in `make test-all` only."""
    return [pytest.param(n, marks=[pytest.mark.slow] if n in ALIKE else []) for n in names]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A network of which only results and files are asked: compiled with -O1."""
    with lightly():
        yield onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")


@pytest.mark.parametrize(
    ("path", "board"),
    [
        pytest.param(
            path,
            name,
            marks=[pytest.mark.slow] if (path.stem, name) in LEFT_OUT else [],
            id=f"{path.stem}-{name}",
        )
        for path in NETWORKS
        for name in FITTED
    ],
)
def test_which_networks_fit_which_boards(path: Path, board: str) -> None:
    options = CompileOptions(path, board)
    if (path.stem, board) in TOO_LARGE:
        with pytest.raises(UnfitError, match="this model takes at least [0-9,]+ bytes of RAM"):
            pipeline.decide(options)
    else:
        assert pipeline.decide(options).report["budget"]["fits"]


@pytest.mark.parametrize(
    ("path", "board"),
    [
        pytest.param(
            path,
            board,
            marks=[] if (path.stem, board) in BOOTED else [pytest.mark.slow],
            id=f"{path.stem}-{board}",
        )
        for path in NETWORKS
        for board in MACHINES
    ],
)
def test_network_boots_and_computes_the_same(
    path: Path, board: str, tmp_path: Path, edgeconv: Command
) -> None:
    available(board)
    directory = tmp_path / "out"
    edgeconv.ok("compile", path, "--board", board, "-o", directory, "--build", "--verify")
    report = json.loads((directory / "report.json").read_text())
    assert report["accuracy"]["sqnr_db"] > 100
    measured, bound = report["ram"]["stack_measured"], report["ram"]["stack_measured_bound"]
    assert measured <= bound <= 2 * measured
    shutil.rmtree(directory)


@pytest.mark.parametrize("name", booting(BOOTING))
def test_every_layer_is_compared(name: str, small: Path, tmp_path: Path) -> None:
    available(name)
    pipeline.compile_model(CompileOptions(small, name), tmp_path / "out")
    result = pipeline.verify_project(tmp_path / "out", model=small, layers=True)
    assert result.passed
    assert any(layer.difference for layer in result.layers)
    assert result.first_difference is None


@pytest.mark.parametrize(
    ("name", "io"),
    [
        pytest.param(name, io, marks=[pytest.mark.slow] if (i + j) % 2 or is_slow(name) else [])
        for i, name in enumerate(BOOTING)
        for j, io in enumerate(("caller", "arena"))
    ],
)
def test_weights_as_c_and_both_kinds_of_io(name: str, io: str, small: Path, tmp_path: Path) -> None:
    available(name)
    options = CompileOptions(small, name, io=io, weights_as_c=True)
    pipeline.compile_model(options, tmp_path / "out", build=True)
    assert pipeline.verify_project(tmp_path / "out", model=small).passed


@pytest.mark.parametrize("name", one_each(BARE_METAL))
def test_images_hold_the_program(name: str, small: Path, tmp_path: Path) -> None:
    """The .bin and the .hex are the same bytes, those of the ELF, with the weights in them."""
    board = available(name, to_run=False)
    project, _ = pipeline.compile_model(CompileOptions(small, name), tmp_path / "out", build=True)
    elf = project.build().path
    base = board.flash[0].base or 0
    image = elf.with_suffix(".bin").read_bytes()
    weights = (tmp_path / "out" / "net_weights.bin").read_bytes()
    assert weights in image
    hexed = intel_hex(elf.with_suffix(".hex").read_text())
    assert {base + at: byte for at, byte in enumerate(image) if base + at in hexed} == hexed
    symbols = addresses(elf)
    if board.architecture.is_riscv:  # starts with code instead of a table
        assert symbols["Reset_Handler"] == base
    else:
        stack, reset = (int.from_bytes(image[at : at + 4], "little") for at in (0, 4))
        assert stack == symbols["firmware_stack_top"]
        assert reset == symbols["Reset_Handler"]
        assert reset & 1, "the address of Thumb code is odd"
    assert not list(elf.parent.glob("*semihosting*"))


def test_a_damaged_image_says_so(small: Path, tmp_path: Path) -> None:
    board = available("mps2-an386")
    project, _ = pipeline.compile_model(CompileOptions(small, board.name), tmp_path / "out")
    image = (tmp_path / "out" / "net_weights.bin").read_bytes()
    elf = project.build(run_here=True).path
    elf.write_bytes(elf.read_bytes().replace(image, with_flipped(image, len(image) - 65)))
    done = run_binary(elf, board, cwd=project.directory, timeout=60)
    assert done.status == 7
    assert "weight image damaged" in done.stdout + done.stderr


def test_a_missing_input_says_so(small: Path, tmp_path: Path) -> None:
    board = available("mps2-an386")
    project, _ = pipeline.compile_model(CompileOptions(small, board.name), tmp_path / "out")
    done = run_binary(project.build(run_here=True).path, board, cwd=project.directory, timeout=60)
    assert done.status == 101
    assert "a file cannot be read or written" in done.stdout + done.stderr


@pytest.mark.parametrize("name", one_each(BOOTING))
def test_a_fault_ends_the_run(name: str, small: Path, tmp_path: Path) -> None:
    board = available(name)
    project, _ = pipeline.compile_model(CompileOptions(small, name), tmp_path / "out")
    main = project.directory / "main.c"
    text = main.read_text()
    counting = "    count_cycles();\n"
    assert text.count(counting) == 1
    undefined = "unimp" if board.architecture.is_riscv else "udf #0"
    trap = f'    __asm__ volatile("{undefined}");\n'
    main.write_text(text.replace(counting, f"{counting}{trap}"))
    done = run_binary(project.build(run_here=True).path, board, cwd=project.directory, timeout=60)
    assert done.status == 102
    assert "fault" in done.stdout + done.stderr


def test_an_arena_over_several_banks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fast memory that is too small holds what it can, the rest lies in the slow one."""
    available("mps2-an386")
    text = (boards.load("mps2-an386").path).read_text()
    text = re.sub(r'^name = "mps2-an386"', 'name = "tight"', text, flags=re.MULTILINE)
    text, changed = re.subn(
        r'(kind = "sram"\nbase = .*\nsize = )"[^"]*"', r'\1"64KiB"', text, count=1
    )
    assert changed == 1
    (tmp_path / "tight.toml").write_text(text)
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    (path,) = (path for path in NETWORKS if "resnet8" in path.stem)
    pipeline.compile_model(CompileOptions(path, "tight"), tmp_path / "out", build=True)
    assert pipeline.verify_project(tmp_path / "out", model=path).passed
    regions = Project.open(tmp_path / "out").report["ram"]["regions"]
    assert all(region["arena"] > 0 for region in regions)
    assert regions[0]["used"] <= 64 << 10


def test_what_does_not_fit_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edgeconv: Command
) -> None:
    """What only the linker can know: the code.  Fewer bits for weights do not make room for it."""
    available("microbit")
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    weights = pipeline.decide(CompileOptions(model, "microbit")).report["flash"]["weights"]
    text = boards.load("microbit").path.read_text()
    text = text.replace('name = "microbit"', 'name = "tight"')
    text = text.replace('"256KiB"', f'"{weights + 1024}B"')
    (tmp_path / "tight.toml").write_text(text)
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    with lightly("-O0"):
        done = edgeconv("compile", model, "--board", "tight", "-o", tmp_path / "out", "--build")
    assert done.status == 1
    assert "the firmware does not fit" in done.stderr
    assert re.search(r"FLASH: [\d,]+ of [\d,]+ bytes, [\d,]+ too many", done.stderr)
    for part in (".text", "net_weights"):
        assert part in done.stderr
    assert not (tmp_path / "out").exists()


def intel_hex(text: str) -> dict[int, int]:
    """Address -> byte."""
    found: dict[int, int] = {}
    upper = 0
    for line in text.split():
        record = bytes.fromhex(line.removeprefix(":"))
        assert sum(record) % 256 == 0, "checksum"
        count, address, kind = record[0], int.from_bytes(record[1:3], "big"), record[3]
        data = record[4 : 4 + count]
        if kind == 0:
            found.update({upper + address + i: byte for i, byte in enumerate(data)})
        elif kind in (2, 4):
            upper = int.from_bytes(data, "big") << (4 if kind == 2 else 16)
    return found


def addresses(path: Path) -> dict[str, int]:
    with path.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return {symbol.name: symbol["st_value"] for symbol in table.iter_symbols()}
