"""The builds that kernel tests run in (``builds.WAYS``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.builds import MORE_WAYS, WAYS, Way
from tests.kernels.cases import Build


def _name(way: Way) -> str:
    words = {"constants": way.constants, "by-turns": way.by_turns}
    return "-".join((way.target, way.compiler, *(word for word, said in words.items() if said)))


@pytest.fixture(
    params=[
        *(pytest.param(way, id=_name(way)) for way in WAYS),
        *(pytest.param(way, id=_name(way), marks=pytest.mark.slow) for way in MORE_WAYS),
    ]
)
def build(request: pytest.FixtureRequest) -> Build:
    """An instruction set, a compiler and its options; skipped, by name, where one is missing."""
    way: Way = request.param
    return way.build()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the program of a test is built."""
    return tmp_path
