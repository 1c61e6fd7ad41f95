"""The builds that kernel tests run in (``builds.WAYS``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kernels.builds import MORE_WAYS, WAYS, Way, params
from tests.kernels.cases import Build


@pytest.fixture(params=params(*WAYS, slow=MORE_WAYS))
def build(request: pytest.FixtureRequest) -> Iterator[Build]:
    """An instruction set, a compiler and its options; skipped, by name, where one is missing."""
    way: Way = request.param
    with way.build() as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the program of a test is built."""
    return tmp_path
