"""Layers that take turns compute the bytes that they compute one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.build.project import Project
from edgeconv.options import CompileOptions
from edgeconv.pipeline import compile_model
from edgeconv.verify.inputs import ensure
from edgeconv.verify.run import run_program
from tests import onnx_models
from tests.turning import convolutions, in_turns

Kinds = tuple[dict[str, Any], ...]
DEPTHWISE = {"depthwise": True, "kernel": 3, "pad": 1, "relu": True}
HALVED = {**DEPTHWISE, "stride": 2}
DILATED = {**DEPTHWISE, "pad": 2, "dilation": 2}
MAX = {"pool": "MaxPool", "kernel": 3, "pad": 1, "stride": 2}
MEAN = {"pool": "AveragePool", "kernel": 2, "stride": 2}
CHAINS: dict[str, Kinds] = {
    "depthwise": (DEPTHWISE, HALVED, DILATED),
    "mixed": (DEPTHWISE, MAX, MEAN),
    "pools": (MAX, {**MAX, "pool": "AveragePool"}, MEAN),
}
VECTORS = ("x86-64-v3", "zen4")
CASES = [
    *((kinds, board) for kinds in ("depthwise", "mixed") for board in VECTORS),
    *(("pools", board) for board in ("generic-c", *VECTORS)),
]


def output(model: Path, board: str, folder: Path) -> npt.NDArray[Any]:
    """Of the program compiled to ``folder``."""
    compile_model(CompileOptions(model=model, board=board, name="net"), folder)
    project = Project.open(folder)
    ensure(project)
    return run_program(project, project.build())[0]["y"]


@pytest.mark.parametrize(("kinds", "board"), CASES)
def test_the_same_bytes(
    kinds: str, board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = CHAINS[kinds]
    model = onnx_models.save(convolutions(chain, 20, (25, 19)), tmp_path / "net.onnx")
    whole = output(model, board, tmp_path / "whole")
    for turn in (1, 3):
        with monkeypatch.context() as patch:
            in_turns(patch, {"l0": len(chain)}, turn)
            found = output(model, board, tmp_path / f"turns{turn}")
        assert np.array_equal(found.view(np.uint32), whole.view(np.uint32))
