"""Every board that is known compiles, builds and verifies a real network in one command, and what
report.json says of its memory is what lies in the ELF."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from edgeconv.run.build import undefined_symbols
from edgeconv.run.build.project import Project
from edgeconv.target import board as boards
from edgeconv.target.board import Board, RunKind
from tests.command import Command
from tests.compilers import lightly
from tests.tools import available, representatives

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits-cnn.onnx"
ALLOWED = {"memcpy", "memset", "memmove", "memcmp"}
ALLOC, EXECUTE = 2, 4  # of the ELF specification


def every() -> list[ParameterSet]:
    """One board of each core; the others in `make test-all`."""
    quick = representatives(boards.names())
    return [
        pytest.param(name, marks=[] if name in quick else [pytest.mark.slow])
        for name in boards.names()
    ]


@pytest.mark.parametrize("name", every())
def test_board(name: str, tmp_path: Path, edgeconv: Command) -> None:
    """Firmware as it is shipped; of programs for Linux no size is stated beside that of the ELF."""
    with nullcontext() if boards.load(name).bare_metal else lightly():
        _compiled_and_verified(name, tmp_path, edgeconv)


def _compiled_and_verified(name: str, tmp_path: Path, edgeconv: Command) -> None:
    run = boards.load(name).run
    runs = run.kind is not RunKind.NONE or bool(run.siblings)
    board = available(name, to_run=runs)
    directory = tmp_path / "digits"
    wanted = ["--build", *(["--verify"] if runs else [])]
    done = edgeconv("compile", MODEL, "--board", name, "-o", directory, *wanted)
    assert done.status == 0, done.stderr
    report = json.loads((directory / "report.json").read_text())
    assert report["board"] == name
    assert report["isa"] == board.isa
    assert report["ram"]["arena"] == report["ram"]["arena_lower_bound"]
    assert (report["accuracy"] is not None) == runs
    project = Project.open(directory)
    binary = project.build()
    assert symbol_sizes(binary.path)["digits_cnn_weights"] == report["flash"]["weights"]
    network = binary.objects["digits_cnn.c"]
    if board.bare_metal:
        check_firmware(board, binary.path, report)
    else:
        code, rodata, data = section_sizes(network)
        assert (code, rodata, data) == (
            report["flash"]["code"],
            report["flash"]["rodata"],
            report["ram"]["data"],
        )
        assert set(undefined_symbols(network)) <= ALLOWED | {".TOC."}
    assert report["ram"]["stack_bound"] > 0
    if report["ram"]["stack_measured"] is not None:
        bound, measured = report["ram"]["stack_measured_bound"], report["ram"]["stack_measured"]
        assert measured <= bound <= 2 * measured


def check_firmware(board: Board, image: Path, report: dict[str, Any]) -> None:
    """Every byte that the linker placed is in the report, in the region it says."""
    starts = {region.name: region.base or 0 for region in board.memory}
    ends = dict(starts)
    for address, load, size in placed(image):
        for home in {address, load if load is not None else address}:
            (region,) = (
                r for r in board.memory if r.base is not None and 0 <= home - r.base < r.size
            )
            assert home + size <= (region.base or 0) + region.size
            ends[region.name] = max(ends[region.name], home + size)
    used = {name: end - starts[name] for name, end in ends.items()}
    rows = report["ram"]["regions"] + report["flash"]["regions"]
    assert {row["name"]: row["used"] for row in rows} == used
    assert report["ram"]["total"] == sum(used[region.name] for region in board.ram)
    assert report["flash"]["total"] == sum(used[region.name] for region in board.flash)
    assert report["ram"]["arena"] == symbol_sizes(image)["digits_cnn_arena"]
    assert not undefined_symbols(image)
    image_words(board, image.with_suffix(".bin").read_bytes())
    first = used[board.flash[0].name]
    assert image.with_suffix(".bin").stat().st_size == first


def image_words(board: Board, image: bytes) -> None:
    """What the chip looks for is in the image, and the vector table where it looks for that."""
    assert board.firmware
    for block in board.firmware.blocks:
        assert image[block.at : block.end] == struct.pack(f"<{len(block.words)}I", *block.words)
    if board.architecture.machine == "EM_ARM":
        stack, reset = struct.unpack_from("<2I", image, board.firmware.start)
        assert board.ram[0].base is not None
        assert 0 < stack - board.ram[0].base <= board.ram[0].size
        assert reset & 1, "Thumb"
    taken = [block.end for block in board.firmware.blocks if block.at > board.firmware.start]
    assert len(image) >= max(taken, default=0)


def placed(image: Path) -> Iterator[tuple[int, int | None, int]]:
    """(address, address in flash or None, bytes) of every section that takes memory."""
    with image.open("rb") as stream:
        elf = ELFFile(stream)
        for section in elf.iter_sections():
            if not (section["sh_flags"] & ALLOC and section["sh_size"]):
                continue
            address, load = section["sh_addr"], None
            for segment in elf.iter_segments("PT_LOAD"):
                if section["sh_type"] != "SHT_NOBITS" and segment.section_in_segment(section):
                    load = address - segment["p_vaddr"] + segment["p_paddr"]
            yield address, load, section["sh_size"]


def symbol_sizes(path: Path) -> dict[str, int]:
    with path.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return {symbol.name: symbol["st_size"] for symbol in table.iter_symbols()}


def section_sizes(path: Path) -> tuple[int, int, int]:
    """Code, constants with initial values, and variables of one object."""
    code = constants = variables = 0
    with path.open("rb") as stream:
        for section in ELFFile(stream).iter_sections():
            flags, size = section["sh_flags"], section["sh_size"]
            if not flags & ALLOC:
                continue
            nobits, writable = section["sh_type"] == "SHT_NOBITS", flags & 1
            code += size if flags & EXECUTE else 0
            constants += size if not flags & EXECUTE and not nobits else 0
            variables += size if writable else 0
    return code, constants, variables
