"""Programs of several threads compute the bytes that one thread computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt
import onnx
import pytest

from edgeconv.board import team
from edgeconv.build.project import Project
from edgeconv.options import CompileOptions
from edgeconv.pipeline import compile_model
from edgeconv.verify.inputs import ensure
from edgeconv.verify.run import run_program
from tests.tools import available

pytest.importorskip("onnxruntime", reason="random networks are made with it")
from tests.models.random_blocks import random_network

Outputs = dict[str, npt.NDArray[Any]]
NODES = 30
SEEDS, MORE_SEEDS = range(3), range(3, 30)
BOARDS = ("zen4", "generic-c")
MORE_BOARDS = (*BOARDS, "x86-64-v3", "jetson-tx1", "odroid-xu3", "power10-s1024")


@pytest.fixture(autouse=True)
def _everything_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small it is."""
    monkeypatch.setattr(team, "FORK_JOIN", 0.0)


def compiled(model: Path, board: str, folder: Path, threads: int, **asked: Any) -> Project:
    options = CompileOptions(model, board, name="net", threads=threads, **asked)
    compile_model(options, folder)
    return Project.open(folder)


def outputs(project: Project) -> Outputs:
    ensure(project)
    return run_program(project, project.build())[0]


def equal(one: Outputs, other: Outputs) -> bool:
    return all(one[name].tobytes() == other[name].tobytes() for name in one)


def cases() -> list[object]:
    found: list[object] = []
    for seed in (*SEEDS, *MORE_SEEDS):
        for board in MORE_BOARDS:
            quick = seed in SEEDS and board in BOARDS
            found.append(pytest.param(seed, board, marks=[] if quick else [pytest.mark.slow]))
    return found


@pytest.mark.parametrize(("seed", "board"), cases())
def test_the_same_bytes(seed: int, board: str, tmp_path: Path) -> None:
    available(board)
    model = tmp_path / "net.onnx"
    onnx.save(random_network(seed, NODES), model)
    threads = 2 + seed % 3
    several = compiled(model, board, tmp_path / "several", threads)
    assert several.report["threads"] > 1
    one = compiled(model, board, tmp_path / "one", 1)
    assert equal(outputs(several), outputs(one))
