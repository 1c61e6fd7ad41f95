"""Every board that is known compiles, builds and verifies a real network in one command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeconv import board as boards
from edgeconv.build import find_compiler, find_emulator, undefined_symbols
from edgeconv.build.project import Project
from edgeconv.errors import EdgeconvError
from tests.command import Command

MODEL = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits-cnn.onnx"
ALLOWED = {"memcpy", "memset", "memmove", "memcmp"}


@pytest.mark.parametrize("name", boards.names())
def test_board(name: str, tmp_path: Path, edgeconv: Command) -> None:
    board = boards.load(name)
    try:
        find_compiler(board)
        find_emulator(board)
    except EdgeconvError as error:
        pytest.skip(f"{name}: {error}")
    directory = tmp_path / "digits"
    done = edgeconv("compile", MODEL, "--board", name, "-o", directory, "--build", "--verify")
    assert done.status == 0, done.stderr
    report = json.loads((directory / "report.json").read_text())
    assert report["board"] == name
    assert report["isa"] == board.isa
    assert report["ram"]["arena"] == report["ram"]["arena_lower_bound"]
    assert report["flash"]["code"] > 0
    binary = Project.open(directory).build()
    network = next(path for source, path in binary.objects.items() if source == "digits_cnn.c")
    assert set(undefined_symbols(network)) <= ALLOWED
