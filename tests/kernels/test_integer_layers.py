"""Layers that compute in integers, against rational arithmetic that is rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.ir.activation import NONE, Activation, grid
from edgeconv.ir.candidate import REAL
from edgeconv.ir.encoding import int8
from edgeconv.ir.request import SMALLEST_OF_EACH, Request
from edgeconv.kernels.algorithms.sums import multiples
from edgeconv.kernels.storage import format_called
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import DSP, DUAL_ISSUE, HELIUM
from tests.kernels.builds import WAYS
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check

Integers = npt.NDArray[np.int64]
PIXELS, PAIR, K_BLOCK = 3, 2, 4  # what the loops take at once
WITHOUT_VECTORS = [way for way in WAYS if TARGETS[way.target].lanes == 1]
plain = pytest.mark.parametrize("build", WITHOUT_VECTORS, ids=str, indirect=True)


def windows(x: Integers, attrs: dict[str, Any], zero: int, out: tuple[int, ...]) -> Integers:
    """(image, row, column, channel, kernel position) of the stored input, its zero point around."""
    (kh, kw), (sh, sw), (dh, dw) = (attrs[name] for name in ("kernel", "strides", "dilations"))
    top, left, bottom, right = attrs["pads"]
    wide = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=zero)
    rows = np.arange(out[0])[:, None] * sh + np.arange(kh) * dh
    columns = np.arange(out[1])[:, None] * sw + np.arange(kw) * dw
    taken = wide[:, :, rows[:, None, :, None], columns[None, :, None, :]]
    return taken.transpose(0, 2, 3, 1, 4, 5).reshape(len(x), *out, x.shape[1], -1)


def exact(
    sums: Integers, unit: npt.NDArray[Any], bias: npt.NDArray[Any], spacing: float, low: int
) -> npt.NDArray[np.float32]:
    """``sums``, the last axis of which are channels, in steps of the result from ``low`` on."""
    found = np.empty(sums.shape)
    for place in np.ndindex(sums.shape):
        channel = place[-1]
        real = Fraction(float(unit[channel])) * int(sums[place]) + Fraction(float(bias[channel]))
        found[place] = min(max(round(real / Fraction(spacing)), low), low + 255)
    return (found * spacing).astype(np.float32)


@dataclass(frozen=True)
class Sums:
    """A layer without a rounding of its result, and its ``sums``, channels last, which count in
    units of ``unit`` by channel; ``bias``: beside them."""

    spec: Spec
    sums: Integers
    unit: npt.NDArray[Any]
    bias: npt.NDArray[Any]


def layer(
    x: tuple[int, ...],
    w: tuple[int, ...],
    window: dict[str, Any] | None,
    groups: int = 1,
    *,
    extremes: int | None = None,
    most: int = 128,
    scales: str = "whole",
) -> tuple[Spec, npt.NDArray[np.float32]]:
    """As `summed`, rounded to 256 steps, and what it must compute."""
    found = summed(x, w, window, groups, extremes=extremes, most=most, scales=scales)
    depth = int(np.prod(w[1:]))
    spacing = float(np.float32(found.unit.mean() * 60 * 60 * depth**0.5 / 40))
    spacing = 2.0 ** round(np.log2(spacing)) if scales == "powers" else spacing
    low = int(np.random.default_rng(abs(hash((x, w))) % 2**32).choice([0, -128, -100]))
    wanted = exact(found.sums, found.unit, found.bias, spacing, low)
    spec = replace(
        found.spec,
        before=grid(spacing, low, low + 255),
        storage={**found.spec.storage, "out": str(int8(spacing, -128 - low))},
    )
    return spec, wanted if window is None else np.moveaxis(wanted, -1, 1)


def summed(
    x: tuple[int, ...],
    w: tuple[int, ...],
    window: dict[str, Any] | None,
    groups: int = 1,
    *,
    extremes: int | None = None,
    most: int = 128,
    scales: str = "whole",
) -> Sums:
    """A Conv, or without a window a Dense; with ``extremes``, of inputs and filters that are -128
    or 127, and that zero point.  ``most``: of filters in magnitude, of extremes but for one in
    each.  ``scales``: "whole", biases are multiples of units; "fractions", they are not; "powers",
    all scales are powers of two, and sums may be halves of a step."""
    rng = np.random.default_rng(abs(hash((x, w, groups))) % 2**32)
    zero, scale = int(rng.integers(-128, 128)), float(np.float32(rng.uniform(0.01, 0.1)))
    units = (2.0 ** rng.uniform(-9, -6, w[0])).astype(np.float32)
    q, integers = rng.integers(-128, 128, x), rng.integers(1 - most, most, w)
    integers.reshape(w[0], -1)[::2, 0] = -most
    if extremes is not None:
        zero, q = extremes, np.where(q < 0, -128, 127)
        integers = np.where(integers < 0, -most, 127)
        integers.reshape(w[0], -1)[:, 0] = -128
    if scales == "powers":
        scale, units = 2.0**-5, (2.0 ** rng.integers(-8, -5, w[0])).astype(np.float32)
    multiples = rng.integers(-9000, 9000, w[0]) + (rng.random(w[0]) if scales == "fractions" else 0)
    bias = (multiples * (units * np.float32(scale))).astype(np.float32)
    unit = units.astype(np.float64) * scale
    whole = bias.astype(np.float64) if scales == "fractions" else np.rint(bias / unit) * unit
    if window is None:
        attrs: dict[str, Any] = {}
        sums = (q - zero) @ integers.T
        shape = (*x[:-1], w[0])
    else:
        attrs = {"kernel": w[2:], "strides": (1, 1), "dilations": (1, 1), "pads": (0,) * 4}
        attrs |= {**window, "groups": groups}
        spans = [(k - 1) * d + 1 for k, d in zip(w[2:], attrs["dilations"], strict=True)]
        room = [n + attrs["pads"][i] + attrs["pads"][i + 2] for i, n in enumerate(x[2:])]
        sizes = zip(room, spans, attrs["strides"], strict=True)
        out = tuple((n - span) // s + 1 for n, span, s in sizes)
        seen = windows(q, attrs, zero, out) - zero
        shape = (x[0], w[0], *out)
        taps = integers.reshape(groups, w[0] // groups, w[1], -1)
        parted = seen.reshape(*seen.shape[:3], groups, w[1], -1)
        sums = np.einsum("nyxgck,gfck->nyxgf", parted, taps).reshape(*seen.shape[:3], w[0])
    spec = Spec(
        "Dense" if window is None else "Conv",
        {
            "x": ((q - zero) * scale).astype(np.float32),
            "w": (integers * units.reshape(-1, *(1,) * (len(w) - 1))).astype(np.float32),
            "b": bias,
        },
        shape,
        attrs={**attrs, "storage": "int8", "units": tuple(map(float, units))},
        constants=("w", "b"),
        storage={"x": str(int8(scale, zero))},
    )
    return Sums(spec, sums, unit, whole)


def in_integers(spec: Spec, wanted: npt.NDArray[np.float32], build: Build) -> list[Case]:
    """Its cases that are computed in integers, of which there are some."""
    cases = spec.cases(build.target, wanted)
    found = [case for case in cases if case.layer.algorithm == "integer"]
    assert found, spec.attrs
    return found


SHAPES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], int]] = [
    # Pixels, filters and numbers of a window: those that the loops take at once, and beside.
    *(((1, 4, 1, n), (2, 4, 1, 1), {}, 1) for n in (1, 2, PIXELS, PIXELS + 1, 2 * PIXELS + 1)),
    *(((1, 8, 2, 3), (n, 8, 1, 1), {}, 1) for n in (1, PAIR, PAIR + 1, 2 * PAIR + 3)),
    *(
        ((1, n, 2, 2), (2, n, 1, 1), {}, 1)
        for n in (1, 3, K_BLOCK + 1, 4 * K_BLOCK, 5 * K_BLOCK + 3)
    ),
    ((2, 3, 5, 4), (5, 3, 3, 3), {"pads": (1, 1, 1, 1)}, 1),
    ((1, 1, 9, 6), (3, 1, 10, 4), {"pads": (4, 1, 5, 2), "strides": (2, 2)}, 1),
    ((1, 5, 7, 7), (4, 5, 3, 2), {"pads": (2, 0, 1, 1), "dilations": (2, 3)}, 1),
    ((1, 2, 4, 4), (2, 2, 1, 1), {"strides": (2, 3)}, 1),
    # Channels one by one.
    *(((1, n, 4, 5), (n, 1, 3, 3), {"pads": (1, 1, 1, 1)}, n) for n in (2, 4, 5, 11)),
    ((2, 6, 7, 7), (6, 1, 3, 3), {"pads": (0, 0, 1, 1), "strides": (2, 2)}, 6),
    ((1, 4, 9, 6), (4, 1, 3, 3), {"dilations": (2, 1), "strides": (1, 3)}, 4),
    ((1, 4, 9, 8), (4, 1, 3, 3), {"dilations": (2, 3), "pads": (2, 3, 2, 3)}, 4),
    ((1, 9, 7, 8), (9, 1, 5, 5), {"pads": (2, 2, 2, 2), "strides": (2, 1)}, 9),
    ((1, 8, 1, 12), (8, 1, 1, 7), {"pads": (0, 3, 0, 3)}, 8),
    ((2, 5, 9, 1), (5, 1, 4, 1), {"pads": (2, 0, 1, 0)}, 5),
    # Several filters of a channel, and of groups of channels.
    ((1, 3, 5, 4), (9, 1, 3, 3), {"pads": (1, 1, 1, 1)}, 3),
    ((1, 2, 6, 6), (8, 1, 2, 5), {"strides": (1, 2)}, 2),
    ((2, 8, 4, 5), (6, 4, 3, 3), {"pads": (1, 1, 1, 1)}, 2),
    ((1, 6, 5, 5), (9, 2, 1, 1), {}, 3),
    ((1, 24, 4, 4), (10, 12, 3, 2), {"pads": (1, 0, 1, 1), "dilations": (1, 2)}, 2),
]


@plain
def test_convolutions(build: Build, folder: Path) -> None:
    made = [layer(x, w, window, groups) for x, w, window, groups in SHAPES]
    check(build, [case for each in made for case in in_integers(*each, build)], folder)


@plain
def test_dense_layers(build: Build, folder: Path) -> None:
    sizes = [(1, 4, 4), (3, 5, 3), (1, 64, 12), (2, 1, 1), (1, 640, 9), (8, 12, 5), (64, 32, 8)]
    made = [layer((rows, in_c), (out_c, in_c), None) for rows, in_c, out_c in sizes]
    cases = [case for each in made for case in in_integers(*each, build)]
    assert {case.layer.params["kernel_function"] for case in cases} == {"dense", "convolve"}
    check(build, cases, folder)


@plain
def test_pixels_as_rows(build: Build, folder: Path) -> None:
    """Convolutions of a pixel or two, which are fully connected layers."""
    shapes = [((1, 48, 1, 1), (8, 48, 1, 1)), ((2, 8, 1, 1), (9, 8, 1, 1))]
    made = [layer(x, w, {}) for x, w in shapes]
    cases = [case for each in made for case in in_integers(*each, build)]
    assert {case.layer.params["kernel_function"] for case in cases} == {"dense"}
    cases += real_cases([(*each, {}, 1) for each in shapes], build, "integer")
    check(build, cases, folder)


@plain
def test_what_is_packed_for_helium(build: Build, folder: Path) -> None:
    """The order of its loops, which plain C has, too (`test_int8_cortex_m` runs those)."""
    helium = replace(build, target=replace(build.target, features=frozenset({HELIUM})))
    made = [layer(x, w, window, groups) for x, w, window, groups in SHAPES]
    made += [
        layer((rows, in_c), (out_c, in_c), None) for rows, in_c, out_c in ((3, 5, 3), (1, 64, 12))
    ]
    made += with_residuals()
    check(build, [case for each in made for case in in_integers(*each, helium)], folder)


@plain
@pytest.mark.parametrize("features", [{DSP}, {DSP, DUAL_ISSUE}], ids=len)
def test_filters_joined_in_pairs(build: Build, features: set[str], folder: Path) -> None:
    """The order of its loops, which plain C has, too; a filter that has -128, or larger sums, take
    another kernel; what verify reads of the image are the model's own filters."""
    of_core = replace(build.target, features=frozenset(features), is_scalar=True)
    dsp = replace(build, target=of_core)
    shapes = [shape for shape in SHAPES if shape[1][1] > 1 or shape[3] == 1]
    made = [layer(x, w, window, groups, most=127) for x, w, window, groups in shapes]
    made += [layer((1, n), (9, n), None, most=127) for n in (4, 5, 64)]
    made += [layer((1, 516), (6, 516), None, most=127, extremes=-128)]
    made += [added_to(*layer((1, 4, 7, 5), (6, 4, 3, 3), {"pads": (1, 1, 1, 1)}, most=127))]
    cases = [case for each in made for case in in_integers(*each, dsp)]
    kernels = [str(case.layer.params["kernel_function"]) for case in cases]
    assert {"convolve_joined", "convolve_joined_add", "dense_joined"} < set(kernels)
    large = [layer((64, 600), (6, 600), None, most=most, extremes=-128) for most in (128, 127)]
    others = [case for each in large for case in in_integers(*each, dsp)]
    assert {case.layer.params["kernel_function"] for case in others} == {"convolve"}
    for case in cases:
        node, filters = case.layer.node, case.layer.blobs[0]
        if filters.restored and filters.arrange:
            own = filters.arrange(multiples(node, case.graph).astype(np.float32))
            assert np.array_equal(filters.restored(np.asarray(filters.pack(), np.float32)), own)
    check(build, cases, folder)


