"""Every convolution algorithm on convolutions of real models, on every target.

A few rows of the committed sample run always, in the layouts that an algorithm likes best.  The
slow tests run all of them in every layout, under the sanitizers, and, where EDGECONV_CONVBENCH
names it, the whole table: every row where this CPU has the vector unit, else (portable C, QEMU)
those of few operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import Target
from tests.convbench import table
from tests.convbench.reference import convolve
from tests.convbench.sweep import (
    EVERYTHING,
    Report,
    Scope,
    allowed_error,
    forms_of,
    graph_of,
    ratio,
    run_batch,
    sweep,
)
from tests.convbench.table import Convolution
from tests.ir_interpreter import evaluate
from tests.kernels import builds
from tests.kernels.cases import Build

QUICK_ISAS = ("avx2", "avx512", "neon")
QUICK_ROWS, QUICK_OF_A_KIND = 30, 1  # tests/geometry has hundreds more in every run
SLOW_MACS = 30_000_000  # of a row of the sample, too many for an emulator
WHOLE_TABLE_MACS = 2_000_000  # of a row of the whole table, too many for an emulator
WINOGRAD_MACS = 50_000_000  # of a row of it that is computed so where there is a vector unit
PARTS = 8  # of the whole table, for several processes


def has_vector_unit(target: Target) -> bool:
    """This CPU runs the target at the speed of its vector unit."""
    return target.arch != "any" and builds.runs_here(target)


def rows_for(target: Target, rows: Sequence[Convolution], macs: int) -> list[Convolution]:
    """The rows to run on ``target``: of at most ``macs`` where it is slow."""
    return [row for row in rows if row.macs <= macs or has_vector_unit(target)]


def whole_table() -> list[Convolution]:
    path = table.whole_table()
    if path is None:
        pytest.skip(f"{table.VARIABLE} does not name the table of ConvBench")
    return table.read(path)


def check(build: Build, rows: Sequence[Convolution], scope: Scope = EVERYTHING) -> None:
    assert rows
    report = Report()
    for part in sweep(build, rows, scope):
        report.add(part)
    assert report.convolutions == len(rows)
    failures = [str(result) for result in report.failures]
    assert not failures, f"{build.name}: {report.summary()}\n" + "\n".join(failures[:20])


@pytest.fixture(params=builds.isas())
def build(request: pytest.FixtureRequest) -> Build:
    """As users build: optimised."""
    return builds.find(TARGETS[str(request.param)], "gcc", ("-O2",))


def quick_isas() -> list[Any]:
    """Instruction sets of a few rows in `make test`: tests/geometry draws hundreds of convolutions
    on all of them."""
    return [
        pytest.param(isa, marks=() if isa in QUICK_ISAS else pytest.mark.slow)
        for isa in (*builds.FIXED, *builds.SCALABLE)
    ]


@pytest.fixture(params=quick_isas())
def build_once(request: pytest.FixtureRequest) -> Iterator[Build]:
    """With the kernels that take sizes at run time, those of the tests of kernels."""
    ways = (
        way
        for way in (*builds.WAYS, *builds.MORE_WAYS)
        if way.target == request.param and not way.constants
    )
    with next(ways).build() as found:
        yield found


@pytest.fixture(params=builds.isas())
def checked_build(request: pytest.FixtureRequest) -> Build:
    """Under the sanitizers where the target is native."""
    return builds.find(TARGETS[str(request.param)], "gcc")


@pytest.fixture(scope="module")
def rows() -> list[Convolution]:
    return table.read(table.SAMPLE)


def test_sample(build_once: Build, rows: list[Convolution]) -> None:
    quick = table.sample(rows, QUICK_ROWS, QUICK_OF_A_KIND, WHOLE_TABLE_MACS)
    check(build_once, rows_for(build_once.target, quick, SLOW_MACS))


def by_winograd(rows: Sequence[Convolution]) -> list[Convolution]:
    """Those that have forms on every target."""
    others, both = {"grouped", "depthwise"}, {"strided", "dilated"}
    able = [row for row in rows if forms_of(row) and others.isdisjoint(row.kinds)]
    return [row for row in able if not both <= set(row.kinds)]


@pytest.mark.slow
def test_sample_by_winograd(build_once: Build, rows: list[Convolution]) -> None:
    few = [row for row in by_winograd(rows) if row.macs <= SLOW_MACS]
    check(build_once, few, Scope("winograd"))


@pytest.mark.slow
def test_whole_table_by_winograd(build: Build) -> None:
    most = WINOGRAD_MACS if has_vector_unit(build.target) else SLOW_MACS / 2
    few = [row for row in by_winograd(whole_table()) if row.macs <= most]
    check(build, few, Scope("winograd"))


@pytest.mark.slow
def test_sample_with_constant_sizes(build: Build, rows: list[Convolution]) -> None:
    quick = table.sample(rows, QUICK_ROWS, QUICK_OF_A_KIND, WHOLE_TABLE_MACS)
    check(build, rows_for(build.target, quick, SLOW_MACS))


@pytest.mark.slow
def test_sample_in_every_layout(checked_build: Build, rows: list[Convolution]) -> None:
    few = rows_for(checked_build.target, rows, SLOW_MACS)
    check(checked_build, few, Scope(every_layout=True))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_whole_table(build: Build, part: int) -> None:
    rows = rows_for(build.target, whole_table(), WHOLE_TABLE_MACS)
    check(build, rows[part::PARTS])


def test_sample_has_every_kind(rows: list[Convolution]) -> None:
    """Each kind alone and, where models have them, with others."""
    kinds = {row.kinds for row in rows}
    assert {kind for combination in kinds for kind in combination} == set(table.KINDS)
    assert len(kinds) == 26
    assert {row.kinds for row in table.sample(rows, 0, 1, 0)} == kinds


def test_sample_is_of_the_table(request: pytest.FixtureRequest) -> None:
    want = table.committed_sample(whole_table())
    if request.config.getoption("--regenerate-golden"):
        table.write(table.SAMPLE, want)
    assert table.read(table.SAMPLE) == want


GEOMETRIES = (
    Convolution(3, 9, 7, 5, 5, 3, 3, 3, 1, 0, 1, 1, 2, 2, 1, 1, 1, 1, 0),
    Convolution(6, 8, 8, 4, 6, 8, 3, 1, 0, 0, 0, 0, 1, 1, 1, 1, 2, 0, 0),
    Convolution(4, 9, 9, 4, 9, 9, 3, 3, 2, 2, 2, 2, 1, 1, 2, 2, 4, 1, 0),
    Convolution(3, 40, 50, 6, 40, 50, 5, 5, 2, 2, 2, 2, 1, 1, 1, 1, 3, 1, 0),
)


@pytest.mark.parametrize("conv", GEOMETRIES, ids=str)
@pytest.mark.parametrize("band_bytes", [1, 32 << 20])
def test_reference(conv: Convolution, band_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast reference computes what the interpreter of the tests does."""
    monkeypatch.setattr("tests.convbench.reference.BAND_BYTES", band_bytes)
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1, conv.in_c, conv.in_h, conv.in_w), np.float32)
    w = rng.standard_normal(conv.weight_shape, np.float32)
    b = rng.standard_normal(conv.out_c, np.float32)
    want = evaluate(graph_of(conv, "", w, b), {"x": x})["out"][0]
    got = convolve(conv, x[0], w, b if conv.bias else None)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_ratio() -> None:
    """The error counts against the largest magnitude and the root of the reduction length."""
    want = np.array([4.0, -1.0])
    conv = GEOMETRIES[1]
    assert conv.depth == 9
    allowed = allowed_error(conv, None, want)
    assert allowed == pytest.approx(12e-6)
    assert ratio(allowed, np.array([4.0, -1.0 + 12e-6]), want) == pytest.approx(1)
    assert ratio(allowed, np.array([np.nan, -1.0]), want) == np.inf


