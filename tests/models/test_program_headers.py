"""What a loader is told about firmware: its program headers against the memory map of the board.

Debuggers, bootloaders and emulators fill what a segment has beyond its bytes in the file with
zeros, from its load address on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import isqrt
from pathlib import Path

import numpy as np
import onnx
import pytest
from elftools.elf.elffile import ELFFile
from onnx import helper

from edgeconv.app import pipeline
from edgeconv.app.pipeline import CompileOptions
from edgeconv.run.build.compile import Binary
from edgeconv.run.build.project import Project
from edgeconv.search.memory.link import kept_free
from edgeconv.target import board as boards
from edgeconv.target.board import Board, Memory, RunKind
from edgeconv.target.board_folders import FOLDERS_VARIABLE
from tests import onnx_models
from tests.compilers import lightly
from tests.tools import available, booting, representatives

BARE_METAL = [name for name in representatives(boards.names()) if boards.load(name).bare_metal]
BOOTING = [name for name in BARE_METAL if boards.load(name).run.kind is RunKind.QEMU_SYSTEM]
# In 32 KiB the pool of `filling` reads rows of the wide tensor, which is nowhere whole; microbit
# has the same instructions.
FILLED = [name for name in BOOTING if name != "generic-mcu-nofpu"]
WITHOUT_FPU = "mps2-an385"  # takes seconds for megabytes

# As NXP's i.MX RT1060 has its memories: serial flash is mapped far above RAM.
FLASH_ABOVE_RAM = """\
schema = 1
name = "above"
description = "A Cortex-M7 that runs from serial flash"
arch = "armv7e-m"
os = "none"
isa = "scalar"
cpu = "Cortex-M7"
fpu = "fpv5-d16"
float_abi = "hard"

[[memory]]
name = "FlexSPI"
kind = "flash"
base = 0x6000_0000
size = "8MiB"

[[memory]]
name = "DTCM"
kind = "tcm"
base = 0x2000_0000
size = "128KiB"

[[memory]]
name = "OCRAM"
kind = "sram"
base = 0x2020_0000
size = "512KiB"

[firmware]
stack = "8KiB"
interrupts = 160

[toolchain]
cc = ["arm-none-eabi-gcc"]
flags = ["-mcpu=cortex-m7", "-mthumb"]

[run]
kind = "none"
"""


@pytest.fixture(autouse=True)
def light() -> Iterator[None]:
    with lightly():
        yield


def both_programs(project: Project) -> tuple[Binary, Binary]:
    """That for flashing, and that which runs here: on the board, or on a sibling."""
    return project.build(), project.build(run_here=True)


def region_of(board: Board, address: int, size: int) -> Memory:
    """The one region that has all ``size`` bytes from ``address`` on."""
    (found,) = (
        region
        for region in board.memory
        if region.base is not None
        and region.base <= address
        and address + size <= region.base + region.size
    )
    return found


def check_headers(board: Board, image: Path) -> None:
    """Flash is given the bytes of the file and nothing else; whatever starts without contents is
    loaded where it is; a segment is no part of another one; headers are in order of addresses."""
    run: list[range] = []
    with image.open("rb") as stream:
        for segment in ELFFile(stream).iter_segments("PT_LOAD"):
            address, load = segment["p_vaddr"], segment["p_paddr"]
            stored, size = segment["p_filesz"], segment["p_memsz"]
            assert size > 0
            assert stored in (0, size)
            region_of(board, address, size)
            assert region_of(board, load, size).is_flash == bool(stored)
            assert stored or load == address
            run.append(range(address, address + size))
    for before, after in pairwise(run):
        assert before.stop <= after.start


@pytest.mark.parametrize("io", ["caller", "arena"])
@pytest.mark.parametrize("name", BARE_METAL)
def test_headers_are_within_the_memory_map(name: str, io: str, tmp_path: Path) -> None:
    available(name, to_run=False)
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    project, _ = pipeline.compile_model(CompileOptions(model, name, io=io), tmp_path / "net")
    for image in both_programs(project):
        check_headers(image.board, image.path)


@pytest.mark.parametrize("io", ["caller", "arena"])
def test_flash_above_ram(io: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing between stack and variables but the initial values, whose segment is another one."""
    (tmp_path / "above.toml").write_text(FLASH_ABOVE_RAM)
    monkeypatch.setenv(FOLDERS_VARIABLE, str(tmp_path))
    board = available("above", to_run=False)
    model = onnx_models.save(onnx_models.classifier(), tmp_path / "net.onnx")
    options = CompileOptions(model, "above", io=io)
    project, _ = pipeline.compile_model(options, tmp_path / "net", build=True)
    for image in both_programs(project):
        check_headers(image.board, image.path)
    flash = board.flash[0].name
    (row,) = (r for r in project.report["flash"]["regions"] if r["name"] == flash)
    assert row["used"] == project.build().path.with_suffix(".bin").stat().st_size


def filling(board: Board) -> onnx.ModelProto:
    """A network with one tensor that fills the first RAM of ``board``, input and output included,
    and weights that take a quarter of its first flash."""
    channels, rng = 8, np.random.default_rng(4)
    room = board.ram[0].size - kept_free(board)
    # The wide tensor, which is read as a whole and so is no ring of rows, and the input's channel.
    side = isqrt(int(0.97 * room / 4 / (channels + 1)))
    wide = board.flash[0].size // 4 // (4 * (channels + 4))
    shapes = {"w0": (channels, 1, 1, 1), "w1": (channels, wide), "w2": (wide, 4)}
    weights = {name: rng.standard_normal(s, dtype=np.float32) / 9 for name, s in shapes.items()}
    make = helper.make_node
    nodes = [
        make("Conv", ["image", "w0"], ["sums"], name="wide"),
        make("Relu", ["sums"], ["wide"], name="bounded"),  # or the mean could be taken first
        make("ReduceL2", ["wide"], ["mean"], axes=[2, 3], name="mean"),  # a mean adds up rows
        make("Flatten", ["mean"], ["flat"], name="flatten"),
        make("Gemm", ["flat", "w1"], ["hidden"], name="hidden"),
        make("Relu", ["hidden"], ["relu"], name="relu"),
        make("Gemm", ["relu", "w2"], ["p"], name="dense"),
    ]
    return onnx_models.model(nodes, {"image": (1, 1, side, side)}, {"p": None}, weights)


@pytest.mark.parametrize("io", ["caller", "arena"])
@pytest.mark.parametrize(
    "name",
    [
        *booting(name for name in FILLED if name != WITHOUT_FPU),
        pytest.param(WITHOUT_FPU, marks=pytest.mark.slow),
    ],
)
def test_a_network_that_fills_the_ram_starts(name: str, io: str, tmp_path: Path) -> None:
    board = available(name)
    model = onnx_models.save(filling(board), tmp_path / "net.onnx")
    pipeline.compile_model(CompileOptions(model, name, io=io), tmp_path / "net")
    assert pipeline.verify_project(tmp_path / "net", model=model).passed
    report = Project.open(tmp_path / "net").report
    first = report["ram"]["regions"][0]
    assert first["arena"] + first["io"] > 0.8 * (board.ram[0].size - kept_free(board))
    assert report["flash"]["weights"] > 0.2 * board.flash[0].size
