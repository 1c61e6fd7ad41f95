"""Fixtures of all tests; nothing is read from or left in the user's cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import onnx_models
from tests.command import Command


@pytest.fixture(autouse=True, scope="session")
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def edgeconv(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line."""
    return Command(capsys)


@pytest.fixture
def residual_model(tmp_path: Path) -> Path:
    """``onnx_models.residual`` as the file ``net.onnx`` in the test's folder."""
    return onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