CLOSE: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], int]] = [
    # Depthwise windows of which a pair of numbers serves two, of each kernel.
    ((1, 6, 7, 9), (6, 1, 3, 3), {"pads": (1, 1, 1, 1)}, 6),
    ((1, 5, 2, 6), (5, 1, 3, 3), {"pads": (1, 1, 1, 1)}, 5),
    ((2, 4, 9, 8), (4, 1, 3, 3), {"pads": (2, 3, 2, 3), "dilations": (2, 3)}, 4),
    ((1, 5, 6, 1), (5, 1, 3, 3), {"pads": (1, 1, 1, 1)}, 5),
    ((1, 9, 7, 8), (9, 1, 5, 5), {"pads": (2, 2, 2, 2)}, 9),
    ((1, 2, 7, 8), (6, 1, 4, 3), {"pads": (2, 1, 1, 1), "strides": (1, 2)}, 2),
    ((1, 5, 9, 4), (5, 1, 9, 1), {"pads": (4, 0, 4, 0)}, 5),
    ((2, 8, 3, 37), (8, 1, 1, 9), {"pads": (0, 4, 0, 4)}, 8),
    ((1, 4, 40, 1), (8, 1, 5, 1), {"pads": (4, 0, 4, 0), "dilations": (2, 1)}, 4),
]


