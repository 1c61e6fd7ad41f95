"""The builds that kernel tests run in: every target, with every compiler that is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeconv.targets import TARGETS
from tests.kernels import builds
from tests.kernels.harness import Build


@pytest.fixture(
    params=[
        f"{name}-{compiler}"
        for name, target in TARGETS.items()
        for compiler in builds.COMPILERS
        # A row that uses the header of another differs in tiles only: one compiler will do.
        if compiler == "gcc" or (builds.runs_here(target) and not target.runtime)
    ]
)
def build(request: pytest.FixtureRequest) -> Build:
    """An instruction set and a compiler; skipped, by name, where either is missing."""
    name, compiler = str(request.param).rsplit("-", 1)
    return builds.find(TARGETS[name], compiler)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the program of a test is built."""
    return tmp_path
