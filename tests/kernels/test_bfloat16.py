"""Convolutions on pairs of bfloat16 against float64 with inputs and filters rounded to bfloat16.

Inputs are handed to the kernel as they were before they were rounded.  Products of bfloat16 are
exact in float32, so that what may differ are the sums: the tolerance grows with their length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.request import Request
from edgeconv.kernels.algorithms.bfloat16 import ALGORITHM
from edgeconv.kernels.algorithms.problem import problem_of
from edgeconv.kernels.algorithms.rows.plan import BLOCK
from edgeconv.kernels.storage import formats
from edgeconv.target import host
from edgeconv.target.backends import TARGETS, micro_kernels
from edgeconv.target.cache import Cache
from tests.kernels import builds
from tests.kernels.builds import MEMORY_SUMS, in_memory, memory_backends
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_conv import RELU, conv, numbers

BFLOAT16 = formats()["flyte16"]
SMALL = (Cache(1, 4096, 64), Cache(2, 16384, 64))  # of which several panels are made
CLIP = Activation("clip", -1.0, 1.5)


ROWS = {row.isa: row for row in micro_kernels() if row.feature == "bfloat16"}


ISAS = [isa for isa in builds.isas() if (isa if isinstance(isa, str) else isa.values[0]) in ROWS]


@pytest.fixture(params=[*ISAS, "power10 memory"])
def build(request: pytest.FixtureRequest) -> Iterator[Build]:
    """Runs what multiplies bfloat16, compiled for all sizes, and a micro-kernel whose sums are
    memory; skipped, by name, where nothing here does."""
    isa, _, memory = str(request.param).partition(" ")
    if not memory:
        yield _build(isa)
        return
    with memory_backends():
        yield replace(_build(in_memory(isa)), chosen=MEMORY_SUMS)


def _build(isa: str) -> Build:
    row = TARGETS[isa]
    words = ROWS[row.runtime or row.name].cpu_flags
    target = replace(row, features=frozenset({"bfloat16"}))
    target = replace(target, flags=(*row.flags, *target.feature_flags))
    if not builds.is_native(target):
        return replace(builds.find(target, "gcc"), compiled_once=True)
    if not host.running().has(words):
        pytest.skip(f"this CPU has no {' '.join(words)}")
    checked = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover")
    return replace(builds.native(target, "gcc", checked), compiled_once=True)


def cases(spec: Spec, build: Build, least: int = 1) -> list[Case]:
    """``spec`` with filters that bfloat16 has, and an input that has yet to be rounded; the first
    ``least`` of the layouts that it can be in."""
    x, w = spec.inputs["x"], spec.inputs["w"]
    inputs = {
        **spec.inputs,
        "x": BFLOAT16.rounded(x).astype(np.float32),
        "w": BFLOAT16.rounded(w).astype(np.float32),
    }
    attrs = {**spec.attrs, "storage": "flyte16"}
    made = replace(spec, inputs=inputs, attrs=attrs, request=Request("bfloat16")).cases(
        build.target
    )[:least]
    if "x" in spec.storage:
        return made
    return [replace(case, values={**case.values, "x": x}) for case in made]


def shapes(build: Build) -> Sequence[Spec]:
    lanes, one = build.target.lanes, (1, 1, 1, 1)
    (row,) = build.target.multiplying("bfloat16")[-1:]
    block, tiles = 2 * BLOCK[row.lies], row.tiles  # channels
    rows, nr = tiles[0].rows, tiles[0].vectors * lanes
    long = max(tile.rows for tile in tiles)
    return [
        # channels: odd, less and more than a block; filters: less and more than a vector, a tile
        conv((1, block + 3, 3, rows + 1), 2 * nr + lanes + 3, (3, 3), one, residual=True),
        conv((1, 2 * block, 2, 2 * rows + 3), lanes - 1, (1, 1), after=CLIP),
        conv((1, block - 1, 1, long + 1), lanes, (1, 1), bias=False),
        # strides and borders of all kinds, dilation, three dimensions
        conv((1, 5, 9, 11), lanes, (3, 3), (0, 0, 2, 2), strides=(2, 2), bias=False, after=RELU),
        conv((1, 6, 9, 9), lanes + 1, (3, 3), (2, 2, 2, 2), dilations=(2, 2), residual=True),
        conv((1, 4, 9, 10), nr, (1, 1), strides=(2, 2)),
        conv((1, 2, 8, 13), 5, (2, 3), (3, 4, 3, 4), strides=(3, 2), dilations=(3, 5)),
        conv((1, 4, 3, 5, 6), lanes, (2, 3, 3), (1, 1, 1, 0, 1, 1), strides=(2, 1, 2)),
        # groups, in blocks and not; images
        conv((2, 2 * lanes, 3, 5), 4 * lanes, (3, 3), one, groups=2, residual=True, after=RELU),
        conv((1, 9, 3, 5), 6, (3, 3), one, groups=3),
        conv((3, 7, 5, 5), lanes, (1, 1), residual=True),
    ]


def test_against_float64(build: Build, folder: Path) -> None:
    found = [case for spec in shapes(build) for case in cases(spec, build)]
    found += cases(conv((1, 3, 4, 5), build.target.lanes + 1, (3, 3), (1,) * 4), build, 4)
    found += [*cases(stored(), build), *cases(with_units(), build), special(build)]
    # Rows come a few at a time.
    few = replace(build, target=replace(build.target, caches=SMALL, prefetch=True))
    panels = conv((1, 40, 13, 9), 3 * build.target.lanes + 1, (3, 3), (1, 1, 1, 1), residual=True)
    found += cases(panels, few)
    problem = problem_of(found[-1].layer.node, found[-1].graph)
    plan = ALGORITHM.candidates(problem, few.target)[0].plan
    assert plan.rows > plan.chunk
    check(build, found, folder)


def stored() -> Spec:
    """The same rounding, whoever did it; and of the result."""
    spec = conv((1, 20, 3, 7), 20, (3, 3), (1, 1, 1, 1), residual=True, after=RELU)
    return replace(spec, storage={"x": "flyte16", "residual": "flyte24", "out": "flyte16"})


def with_units() -> Spec:
    """Filters in units of powers of two."""
    spec = conv((1, 4, 3, 5), 6, (1, 1))
    units = np.exp2(np.arange(6, dtype=np.float32) - 4)
    attrs = {**spec.attrs, "units": tuple(units.tolist())}
    scaled = spec.inputs["w"] * units.reshape(-1, 1, 1, 1)
    scale = spec.scale * float(units.max())
    return replace(spec, inputs={**spec.inputs, "w": scaled}, attrs=attrs, scale=scale)


def special(build: Build) -> Case:
    """Ties go to even; infinities and NaN arrive; a subnormal number may count as zero."""
    spec = conv((1, 2, 1, 8), 1, (1, 1), bias=False)
    bits = [0x3F808000, 0x3F818000, 0x3F808001, 0xBF808000, 0x7F800000, 0xFF800000, 0x7FC00000, 1]
    x = np.zeros((1, 2, 1, 8), np.float32)
    x[0, 0, 0] = np.array(bits, np.uint32).view(np.float32)
    inputs = {"x": x, "w": np.ones((1, 2, 1, 1), np.float32), "": numbers(1)}
    made = cases(replace(spec, inputs=inputs), build)[0]
    return replace(made, tolerance=1.0, scale=1e-30)
