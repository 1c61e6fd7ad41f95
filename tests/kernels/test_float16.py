"""Kernels on vectors of float16 against float64, with inputs and constants rounded to float16.

All shapes are one program.  Sums in float16 are rounded after every product: the tolerance grows
with their length.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.candidate import HALF
from edgeconv.ir.request import Request
from edgeconv.ir.winograd_form import Nested, winograd_form
from edgeconv.kernels.storage import formats
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import FLOAT16
from tests.kernels import builds
from tests.kernels.cases import Array, Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_conv import RELU, conv, numbers

ROWS = [name for name, target in TARGETS.items() if target.float16 and not target.scalable]
FORMAT = formats()[FLOAT16]
ULPS = 2.0**13  # of float32 in one of float16
CLIP = Activation("clip", -1.0, 1.5)


@pytest.fixture(params=ROWS)
def build(request: pytest.FixtureRequest) -> Build:
    """Runs what computes on vectors of float16."""
    row = replace(TARGETS[request.param], features=frozenset({FLOAT16}))
    found = builds.find(replace(row, flags=(*row.flags, *row.feature_flags)), "gcc")
    # Rounded to float16 in C, whose constants are float's.
    return replace(found, compiler=(*found.compiler, "-Wno-overflow"))


def halves(spec: Spec, *single: str, forms: tuple[Nested, ...] = ()) -> Spec:
    """``spec`` on float16, all tensors stored so but those that are named."""
    inputs = {name: FORMAT.rounded(value).astype(np.float32) for name, value in spec.inputs.items()}
    stored = [name for name in (*spec.inputs, "out") if name and name not in spec.constants]
    stored += ["residual"] if isinstance(spec.residual, np.ndarray) else []
    storage = {name: FLOAT16 for name in stored if name not in single}
    asked = replace(spec.request, compute=HALF, winograd_forms=forms)
    return replace(
        spec, inputs=inputs, storage=storage, request=asked, tolerance=spec.tolerance * ULPS / 2
    )


def winograd(build: Build, outputs: int, points: tuple[int | str, ...]) -> list[Spec]:
    """A form of 3x3 kernels, on less and more than a register tile of filters and tiles."""
    half = build.target.of_float16
    assert half
    lanes, form = half.lanes, winograd_form(outputs, 3, points)
    spec = conv((1, 2 * lanes + 3, 11, 13), 3 * lanes + 1, (3, 3), (1,) * 4, after=RELU)
    spec = replace(spec, request=Request("winograd"), tolerance=8 * spec.tolerance)
    return [halves(spec, forms=(Nested(form, form),))]


def convolutions(build: Build) -> list[Spec]:
    half = build.target.of_float16
    assert half
    lanes, (tile, *others) = half.lanes, half.tiles
    rows, nr = tile.rows, tile.vectors * lanes
    one = (1, 1, 1, 1)
    found = [
        # channels: less, equal and more than what is multiplied by lane; all register tiles
        *(
            conv((1, n, 3, rows + 1), nr, (3, 3), one, after=RELU)
            for n in (1, lanes - 1, lanes + 3)
        ),
        *(
            conv((1, 2 * lanes, 2, 2 * t.rows + 1), t.vectors * lanes + 1, (1, 1), residual=True)
            for t in (tile, *others)
        ),
        conv(
            (1, 3, 9, 11), lanes + 1, (3, 3), (0, 0, 2, 2), strides=(2, 2), bias=False, after=CLIP
        ),
        conv((1, 6, 9, 9), 2 * lanes, (3, 3), (2, 2, 2, 2), dilations=(2, 2)),
        conv((2, 2 * lanes, 3, 5), 4 * lanes, (3, 3), one, groups=2, residual=True, after=RELU),
        # depthwise: strips at borders and between, strides
        *(
            conv(
                (1, c, 6, 2 * half.depthwise_rows + 3),
                c,
                kernel,
                pads,
                strides,
                groups=c,
                after=CLIP,
            )
            for c, kernel, pads, strides in (
                (2 * lanes, (3, 3), one, (1, 1)),
                (lanes + 2, (5, 5), (2, 2, 2, 2), (2, 2)),
            )
        ),
    ]
    return [halves(spec) for spec in found]


def others(build: Build) -> list[Spec]:
    half = build.target.of_float16
    assert half
    c = half.lanes + 3
    x = numbers(1, c, 5, 7)
    pool = {"kernel": (3, 3), "strides": (2, 2), "dilations": (1, 1), "pads": (1, 1, 1, 1)}
    found = [
        Spec(
            "Binary",
            {"a": x, "b": numbers(1, c, 5, 7)},
            x.shape,
            {"kind": kind},
            tolerance=2,
            scale=1,
        )
        for kind in ("add", "mul")
    ]
    found += [
        Spec("Pool", {"x": x}, (1, c, 3, 4), {**pool, "mode": "max", "include_pad": False}),
        Spec(
            *("Unary", {"x": x}, x.shape),
            before=Activation("hard_swish", 1 / 6, 0.5),
            tolerance=4,
            scale=1,
        ),
    ]
    return [halves(spec) for spec in found]


def test_against_float64(build: Build, folder: Path) -> None:
    specs = [*convolutions(build), *winograd(build, 2, (0, 1, -1))]
    specs += winograd(build, 4, (0, 1, -1, 2, "-1/2"))
    # float32 at the ends of a network is rounded as it is read.
    ends = conv((1, 3, 6, 9), 9, (3, 3), (1, 1, 1, 1))
    specs += [halves(ends, "x"), halves(ends, "out"), *others(build)]
    found: list[Case] = []
    for spec in specs:
        found += spec.cases(build.target, expected(spec))[:2]
    assert {case.layer.compute for case in found} == {HALF}
    check(build, found, folder)


def expected(spec: Spec) -> Array:
    """In float64; what has no sums is rounded once, by the harness."""
    return spec.expected()


def test_sums_are_off_by_no_more_than_is_promised() -> None:
    """Six standard deviations of random roundings, of sums of random numbers."""
    rng, terms = np.random.default_rng(3), 512
    a, b = (rng.standard_normal((400, terms)).astype(np.float16) for _ in "ab")
    sums = np.zeros(len(a), np.float16)
    for x, y in zip(a.T.astype(np.float64), b.T.astype(np.float64), strict=True):
        sums = (sums + x * y).astype(np.float16)
    exact = (a.astype(np.float64) * b).sum(1)
    off = np.abs(sums - exact).max() / np.abs(exact).max()
    promised = 6 / math.sqrt(3) * 2.0**-11 * math.sqrt(terms)
    assert promised / 10 < off < promised
