"""Random networks that keep states, step by step against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from edgeconv.app.pipeline import CompileOptions, compile_model, verify_project
from tests.tools import available

pytest.importorskip("onnxruntime", reason="random networks are made with it")
from tests.models import random_states

pytestmark = pytest.mark.usefixtures("unoptimised")

NODES = 10
SEEDS = range(1)
MORE_SEEDS = range(1, 100)
BOARDS = ("host", "generic-c")


@pytest.mark.parametrize(
    "seed", [*SEEDS, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MORE_SEEDS)]
)
def test_every_step(seed: int, tmp_path: Path) -> None:
    board = BOARDS[seed % 2]
    available(board)
    model, states = random_states.network(seed, NODES)
    path = tmp_path / "net.onnx"
    onnx.save(model, path)
    options = CompileOptions(
        path,
        board,
        states=tuple(states),
        io=("caller", "arena")[seed // 2 % 2],
        input_layout=("model", "any")[seed // 4 % 2],
        states_apart=seed % 3 != 2,
    )
    project, _ = compile_model(options, tmp_path / "out")
    if options.states_apart:
        assert project.report["ram"]["states_apart"] < sum(
            state["bytes"] + project.board().target.align for state in project.report["states"]
        )
    result = verify_project(tmp_path / "out", model=path, steps=6)
    assert result.passed, f"seed {seed}, step {result.step}: {result.one_line()}"
    assert max(each.relative for each in result.carried) < 1e-3
