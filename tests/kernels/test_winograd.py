"""Winograd convolutions on every target, in every form, against float64.

Sizes derive from the tile of the form and from the target's vectors: images of whole tiles, of one
output less and one more, smaller than a tile; paddings from none to as much as the kernel; channels
around a vector and a register tile.  Numbers are random, held to the bound of what rounding can do,
and such that nothing is rounded, where results must be equal: a factor that is one ULP off shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgeconv.ir.activation import Activation
from edgeconv.ir.request import Request
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels.algorithms.winograd.bound import UNIT, error_bound, roundings
from edgeconv.kernels.algorithms.winograd.forms import forms_for
from edgeconv.kernels.algorithms.winograd.phases import of_filters
from edgeconv.target.cache import Cache
from edgeconv.target.micro_kernel import Lies
from edgeconv.target.targets import PANELS, Target
from tests.kernels.builds import BY_MICRO_KERNELS, unit_of
from tests.kernels.cases import Build, Spec
from tests.kernels.harness import ULP, check
from tests.kernels.test_conv import RELU, conv
from tests.winograd_numbers import FLOAT64, filters, is_exact

pytestmark = BY_MICRO_KERNELS
CLIP = Activation("clip", -1.0, 1.5)
SIDES = ((3, 3), (5, 5), (7, 7), (3, 5), (5, 3))
ALL = {sides: list(forms_for(*sides)) for sides in SIDES}
ALL |= {sides: list(forms_for(*sides)) for sides in ((1, 3), (1, 7), (5, 1), (7, 1))}
TWO = [
    form for sides, sizes in ALL.items() for points in sizes for form in points if min(sides) > 1
]
SQUARE = [form for form in TWO if form.down == form.across]
UNEQUAL = [form for form in TWO if form not in SQUARE and form.summed == 1]
SUMMED = [form for form in TWO if form.summed > 1]
LENGTHS = [sizes[-1][-1] for sides, sizes in ALL.items() if min(sides) == 1]
FORMS = {"two dimensions": [*SQUARE, *UNEQUAL[::12]], "one dimension": [*LENGTHS, *SUMMED[::4]]}
# Kernels and strides: phases of as many taps and of fewer.
STRIDED = (
    *(((3, 3), (2, 2)), ((5, 5), (2, 2)), ((7, 7), (2, 2)), ((11, 11), (4, 4))),
    *(((4, 4), (2, 2)), ((3, 5), (1, 2)), ((7, 3), (2, 3)), ((1, 5), (2, 2))),
)


def winograd(form: Nested, spec: Spec) -> Spec:
    """``spec`` in this form, held to the bound of what rounding can make of it; bias and residual
    are rounded, too."""
    weights = of_filters(spec.inputs["w"], spec.attrs["strides"])
    largest = float(np.abs(spec.inputs["x"]).max())
    added = [values for values in (spec.inputs.get("b"), spec.residual) if values is not None]
    # The harness multiplies both, in units of 2^-23.
    tolerance = roundings(form, weights.shape[1]) / 2 + len(added)
    scale = error_bound(form, weights, largest) / UNIT / roundings(form, weights.shape[1])
    scale += sum(float(np.abs(values).max()) for values in added)
    asked = Request("winograd", winograd_forms=(form,))
    return replace(spec, request=asked, tolerance=tolerance, scale=scale)


def without_rounding(form: Nested, lanes: int) -> Spec:
    """An input that is 1 in every image, at every place of a tile in turn, and 0 elsewhere."""
    down, across = form.down, form.across
    h, w = 2 * down.outputs + down.taps - 1, 3 * across.outputs + across.taps - 1
    spec = conv((form.products, lanes, h, w), lanes, (down.taps, across.taps), bias=False)
    inputs = {"x": np.zeros_like(spec.inputs["x"]), "w": filters(form, lanes, lanes)}
    for i, (y, x) in enumerate(np.ndindex(down.products, across.products)):
        inputs["x"][i, i % lanes, y + i % 2 * down.outputs, x + i % 3 * across.outputs] = 1
    own = replace(winograd(form, spec), inputs={**spec.inputs, **inputs})
    return replace(own, tolerance=FLOAT64 / ULP, scale=float(inputs["w"].max()))


def specs(form: Nested, target: Target) -> Iterator[Spec]:
    """Images around one tile and several, channels around a vector and a register tile."""
    down, across, lanes = form.down, form.across, target.lanes
    kernel = down.taps, across.taps
    most = max(tile.vectors for tile in target.kernel(PANELS).tiles)
    h, w = 2 * down.outputs + down.taps - 1, 3 * across.outputs + across.taps - 1
    if not is_exact(form):
        yield conv((1, lanes, h, w), lanes, kernel)
    yield conv((2, lanes + 1, h + 1, w - 1), 2 * lanes - 1, kernel, after=RELU)
    half = (down.taps // 2, across.taps // 2) * 2
    yield conv((1, 2, h - 1, w + 1), most * lanes + 1, kernel, half, residual=True, after=CLIP)
    yield conv((1, 3, *kernel), 2, kernel, (0, 1, 2, 0), bias=False)
    grouped = (2, 4 * lanes, h - 1, w - 2)
    yield conv(grouped, 2 * lanes, kernel, half, groups=2, residual=True, after=RELU)
    full = (down.taps - 1, across.taps - 1, down.taps + 1, across.taps)
    yield conv((1, 2 * lanes, 2, 3), lanes, kernel, full)


@pytest.mark.parametrize("kind", FORMS)
def test_every_form(kind: str, build: Build, folder: Path) -> None:
    forms = FORMS[kind]
    chosen = [winograd(form, spec) for form in forms for spec in specs(form, build.target)]
    chosen += [without_rounding(form, build.target.lanes) for form in forms if is_exact(form)]
    check(build, [case for spec in chosen for case in spec.cases(build.target)], folder)


def strided(build: Build) -> Iterator[Spec]:
    """Channels of fewer than a vector, of whole ones and of one more; images that the stride does
    not divide."""
    lanes, few = build.target.lanes, not build.compiled_once
    for kernel, strides in STRIDED[:: 2 if few else 1]:
        forms = [points[0] for points in forms_for(*kernel, strides=strides)]
        for form in forms[:1] if few else (forms[0], forms[2]):
            down, across = form.down.outputs, form.across.outputs
            h, w = 2 * down * strides[0] + kernel[0] + 1, across * strides[1] + kernel[1] - 1
            half = (kernel[0] // 2, kernel[1] // 2) * 2
            usual = (kernel, half, strides)
            yield winograd(form, conv((1, 3, h, w), 2 * lanes, *usual, after=RELU))
            yield winograd(form, conv((2, lanes, h, w), 3, *usual, residual=True))
            if not few:
                yield winograd(form, conv((1, lanes + 1, h, w), lanes, kernel, strides=strides))


def dilated(target: Target) -> Iterator[Spec]:
    """In two dimensions and in one; dilations longer than the image is high, too."""
    for form in (SQUARE[0], SUMMED[0], LENGTHS[0]):
        kernel, lanes = (form.down.taps, form.across.taps), target.lanes
        pads = (2, 3, 1, 4)
        image = (1, lanes + 1, 15, 33)
        yield winograd(form, conv(image, lanes, kernel, pads, dilations=(2, 3), residual=True))
        few = (2, 2, 2 * kernel[0], 3 * kernel[1])
        yield winograd(form, conv(few, lanes + 1, kernel, pads, dilations=(2, 3), after=RELU))


def test_strides_and_dilations(build: Build, folder: Path) -> None:
    """Of constant sizes a few."""
    chosen = [*strided(build), *dilated(build.target)]
    check(build, [case for spec in chosen for case in spec.cases(build.target)], folder)


def test_filters_are_prefetched(build: Build, folder: Path) -> None:
    """Those that find no room in the caches; of several passes each.  Memory keeps up."""
    if build.chosen:
        pytest.skip("nothing is fetched in the mode of a matrix unit")
    near = tuple(Cache(level, 1024, 64, bandwidth=1024.0) for level in (1, 2))
    target = replace(build.target, prefetch=True, caches=near, constants_bandwidth=1e15)
    forms = [SQUARE[0], SUMMED[0]]
    chosen = [winograd(form, spec) for form in forms for spec in specs(form, target)]
    cases = [case for spec in chosen for case in spec.cases(target)]
    assert any(case.layer.params["prefetch"] for case in cases)
    check(replace(build, target=target), cases, folder)


def test_tiles_and_filters_are_prefetched(build: Build, folder: Path) -> None:
    """On cores in order, where register tiles have their rows side by side; strides, too."""
    caches = (Cache(1, 512, 64, 3), Cache(2, 1024, 64, 30))
    target = replace(build.target, in_order=True, prefetch=True, caches=caches, memory_cycles=2000)
    if target.lanes == 1 or target.kernel(PANELS).lies is not Lies.PACKED or unit_of(target):
        pytest.skip("nothing is prefetched")
    chosen = [winograd(SQUARE[0], spec) for spec in specs(SQUARE[0], target)]
    chosen.append(next(strided(build)))
    cases = [case for spec in chosen for case in spec.cases(target)]
    assert all(case.layer.params["prefetch_tiles"] for case in cases)
    assert any(case.layer.params["prefetch_filters"] for case in cases)
    assert not all(case.layer.params["prefetch_filters"] for case in cases)
    check(replace(build, target=target), cases, folder)