@plain
def test_what_is_packed_for_pairs_of_rows(build: Build, folder: Path) -> None:
    """The order of its loops, which plain C has, too."""
    dsp = replace(build, target=replace(build.target, features=frozenset({DSP})))
    made = [layer(x, w, window, groups) for x, w, window, groups in (*CLOSE, *SHAPES)]
    least = [
        (replace(spec, request=Request(workspace=SMALLEST_OF_EACH)), wanted)
        for spec, wanted in made
        if spec.inputs["w"].shape[1:] == (1, 3, 3)
    ]
    cases = [case for each in (*made, *least) for case in in_integers(*each, dsp)]
    kernels = {case.layer.params["kernel_function"] for case in cases}
    assert {"depthwise_2x2", "depthwise_2x2_transposed", "depthwise_3x3_2x2"} < kernels
    assert "depthwise_3x3_6x2" in kernels
    assert "depthwise_3x3_border" in kernels
    check(build, cases, folder)


@plain
def test_residuals(build: Build, folder: Path) -> None:
    """Rows by the three and beside; a tensor of int8 added in integers, once more rounded."""
    made = with_residuals()
    check(build, [case for each in made for case in in_integers(*each, build)], folder)


def with_residuals() -> list[tuple[Spec, npt.NDArray[np.float32]]]:
    """Convolutions as `layer` makes them, to which tensors of int8 are added."""
    return [
        added_to(*layer(x, w, window, groups))
        for x, w, window, groups in (
            ((1, 4, 7, 5), (6, 4, 3, 3), {"pads": (1, 1, 1, 1)}, 1),
            ((2, 8, 2, 4), (3, 8, 1, 1), {}, 1),
            ((1, 3, 9, 9), (4, 3, 3, 3), {"pads": (0, 0, 1, 1), "strides": (2, 2)}, 1),
            ((2, 9, 5, 6), (9, 1, 3, 3), {"pads": (1, 1, 1, 1)}, 9),
            ((1, 3, 5, 8), (6, 1, 2, 3), {"dilations": (2, 2)}, 3),
        )
    ]


