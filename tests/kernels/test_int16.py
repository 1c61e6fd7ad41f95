"""Layers with integers of 16 bits, against rational arithmetic that is rounded once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.ir.activation import grid
from edgeconv.ir.encoding import INT8, INT16, Encoding
from edgeconv.target.targets import HELIUM
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_int8_packed import ISAS, able
from tests.kernels.test_integer_layers import windows

Integers = npt.NDArray[np.int64]
Shape = tuple[int, ...]


@pytest.fixture(params=ISAS)
def build(request: pytest.FixtureRequest) -> Build:
    """Of every ISA; that of portable C is what cores without vectors have."""
    return able(str(request.param))


def rounded(real: Fraction, low: int, high: int) -> int:
    return min(max(round(real), low), high)


def layer(
    x: Shape,
    w: Shape,
    window: dict[str, Any] | None,
    groups: int = 1,
    *,
    given: Encoding = INT16,
    made: Encoding = INT16,
    residual: Encoding | None = None,
    extremes: bool = False,
) -> tuple[Spec, npt.NDArray[np.float32]]:
    """A Conv, or without a window a Dense, and what it must compute: of inputs ``given`` so, of
    results ``made`` so, a tensor added to these if it says how it is stored.  ``extremes``: inputs
    and filters are the smallest or the largest there are."""
    rng = np.random.default_rng(abs(hash((x, w, groups))) % 2**32)
    zero = int(rng.choice([0, -300])) if given == INT16 else int(rng.integers(-128, 128))
    scale = float(np.float32(rng.uniform(0.01, 0.1) / (given.high + 1)))
    units = (2.0 ** rng.uniform(-9, -6, w[0])).astype(np.float32)
    q = rng.integers(given.low, given.high + 1, x)
    integers = rng.integers(-127, 128, w)
    if extremes:
        q = np.where(q < 0, given.low, given.high)
        integers = np.where(integers < 0, -127, 127)
    bias = (rng.integers(-(2**20), 2**20, w[0]) * (units * np.float32(scale))).astype(np.float32)
    unit = units.astype(np.float64) * scale
    whole = np.rint(bias / unit).astype(np.int64)  # a bias is stated in units
    attrs: dict[str, Any] = {}
    if window is None:
        sums = (q - zero) @ integers.T
        shape: Shape = (*x[:-1], w[0])
    else:
        attrs = {"kernel": w[2:], "strides": (1, 1), "dilations": (1, 1), "pads": (0,) * 4}
        attrs |= {**window, "groups": groups}
        spans = [(k - 1) * d + 1 for k, d in zip(w[2:], attrs["dilations"], strict=True)]
        room = [n + attrs["pads"][i] + attrs["pads"][i + 2] for i, n in enumerate(x[2:])]
        sizes = zip(room, spans, attrs["strides"], strict=True)
        out = tuple((n - span) // s + 1 for n, span, s in sizes)
        seen = windows(q, attrs, zero, out) - zero
        taps = integers.reshape(groups, w[0] // groups, w[1], -1)
        parted = seen.reshape(*seen.shape[:3], groups, w[1], -1)
        sums = np.einsum("nyxgck,gfck->nyxgf", parted, taps).reshape(*seen.shape[:3], w[0])
        shape = (x[0], w[0], *out)
    spread = float(np.abs(sums).std() + 1) * float(unit.mean())
    first = float(np.float32(spread * 6 / (INT16.high if residual else made.high)))
    low = int(rng.choice([0, made.low])) if residual is None else INT16.low
    high = INT16.high if residual else low + made.high - made.low
    high = min(high, made.high) if low == 0 and made == INT16 else high
    steps = np.empty(sums.shape, np.int64)
    for place in np.ndindex(sums.shape):
        c = place[-1]
        real = Fraction(float(unit[c])) * (int(sums[place]) + int(whole[c]))
        steps[place] = rounded(real / Fraction(first), low, high)
    steps = steps if window is None else np.moveaxis(steps, -1, 1)
    stored = {"x": str(replace(given, scale=(scale,), zero=(zero,)))}
    spec = Spec(
        "Dense" if window is None else "Conv",
        {
            "x": ((q - zero) * np.float32(scale)).astype(np.float32),
            "w": (integers * units.reshape(-1, *(1,) * (len(w) - 1))).astype(np.float32),
            "b": bias,
        },
        shape,
        attrs={**attrs, "storage": "int8", "units": tuple(map(float, units))},
        constants=("w", "b"),
        before=grid(first, low, high),
    )
    if residual is None:
        own = -128 - low if made == INT8 else 0
        stored["out"] = str(replace(made, scale=(first,), zero=(own,)))
        return replace(spec, storage=stored), (steps * first).astype(np.float32)
    scales = [
        float(np.float32(first * factor)) for factor in (0.71 * 2.0 ** (16 - residual.bits), 1.9)
    ]
    other = rng.integers(residual.low, residual.high + 1, shape)
    stored |= {"out": str(replace(made, scale=(scales[1],), zero=(0,)))}
    stored |= {"residual": str(replace(residual, scale=(scales[0],), zero=(0,)))}
    for place in np.ndindex(shape):
        real = Fraction(first) * int(steps[place]) + Fraction(scales[0]) * int(other[place])
        steps[place] = rounded(real / Fraction(scales[1]), made.low, made.high)
    spec = replace(
        spec,
        residual=(other * np.float32(scales[0])).astype(np.float32),
        after=grid(scales[1], made.low, made.high),
        storage=stored,
    )
    return spec, (steps * scales[1]).astype(np.float32)


Made = tuple[Spec, npt.NDArray[np.float32]]


def with_int16(made: Made, build: Build) -> list[Case]:
    """Its cases that are computed with int16, of which there are some."""
    found = [c for c in made[0].cases(build.target, made[1]) if c.layer.algorithm == "int16"]
    assert found, made[0].attrs
    return found


SHAPES: tuple[tuple[Shape, Shape, dict[str, Any], int], ...] = (
    # Pixels, filters and numbers of a window: those that the loops take at once, and beside.
    *(((1, 4, 1, n), (2, 4, 1, 1), {}, 1) for n in (1, 3, 4, 7, 29)),
    *(((1, 8, 2, 3), (n, 8, 1, 1), {}, 1) for n in (1, 3, 17, 70)),
    *(((1, n, 2, 2), (2, n, 1, 1), {}, 1) for n in (1, 3, 5, 16, 23)),
    ((2, 3, 5, 4), (5, 3, 3, 3), {"pads": (1, 1, 1, 1)}, 1),
    ((1, 1, 9, 6), (3, 1, 10, 4), {"pads": (4, 1, 5, 2), "strides": (2, 2)}, 1),
    ((1, 5, 7, 7), (4, 5, 3, 2), {"pads": (2, 0, 1, 1), "dilations": (2, 3)}, 1),
    ((2, 8, 4, 5), (6, 4, 3, 3), {"pads": (1, 1, 1, 1)}, 2),
    ((1, 6, 5, 5), (9, 2, 1, 1), {}, 3),
    # Channels one by one, and several filters of one.
    *(((1, n, 4, 5), (n, 1, 3, 3), {"pads": (1, 1, 1, 1)}, n) for n in (2, 5, 67)),
    ((2, 6, 7, 7), (6, 1, 3, 2), {"strides": (2, 2), "dilations": (1, 2)}, 6),
    ((1, 3, 5, 4), (9, 1, 3, 3), {"pads": (1, 1, 1, 1)}, 3),
)
MIXED = ((2, 3, 5, 4), (5, 3, 3, 3), {"pads": (1, 1, 1, 1)}, 1)


def all_layers() -> list[Made]:
    """Of all shapes, types, and sums that 32 bits hold or do not."""
    made = [layer(*shape) for shape in SHAPES]
    made += [layer((rows, n), (c, n), None) for rows, n, c in ((1, 4, 4), (3, 5, 3), (1, 64, 70))]
    for given, result in ((INT8, INT16), (INT16, INT8)):
        made += [
            layer(*MIXED, given=given, made=result),
            layer(*SHAPES[-2], given=given, made=result),
        ]
    made += [layer(*MIXED, residual=INT16), layer(*MIXED, residual=INT8, made=INT8)]
    made += [layer(*SHAPES[-3], residual=INT16), layer((2, 12), (5, 12), None, residual=INT16)]
    # 127 * 32768 * 516 is beyond 2^31
    made += [layer((1, 1031), (3, 1031), None, extremes=True), layer((4, 520), (2, 520), None)]
    return [*made, layer((1, 70, 5, 5), (3, 70, 3, 3), {}, extremes=True)]


def decoded() -> list[Made]:
    """Kernels of float32 over int16: whole vectors and beside, one element for all lanes, layouts
    that are padded."""
    made = []
    for zero, shape in ((0, (1, 3, 5, 7)), (-300, (2, 19, 3, 3)), (-32768, (1, 37))):
        rng = np.random.default_rng(shape[1])
        scale = float(np.float32(0.0371))
        q, alone = rng.integers(-32768, 32768, shape), np.full((1,) * len(shape), 1234)
        q.reshape(-1)[:3] = -32768, 32767, zero
        x, y = ((each - zero) * np.float32(scale) for each in (q, alone))
        stored = str(replace(INT16, scale=(scale,), zero=(zero,)))
        low, high = max(-32768 - zero, -200), 32767 - zero
        clipped = (np.clip(q - zero, low, high) * scale).astype(np.float32)
        spec = Spec(
            "Unary",
            {"x": x.astype(np.float32)},
            shape,
            before=grid(scale, low, high),
            storage={"x": stored, "out": stored},
        )
        made.append((spec, clipped))
        least = np.minimum(q, 1234)
        wanted = ((least - zero) * scale).astype(np.float32)
        both = {"a": x.astype(np.float32), "b": y.astype(np.float32)}
        of_two = dict.fromkeys(("a", "b", "out"), stored)
        made.append((Spec("Binary", both, shape, attrs={"kind": "min"}, storage=of_two), wanted))
    return made


def test_layers(build: Build, folder: Path) -> None:
    cases = [case for made in all_layers() for case in with_int16(made, build)]
    plain = [case for spec, wanted in decoded() for case in spec.cases(build.target, wanted)]
    check(build, [*cases, *plain], folder)


def test_what_is_packed_for_helium(folder: Path) -> None:
    """The order of its filters has its own test on a Cortex-M55; here, that one is chosen."""
    build = able("portable")
    helium = replace(build.target, features=frozenset({HELIUM}))
    spec, wanted = layer((1, 9), (5, 9), None)
    (case,) = (c for c in spec.cases(helium, wanted) if c.layer.algorithm == "int16")
    (filters, _) = case.layer.blobs
    assert filters.elements == 8 * 16
    assert folder.exists()
