"""Kernels that decode their filters, in every storage format, against float64.

The weights are ones that the format has, so that what the kernel must compute does not depend on
how they are rounded; int8 has a scale per output channel, which is a power of two here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.mark.structures import ParameterSet

from edgeconv.ir.activation import Activation
from edgeconv.ir.layout import ROW_MAJOR, blocked
from edgeconv.ir.request import Request
from edgeconv.kernels.algorithms.direct.plan import channels_per_chunk, make_plan
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.lowering.options import LayoutOption
from edgeconv.search.choose.storage import weight_formats
from edgeconv.target.cache import Cache
from edgeconv.target.targets import Target
from tests.kernels.cases import Array, Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_conv import RELU, conv, numbers, tile
from tests.kernels.test_sconv import SCHEDULES, TINY, sconv, widest

STORED = [name for name in weight_formats() if name != "float32"]
THOROUGH = ("flyte24", "int8")  # without and with units; the others differ in loads only
QUICK = ("flyte24", "int4")  # the widest decoding, and parts of bytes


def slow_but(quick: tuple[str, ...], names: Iterable[str]) -> list[ParameterSet]:
    """Formats that are tested every time, and others when there is time: what differs between them,
    the loads, is tested bit by bit in test_storage.py."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]


FAR = (Cache(1, 512, 64), Cache(2, 512, 64))  # filters seldom fit, input rows seldom stay
CLIP = Activation("clip", -1.0, 1.5)

rng = np.random.default_rng(5)


def units(out_c: int) -> Array:
    """Random powers of two."""
    return np.exp2(rng.integers(-8, -4, out_c).astype(np.float32))


def representable(shape: tuple[int, ...], name: str) -> Array:
    """Random weights that the format has, in units of one where it has none of its own."""
    form = weight_formats()[name]
    if name.startswith("flyte"):
        return form.rounded(numbers(*shape)).astype(np.float32)
    most = int(form.largest)
    whole = rng.integers(-most, most + 1, shape).astype(np.float32)
    whole.reshape(shape[0], -1)[:, 0] = most  # the largest of its channel
    return whole


def stored(spec: Spec, name: str) -> Spec:
    """``spec`` with filters in the format ``name``: integers in the units that the format finds by
    itself, flyte16 in given ones."""
    weights = representable(spec.inputs["w"].shape, name)
    attrs: dict[str, Any] = {"storage": name}
    if name in ("int8", "int4", "flyte16"):
        unit = units(len(weights))
        weights = weights * unit.reshape(-1, *(1,) * (weights.ndim - 1))
        if name == "flyte16":
            attrs["units"] = tuple(unit.tolist())
    scale = max(1.0, float(np.abs(weights).max())) * spec.scale
    return replace(
        spec, inputs={**spec.inputs, "w": weights}, attrs={**spec.attrs, **attrs}, scale=scale
    )


def dense(m: int, k: int, n: int) -> Spec:
    return Spec(
        "Dense",
        {"x": numbers(m, k), "w": numbers(n, k), "b": numbers(n)},
        (m, n),
        constants=("w", "b"),
        after=RELU,
        tolerance=4 * math.sqrt(k),
        scale=math.sqrt(k),
    )


def direct(target: Target) -> list[Spec]:
    """Full and narrow tiles, a partly stored vector, both borders, groups, residuals."""
    lanes, (rows, nr) = target.lanes, tile(target)
    one = (1, 1, 1, 1)
    return [
        conv((1, lanes + 3, 3, 2 * rows + 1), nr + lanes + 1, (3, 3), one, residual=True),
        conv((1, 5, 7, 6), nr, (1, 1), after=CLIP),
        conv((2, 3, 9, 7), lanes, (3, 2), (2, 1, 1, 0), strides=(2, 2), bias=False, after=RELU),
        conv((1, 6, 3, 5), 4, (3, 3), one, groups=2),
        conv((1, 4 * lanes, 2, 3), 4 * lanes, (1, 1), groups=2, residual=True, after=RELU),
    ]


def depthwise(target: Target) -> list[Spec]:
    rows = target.depthwise_rows
    one, c = (1, 1, 1, 1), target.lanes + 2
    return [
        conv((2, c, 5, rows + 3), c, (3, 3), one, groups=c, after=RELU),
        conv((1, 4, 7, 2 * rows + 1), 4, (3, 3), (0, 0, 1, 1), (2, 2), groups=4, bias=False),
        conv((1, 3, 9, 9), 3, (5, 5), (2, 2, 2, 2), groups=3, residual=True),
    ]  # fmt: skip


@pytest.mark.parametrize("name", slow_but(QUICK, STORED))
def test_kernels(build: Build, folder: Path, name: str) -> None:
    lanes, (rows, nr) = build.target.lanes, tile(build.target)
    specs = [direct(build.target)[0], depthwise(build.target)[0], dense(1, 37, 9 * lanes)]
    if name in THOROUGH:
        specs += [*direct(build.target)[1:], *depthwise(build.target)[1:]]
        specs += [dense(rows + 1, 12, nr + 1), dense(1, 5, 1)]
    check(build, [c for spec in specs for c in stored(spec, name).cases(build.target)], folder)


