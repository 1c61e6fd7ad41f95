"""Convolutions on pairs of bfloat16 against float64 with inputs and filters rounded to bfloat16.

Inputs are handed to the kernel as they were before they were rounded.  Products of bfloat16 are exact in
float32, so that what may differ are the sums: the tolerance grows with their length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv import host
from edgeconv.algorithms.bfloat16.plan import make_plan
from edgeconv.algorithms.bfloat16.units import UNITS
from edgeconv.algorithms.problem import problem_of
from edgeconv.cache import Cache
from edgeconv.ir.activation import Activation
from edgeconv.storage import formats
from edgeconv.targets import TARGETS
from tests.kernels import builds
from tests.kernels.harness import Build, Case, Spec, check
from tests.kernels.test_conv import RELU, conv, numbers

BFLOAT16 = formats()["flyte16"]
SMALL = (Cache(1, 4096, 64), Cache(2, 16384, 64))  # of which several panels are made
CLIP = Activation("clip", -1.0, 1.5)


def able(name: str) -> Build:
    """Runs what multiplies bfloat16; skips where nothing here does."""
    row = TARGETS[name]
    flags, words = row.bfloat16_flags, row.bfloat16_cpu_flags
    assert flags is not None
    target = replace(row, bfloat16=True, flags=(*row.flags, *flags))
    if builds.is_native(target) and not host.detect().has(words):
        pytest.skip(f"this CPU has no {' '.join(words)}")
    return builds.find(target, "gcc")


@pytest.fixture(params=sorted(UNITS), scope="module")
def build(request: pytest.FixtureRequest) -> Build:
    return able(str(request.param))


def cases(spec: Spec, build: Build) -> list[Case]:
    """``spec`` with filters that bfloat16 has, and an input that has yet to be rounded."""
    x, w = spec.inputs["x"], spec.inputs["w"]
    inputs = {
        **spec.inputs,
        "x": BFLOAT16.rounded(x).astype(np.float32),
        "w": BFLOAT16.rounded(w).astype(np.float32),
    }
    attrs = {**spec.attrs, "algorithm": "bfloat16", "storage": "flyte16"}
    made = replace(spec, inputs=inputs, attrs=attrs).cases(build.target)
    if "x" in spec.storage:
        return made
    return [replace(case, values={**case.values, "x": x}) for case in made]


def shapes(build: Build) -> Sequence[Spec]:
    lanes, one = build.target.lanes, (1, 1, 1, 1)
    unit = UNITS[build.target.name]
    block = 2 * unit.pairs  # channels
    tiles = unit.tiles(build.target)
    rows, nr = tiles[0].rows, tiles[0].vectors * lanes
    long = max(tile.rows for tile in tiles)
    return [
        # channels: odd, one, less and more than a block; filters: less and more than a vector, a tile
        conv((1, 3, 4, 5), nr + 1, (3, 3), one, after=RELU),
        conv((1, block + 3, 3, rows + 1), 2 * nr + lanes + 3, (3, 3), one, residual=True),
        conv((1, 2 * block, 2, 2 * rows + 3), lanes - 1, (1, 1), after=CLIP),
        conv((1, block - 1, 1, long + 1), lanes, (1, 1), bias=False),
        # strides and borders of all kinds, dilation
        conv((1, 5, 9, 11), lanes, (3, 3), (0, 1, 2, 1), strides=(2, 2), bias=False, after=RELU),
        conv((1, 6, 9, 9), lanes + 1, (3, 3), (2, 2, 2, 2), dilations=(2, 2), residual=True),
        conv((1, 4, 9, 10), nr, (1, 1), strides=(2, 2)),
        conv((1, 2, 8, 13), 5, (2, 3), (3, 4, 3, 4), strides=(3, 2), dilations=(3, 5)),
        conv((1, 4, 3, 5, 6), lanes, (2, 3, 3), (1, 1, 1, 0, 1, 1), strides=(2, 1, 2)),
        # groups, in blocks and not; images
        conv((2, 2 * lanes, 3, 5), 4 * lanes, (3, 3), one, groups=2, residual=True, after=RELU),
        conv((1, 9, 3, 5), 6, (3, 3), one, groups=3),
        conv((3, 7, 5, 5), lanes, (1, 1), residual=True),
    ]


def test_against_float64(build: Build, tmp_path: Path) -> None:
    found = [case for spec in shapes(build) for case in cases(spec, build)]
    # The same rounding, whoever did it; formats of results; units of filters.
    stored = conv((1, 20, 3, 7), 20, (3, 3), (1, 1, 1, 1), residual=True, after=RELU)
    stored = replace(stored, storage={"x": "flyte16", "residual": "flyte24", "out": "flyte16"})
    found += cases(stored, build)
    found += cases(with_units(conv((1, 4, 3, 5), 6, (1, 1))), build)
    # Rows come a few at a time.
    few = replace(build, target=replace(build.target, caches=SMALL, prefetch=True))
    panels = conv((1, 40, 13, 9), 3 * build.target.lanes + 1, (3, 3), (1, 1, 1, 1), residual=True)
    assert several_panels(cases(panels, few)[0], few)
    found += cases(panels, few)
    check(build, found, tmp_path)


def with_units(spec: Spec) -> Spec:
    weights = BFLOAT16.rounded(spec.inputs["w"]).astype(np.float32)
    units = np.exp2(np.arange(len(weights), dtype=np.float32) - 4)
    scaled = weights * units.reshape(-1, 1, 1, 1)
    attrs = {**spec.attrs, "units": tuple(units.tolist())}
    scale = spec.scale * float(units.max())
    return replace(spec, inputs={**spec.inputs, "w": scaled}, attrs=attrs, scale=scale)


def several_panels(case: Case, build: Build) -> bool:
    plan = make_plan(problem_of(case.layer.node, case.graph), build.target)
    return plan.rows > plan.chunk


def test_special_numbers(build: Build, tmp_path: Path) -> None:
    """Ties go to even; infinities and NaN arrive; subnormal numbers may count as zero."""
    spec = conv((1, 2, 1, 8), 1, (1, 1), bias=False)
    bits = [0x3F808000, 0x3F818000, 0x3F808001, 0xBF808000, 0x7F800000, 0xFF800000, 0x7FC00000]
    bits += [0x00000001]
    x = np.zeros((1, 2, 1, 8), np.float32)
    x[0, 0, 0] = np.array(bits, np.uint32).view(np.float32)
    weights = np.ones((1, 2, 1, 1), np.float32)
    made = cases(replace(spec, inputs={"x": x, "w": weights, "": numbers(1)}), build)
    check(build, [replace(case, tolerance=1.0, scale=1e-30) for case in made], tmp_path)