def added_to(
    spec: Spec,
    first: npt.NDArray[np.float32],
    *,
    scales: tuple[float, float] = (0.71, 1.37),
    within: tuple[int, int] = (0, 255),
    bounds: tuple[int, int] = (0, 255),
    of_input: bool = False,
) -> tuple[Spec, npt.NDArray[np.float32]]:
    """What `layer` made, and what is added to it: a tensor of int8, or its input of the same shape.

    ``scales``: of that tensor (not of an input) and of the sum, in spacings of the convolution.
    ``within``: of the convolution's 256 steps the first and the last that is left before it is
    added.  ``bounds``: of the sum, in its steps, from the middle of which int8 counts.
    """
    spacing, least = spec.before.alpha, round(spec.before.beta)
    scale, total = (float(np.float32(spacing * factor)) for factor in scales)
    stored = int8(scale, 9)
    if of_input:
        stored = format_called(spec.storage["x"]).encoding
        second = np.rint(spec.inputs["x"] / stored.scale[0]).astype(np.int64) + stored.zero[0]
    else:
        second = np.random.default_rng(first.size).integers(-128, 128, spec.shape)
    low, high = (least + step for step in within)
    of_first = np.clip(np.rint(first / spacing), low, high).astype(np.int64)
    of_second = second - stored.zero[0]
    steps = np.empty(spec.shape)
    units = [Fraction(unit) / Fraction(total) for unit in (spacing, stored.scale[0])]
    for place in np.ndindex(spec.shape):
        real = units[0] * int(of_first[place]) + units[1] * int(of_second[place])
        steps[place] = min(max(round(real), bounds[0]), bounds[1])
    named = {**spec.storage, "out": str(int8(total, -sum(bounds) // 2))}
    with_residual = replace(
        spec,
        before=grid(spacing, low, high),
        residual="x" if of_input else (of_second * scale).astype(np.float32),
        after=grid(total, *bounds),
        storage=named if of_input else {**named, "residual": str(stored)},
    )
    return with_residual, (steps * total).astype(np.float32)


def real(found: Sums, rng: np.random.Generator, *, before: Activation = NONE) -> Spec:
    """``found`` with a bias that is no whole number of units for every other channel, and a float32
    result, maybe behind an activation."""
    beside = rng.uniform(-1, 1, len(found.unit)) * found.unit * 1000
    bias = np.where(np.arange(len(beside)) % 2, found.bias, beside).astype(np.float32)
    return replace(found.spec, inputs={**found.spec.inputs, "b": bias}, before=before)


Shaped = tuple[tuple[int, ...], tuple[int, ...], dict[str, Any] | None, int]


def real_cases(shapes: Sequence[Shaped], build: Build, algorithm: str) -> list[Case]:
    """Layers whose results are float32: as they are, behind an activation, added to others, stored
    as int8 behind what is no bound.  The sum is exact: its product with a unit, the bias and what
    is added take a rounding each."""
    rng, found = np.random.default_rng(7), []
    for i, (x, w, window, groups) in enumerate(shapes):
        before = (NONE, Activation("relu"), Activation("hard_swish"))[i % 3]
        spec = real(summed(x, w, window, groups), rng, before=before)
        size = float(np.abs(spec.expected()).max())
        spec = replace(spec, tolerance=4.0, scale=size)
        if i % 4 == 1:
            residual = rng.uniform(-size, size, spec.shape).astype(np.float32)
            spec = replace(spec, residual=residual, after=Activation("relu"), scale=2 * size)
        if i % 4 == 2:
            spacing = float(np.float32(size / 100))
            stored = {**spec.storage, "out": str(int8(spacing, 0))}
            spec = replace(spec, after=grid(spacing, -128, 127), storage=stored)
        cases = spec.cases(build.target)
        own = [case for case in cases if case.layer.algorithm == algorithm]
        assert own, spec.attrs
        found += own
    assert {case.layer.candidate.compute for case in found if case.layer.candidate} == {REAL}
    return found


DENSE: list[Shaped] = [
    (x, w, None, 1)
    for x, w in (((3, 5), (3, 5)), ((1, 64), (12, 64)), ((2, 9), (1, 9)), ((1, 3), (5, 3)))
]


@plain
def test_real_results(build: Build, folder: Path) -> None:
    check(build, real_cases([*SHAPES, *DENSE], build, "integer"), folder)


@plain
def test_real_results_packed_for_helium(build: Build, folder: Path) -> None:
    helium = replace(build, target=replace(build.target, features=frozenset({HELIUM})))
    check(build, real_cases([*SHAPES, *DENSE], helium, "integer"), folder)


def test_what_is_not_computed_so() -> None:
    """Float32 stays where units are not stated, and the input is float32 in memory."""
    spec, wanted = layer((1, 4, 2, 3), (2, 4, 1, 1), {})
    target = TARGETS["scalar"]
    named = {name: value for name, value in spec.storage.items() if name != "x"}
    others = (
        replace(spec, storage=named),
        replace(spec, attrs={key: v for key, v in spec.attrs.items() if key != "units"}),
    )
    for other in others:
        assert all(case.layer.algorithm != "integer" for case in other.cases(target, wanted))
