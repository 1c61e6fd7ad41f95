"""Fixtures of all tests; nothing is read from or left in the user's cache."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeconv.pipeline import CompileOptions, compile_model
from tests import onnx_models
from tests.command import BOARD, Command
from tests.kernels import builds


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-golden",
        action="store_true",
        help="write the expected output under tests/golden anew",
    )


def pytest_report_header() -> list[str]:
    return builds.describe()


@pytest.fixture(autouse=True, scope="session")
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def edgeconv(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line."""
    return Command(capsys)


@pytest.fixture(scope="session")
def _built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    model = onnx_models.save(onnx_models.residual(), folder / "net.onnx")
    project, _ = compile_model(CompileOptions(model, BOARD), folder / "net")
    project.build()
    project.build(trace=True)
    return project.directory


@pytest.fixture
def built_project(_built_once: Path, tmp_path: Path) -> Path:
    """A copy of the project of ``onnx_models.residual``, its programs built already."""
    return shutil.copytree(_built_once, tmp_path / "project")


@pytest.fixture
def residual_model(tmp_path: Path) -> Path:
    """``onnx_models.residual`` as the file ``net.onnx`` in the test's folder."""
    return onnx_models.save(onnx_models.residual(), tmp_path / "net.onnx")
