"""Random geometries of operators, by every algorithm and in every layout, on every target.

`make test` draws the same ones each time, `make test-all` many more, new ones each time.  A failure
names the command that draws it again.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

import pytest

from tests.geometry.sweep import KINDS, find_build, sweep
from tests.kernels.builds import MEMORY_SUMS, in_memory, isas, memory_backends
from tests.kernels.cases import Build

SEED = 1


@pytest.fixture(params=isas())
def build(request: pytest.FixtureRequest) -> Build:
    """Every instruction set, with GCC; sanitized where this CPU runs it."""
    return find_build(str(request.param))


def test_some(build: Build, tmp_path: Path) -> None:
    """Compiled without optimisation, which takes two thirds of the time."""
    wanted = {name: range(kind.quick) for name, kind in KINDS.items()}
    sweep(build, wanted, SEED, tmp_path, ("-O0",))


@pytest.mark.parametrize(
    "isa", ["portable", "avx2", pytest.param("avx512", marks=pytest.mark.slow)]
)
def test_some_by_micro_kernels_whose_sums_are_memory(isa: str, tmp_path: Path) -> None:
    """What multiplies, of each ISA by micro-kernels of another kind."""
    wanted = {name: range(KINDS[name].quick) for name in ("convolution", "winograd", "product")}
    with memory_backends():
        found = replace(find_build(in_memory(isa)), chosen=MEMORY_SUMS)
        sweep(found, wanted, SEED, tmp_path, ("-O0",))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many(build: Build, tmp_path: Path, kind: str) -> None:
    sweep(build, {kind: range(KINDS[kind].thorough)}, secrets.randbits(32), tmp_path)
