"""Weights in memories and sections of the user's: built, run and held to the model."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from edgeconv.run.build.sibling import runs_somewhere
from edgeconv.run.build.toolchain import find_compiler
from edgeconv.target import board as boards
from tests import onnx_models

pytestmark = pytest.mark.usefixtures("unoptimised")


@pytest.mark.parametrize("as_c", [False, True])
def test_parts_in_flash_and_copied_to_ram(tmp_path: Path, as_c: bool) -> None:
    """Under an emulator, whose flash a run of the first does not reach."""
    board = boards.load("mps3-an547" if not as_c else "generic-riscv32")
    find_compiler(board)
    runs_somewhere(board)
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    places = {"stem": "QSPI", "d*": "DTCM", "arena": "ISRAM"}
    if as_c:  # the image as a whole
        places = {"weights": "RAM"}
    options = CompileOptions(model, board.name, places=places, weights_as_c=as_c)
    project, notes = compile_model(options, tmp_path / "net", build=True)
    assert any("copied there at start" in note for note in notes)
    rows = [*project.report["flash"]["regions"], *project.report["ram"]["regions"]]
    parts = project.report["placement"]["parts"]
    held = {row["name"]: row["weights"] for row in rows if row.get("weights")}
    for part in parts[0 if as_c else 1 :]:
        assert held[part["memory"]] == part["bytes"]
    assert verify_project(project.directory, model=model).passed


@pytest.mark.parametrize("as_c", [False, True])
def test_a_section_of_the_users(tmp_path: Path, as_c: bool) -> None:
    model = onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
    options = CompileOptions(model, "generic-c", weights_as_c=as_c)
    project, _ = compile_model(options, tmp_path / "net")
    source = f"net_weights.{'c' if as_c else 'S'}"
    compiler = find_compiler(project.board())
    build = [*compiler.command, "-std=c11", "-Wall", "-Werror", "-I.", "-c", source, "-o", "w.o"]
    for flags, wanted in (([], ".rodata"), (["-DNET_WEIGHTS_SECTION=.ext_flash"], ".ext_flash")):
        subprocess.run([*build, *flags], check=True, cwd=project.directory)
        with (project.directory / "w.o").open("rb") as stream:
            elf = ELFFile(stream)
            table = elf.get_section_by_name(".symtab")
            assert isinstance(table, SymbolTableSection)
            symbols = table.get_symbol_by_name("net_weights")
            assert symbols
            assert len(symbols) == 1
            symbol = symbols[0]
            section = elf.get_section(symbol["st_shndx"])
            assert section.name.startswith(wanted)
            assert not section["sh_flags"] & 1  # of no use to write to
