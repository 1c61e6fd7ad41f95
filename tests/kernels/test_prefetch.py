"""Convolutions that prefetch in software, against float64: caches that hold nothing and lines
that come from far, so that filters and input are fetched, over shapes around the register tile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target
from tests.kernels.cases import Build, Spec
from tests.kernels.harness import check
from tests.kernels.test_conv import RELU, conv, tile

pytestmark = pytest.mark.usefixtures("compiled_lightly")
NEAR = Cache(1, 512, 64, 3)
FAR = Cache(2, 1 << 20, 64, 300)  # holds all filters: no passes over the channels
FETCHED = ("prefetch_filters", "prefetch_input")


def in_order(target: Target, second: Cache = FAR) -> Target:
    return replace(target, in_order=True, prefetch=True, caches=(NEAR, second), memory_cycles=20000)


def specs(target: Target) -> Iterator[Spec]:
    """Channels around a block, filters around a tile; strips at borders, strides, groups."""
    lanes, (rows, nr) = target.lanes, tile(target)
    border, same = (1, 1, 1, 1), "direct"
    for in_c, out_c in ((2 * lanes, nr), (lanes + 1, nr + 1), (5 * lanes + 3, 2 * nr + lanes)):
        yield conv((1, in_c, 3, 2 * rows + 1), out_c, (3, 3), border, after=RELU, algorithm=same)
        yield conv((2, in_c, 2, rows + 1), out_c, (1, 1), residual=True, algorithm=same)
    yield conv((1, 3 * lanes, 5, 2 * rows), nr, (3, 3), border, (2, 2), algorithm=same)
    yield conv(
        (1, 2 * lanes, 7, rows + 4), nr, (3, 2), (2, 1, 2, 1), (1, 2), (2, 2), algorithm=same
    )
    yield conv((1, 4 * lanes, 3, rows), 2 * lanes, (3, 3), border, groups=2, algorithm=same)
    yield conv((1, 9 * lanes + 2, 1, 1), 2 * nr + 1, (1, 1), algorithm=same)


def test_what_is_fetched_changes_no_result(build: Build, folder: Path) -> None:
    if build.target.lanes == 1:
        pytest.skip("single elements are not prefetched")
    near = in_order(build.target)
    apart = in_order(build.target, Cache(2, 1024, 64, 30))  # filters in passes over the channels
    cases = [case for t in (near, apart) for spec in specs(t) for case in spec.cases(t)]
    for name in FETCHED:
        assert any(case.layer.params.get(name) for case in cases), name
        assert not all(case.layer.params.get(name) for case in cases), name
    check(replace(build, target=near), cases, folder)


def test_depthwise_fetches_rows(build: Build, folder: Path) -> None:
    """Rows of the same plane and of the next, strides, more blocks than one, several images."""
    if build.target.lanes == 1:
        pytest.skip("single elements are not prefetched")
    target, lanes = in_order(build.target), build.target.lanes
    deep = [
        conv((2, 3 * lanes, 5, 19), 3 * lanes, (3, 3), (1, 1, 1, 1), groups=3 * lanes),
        conv((1, lanes + 1, 9, 12), lanes + 1, (3, 3), (0, 0, 1, 1), (2, 2), groups=lanes + 1),
        conv((1, 2 * lanes, 7, 7), 2 * lanes, (5, 5), (2, 2, 2, 2), groups=2 * lanes),
    ]
    cases = [
        case
        for spec in deep
        for case in spec.cases(target)
        if "ec_conv_depthwise.h" in case.layer.headers
    ]
    assert cases
    assert all(case.layer.params["prefetch_input"] for case in cases)
    check(replace(build, target=target), cases, folder)


def test_only_cores_in_order_prefetch(build: Build) -> None:
    target = replace(in_order(build.target), in_order=False)
    cases = [case for spec in specs(target) for case in spec.cases(target)]
    assert not any(case.layer.params.get(name) for name in FETCHED for case in cases)
    assert not any("ec_prefetch.h" in case.layer.headers for case in cases)