@pytest.mark.parametrize("scope", [EVERYTHING, Scope("winograd")], ids=["all", "winograd"])
def test_a_difference_is_reported(
    scope: Scope, rows: list[Convolution], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results that are a thousandth off fail, of Winograd's algorithm too."""
    monkeypatch.setattr("tests.convbench.sweep.convolve", lambda *args: 1.001 * convolve(*args))
    few = rows if not scope.algorithm else by_winograd(rows)
    report = run_batch(builds.find(TARGETS["portable"], "gcc", ("-O1",)), few[:3], scope)
    assert len(report.results) >= 3
    assert all(result.ratio > 1 and not result.problem for result in report.results)


def test_a_dying_program_is_reported(rows: list[Convolution]) -> None:
    """Each run of it, since it is started again for the next."""
    found = builds.find(TARGETS["portable"], "gcc", ("-O1",))
    report = run_batch(replace(found, runner=("false",)), rows[:3], EVERYTHING)
    assert len(report.results) >= 3
    assert {result.problem for result in report.results} == {"died with status 1"}


def test_a_compiler_message_is_reported(rows: list[Convolution]) -> None:
    build = builds.find(TARGETS["portable"], "gcc", ("-O1", "-DEC_VL=nonsense"))
    report = run_batch(build, rows[:3], EVERYTHING)
    assert len(report.results) >= 3
    assert all("EC_VL" in result.problem for result in report.results)
