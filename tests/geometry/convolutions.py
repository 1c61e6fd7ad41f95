"""Convolutions of random geometry, by every algorithm, schedule and layout in turn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from edgeconv.ir.request import Request
from edgeconv.kernels import algorithms
from edgeconv.target.targets import Target
from tests.geometry.draw import AFTER, CHANNELS, WHOLE, Draws, window
from tests.kernels.cases import Case, Spec
from tests.kernels.test_sconv import SCHEDULES, TINY

MOST_MACS = 150_000
MOST_ELEMENTS = 40_000
FILTERS = ("float32", "float32", "flyte16", "flyte24")


def groups_of(draws: Draws) -> tuple[int, int, int]:
    """Input channels, output channels, groups: one group, depthwise with and without a multiplier,
    and everything between."""
    groups = draws.one((1, 1, 1, 2, 3, 4, 7, 16))
    each_in, each_out = draws.one(CHANNELS), draws.one(CHANNELS)
    if groups > 1 or draws.often(0.15):
        kind = draws.up_to(3)
        if kind == 0:  # depthwise
            groups = draws.one(CHANNELS)
            return groups, groups, groups
        if kind == 1:  # with a multiplier
            groups, each_in, each_out = draws.one(CHANNELS[:12]), 1, draws.one((2, 3, 4))
        elif kind == 2:
            each_in, each_out = draws.one((1, 2, 3, 5, 16)), draws.one((1, 2, 3, 5, 16))
    return groups * each_in, groups * each_out, groups


def draw(draws: Draws) -> Spec:
    """A convolution, its tensors and filters in formats of all kinds."""
    while True:
        shape = window(draws, draws.often(0.3))
        in_c, out_c, groups = groups_of(draws)
        batch = draws.one((1, 1, 1, 2))
        macs = batch * math.prod((*shape.out, *shape.kernel)) * out_c * in_c // groups
        size = batch * max(in_c * math.prod(shape.size), out_c * math.prod(shape.out))
        if macs <= MOST_MACS and size <= MOST_ELEMENTS:
            break
    out = (batch, out_c, *shape.out)
    storage = draws.storage("x", "out", "residual")
    filters = draws.one(FILTERS)
    attrs = {**shape.attrs(), "groups": groups}
    if filters != "float32":
        attrs["storage"] = filters
    x = draws.whole(batch, in_c, *shape.size)
    bias = draws.often(0.8)
    return Spec(
        "Conv",
        {
            "x": x if WHOLE in storage.values() else draws.not_finite(x, 0.15),
            "w": draws.whole(out_c, in_c // groups, *shape.kernel),
            ("b" if bias else ""): draws.whole(out_c),
        },
        out,
        attrs,
        ("w", "b"),
        before=draws.one(AFTER),
        residual=draws.whole(*out) if draws.often(0.3) else None,
        after=draws.one(AFTER),
        storage=storage,
    )


PREFETCHING = ("direct",)  # algorithms that prefetch in software, on cores that wait for every load


def _variants(algorithm: str, target: Target) -> Iterator[tuple[Target, Request]]:
    """The plans that an algorithm may make for one convolution: without caches and with tiny ones,
    with every schedule."""
    tiny = replace(target, caches=TINY, prefetch=True)
    asked = Request(algorithm)
    yield target, asked
    yield tiny, asked
    if algorithm in PREFETCHING:
        waits = tuple(replace(cache, latency=20 * cache.level) for cache in TINY)
        yield replace(tiny, caches=waits, in_order=True, memory_cycles=20000), asked
    if algorithm == "sconv":
        yield from ((tiny, replace(asked, schedule=schedule)) for schedule in SCHEDULES)


def _mixes_groups(spec: Spec, algorithm: str) -> bool:
    """A tile of a direct convolution may read several groups, with zero weights between them: what
    is not finite in one then reaches the others (docs/algorithms/operators.md)."""
    finite = np.isfinite(spec.inputs["x"]).all()
    return algorithm == "direct" and spec.attrs["groups"] > 1 and not finite


def cases(spec: Spec, target: Target) -> Iterator[Case]:
    """``spec`` by every algorithm that applies, in every variant and every layout."""
    (graph, _), expected = spec.graph(), spec.expected()
    for entry in algorithms.applicable(graph.nodes[0], graph, target):
        if _mixes_groups(spec, entry.algorithm):
            continue
        for planned, asked in _variants(entry.algorithm, target):
            yield from replace(spec, request=asked).cases(planned, expected)