def in_passes(target: Target, name: str) -> list[Case]:
    """Convolutions whose filters are far: input channels come in several passes."""
    far, xc = replace(target, caches=FAR), blocked(target.lanes)
    channels, (_, nr) = 96, tile(target)
    wide = 2 * max(each.rows for each in target.tiles) + 1  # several strips, whatever the tile
    one = (1, 1, 1, 1)
    specs = [
        conv((1, channels, 5, wide), nr, (3, 3), one, after=RELU),
        conv((1, channels, 2, wide), nr + 1, (3, 3), one, residual=True, after=RELU),
        replace(conv((1, channels, 2, wide), nr, (1, 3), (0, 1, 0, 1)), before=CLIP),
    ]
    made = []
    for spec in specs:
        residual = (xc,) if spec.residual is not None else ()
        option = LayoutOption((xc, ROW_MAJOR, ROW_MAJOR, *residual), (xc,))
        forced = replace(spec, options=(option,), request=Request("direct"))
        made += stored(forced, name).cases(far)
    return made


@pytest.mark.parametrize("name", slow_but(("int8",), THOROUGH))
def test_passes_over_input_channels(build: Build, folder: Path, name: str) -> None:
    check(build, in_passes(build.target, name), folder)


@pytest.mark.parametrize("name", THOROUGH)
def test_far_filters_come_in_passes(build: Build, name: str) -> None:
    """What the test above relies on."""
    far = replace(build.target, caches=FAR)
    for case in in_passes(build.target, name):
        problem = problem_of(case.layer.node, case.graph)
        assert channels_per_chunk(problem, make_plan(problem, far), far)
        assert case.layer.params["channels_per_chunk"]


def blocks_fit(target: Target) -> Target:
    """With caches in which decoded filters of a pass have room."""
    return replace(target, caches=(Cache(1, 3072 * target.lanes, 64), Cache(2, 1 << 17, 64)))


def in_blocks(target: Target) -> list[Case]:
    """Convolutions that decode their filters to memory: all channels at once, and in passes."""
    near = blocks_fit(target)
    xc, (rows, nr) = blocked(target.lanes), tile(target)
    wide, one = 2 * rows + 1, (1, 1, 1, 1)
    specs = [
        conv((1, 48, 6, wide), nr + target.lanes, (3, 3), one, residual=True, after=RELU),
        conv((2, 5, 6, wide), nr + 1, (3, 3), one, after=CLIP),
        conv((1, 4 * target.lanes, 6, wide), 4 * target.lanes, (1, 1), groups=2),
    ]
    made = []
    for number, name in enumerate(STORED):
        spec = specs[number % len(specs)]
        residual = (xc,) if spec.residual is not None else ()
        option = LayoutOption((xc, ROW_MAJOR, ROW_MAJOR, *residual), (xc,))
        forced = replace(spec, options=(option,), request=Request("direct"))
        made += stored(forced, name).cases(near)
    return made


def test_blocks_of_decoded_filters(build: Build, folder: Path) -> None:
    cases = in_blocks(build.target)
    check(build, cases, folder)
    decoded = [bool(case.layer.params["decoded"]) for case in cases]
    if build.target.lanes == 1:  # as many as is worth the workspace
        assert sum(decoded) >= 3
        return
    assert all(decoded)
    assert cases[0].layer.params["channels_per_chunk"]


def outer(target: Target) -> list[Spec]:
    """Of SConv: tiles that are cut in both directions, several channel sets, groups."""
    n_win, n_f = widest(target)
    wide = (1, 9, 1, 2 * n_win + 1)
    return [
        conv(wide, 2 * n_f + 1, (1, 3), (0, 1, 0, 1), residual=True, after=RELU),
        conv((2, 6, 5, 6), 10, (3, 3), (1, 1, 1, 1), groups=2, after=CLIP),
        conv((1, 90, 3, n_win), n_f + 1, (3, 3), (1, 1, 1, 1), residual=True, bias=False),
        conv((1, 5, 7, 9), 7, (1, 1), strides=(2, 2)),
    ]


def test_outer_product(build: Build, folder: Path) -> None:
    """SConv decodes tiles of filters: one at a time, or those that stay, as the schedule says."""
    tiny = replace(build.target, caches=TINY)
    first, *rest = outer(build.target)
    cases = []
    for number, name in enumerate(STORED):
        of_caches = replace(tiny, prefetch=number == 0)
        cases += sconv(stored(first, name), of_caches, SCHEDULES[number % len(SCHEDULES)])
        cases += sconv(stored(rest[number % len(rest)], name), tiny)
    check(build, cases, folder)


def test_outer_product_cuts_channels(build: Build) -> None:
    """What the test above relies on: places for several tiles, and several channel sets."""
    tiny = replace(build.target, caches=TINY)
    first, _, sets, _ = outer(build.target)
    (case,) = sconv(stored(first, "int4"), tiny, "WS")
    floats = case.layer.params["decoded_at"]
    assert isinstance(floats, int)
    assert case.layer.workspace_bytes > 4 * floats
    (case,) = sconv(stored(sets, "int4"), tiny)
    columns = case.layer.params["nc"]
    assert isinstance(columns, int)
    assert columns < sets.inputs["x"].shape[1]
