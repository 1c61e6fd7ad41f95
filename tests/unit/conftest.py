"""Fixtures of several unit tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from edgeconv.ir.graph import Graph
from edgeconv.model.frontend import load
from edgeconv.search.memory.plan import forget
from tests.onnx_models import save


@pytest.fixture(autouse=True)
def planned_anew() -> None:
    """Tests of the planner change what it may try."""
    forget()


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., Graph]:
    """Load a ModelProto."""

    def function(source: onnx.ModelProto, **shapes: tuple[int, ...]) -> Graph:
        return load(save(source, tmp_path / "net.onnx"), input_shapes=shapes)

    return function
