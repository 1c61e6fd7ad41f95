"""Depthwise convolutions of int8 on vectors, against rational arithmetic that is rounded once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.kernels.algorithms.int8_depthwise import candidate as planning
from edgeconv.target import host
from edgeconv.target.backends import TARGETS
from edgeconv.target.dot_row import DotRow
from edgeconv.target.targets import Target
from tests.kernels import builds
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_int8_packed import as_float
from tests.kernels.test_integer_layers import added_to, layer

Shape = tuple[int, ...]
Window = dict[str, Any]
SAME: Window = {"pads": (1, 1, 1, 1)}


ROWS = [(TARGETS[name], row) for name in builds.FIXED for row in TARGETS[name].dots]
MORE_ROWS = [  # but NEON's, which another ISA has, too
    pytest.param((TARGETS[name], row), marks=pytest.mark.slow)
    for name in builds.SCALABLE
    for row in TARGETS[name].dots
    if row not in {row for _, row in ROWS}
]


def built_for(isa: Target, row: DotRow) -> Build:
    """Runs the kernels of ``row``, compiled for all sizes; skipped, by name, where nothing here
    does."""
    plain = replace(isa, features=frozenset({row.feature} - {""}))
    target = replace(plain, flags=(*plain.flags, *plain.feature_flags))
    if not builds.is_native(target):
        return replace(builds.find(target, "gcc"), compiled_once=True)
    words = tuple(word for k in plain.micro_kernels if k.feature for word in k.cpu_flags)
    if not host.running().has(words):
        pytest.skip(f"this CPU has no {' '.join(words)}")
    return replace(builds.find(target, "gcc"), compiled_once=True)


@pytest.fixture(params=[*ROWS, *MORE_ROWS], ids=lambda each: f"{each[0].name}-{each[1].name}")
def build(request: pytest.FixtureRequest) -> Build:
    return built_for(*request.param)


def depthwise(made: tuple[Spec, npt.NDArray[np.float32]], build: Build) -> list[Case]:
    """The cases of what `layer` made that are computed so, of which there are some."""
    spec, wanted = made
    cases = spec.cases(build.target, wanted)
    found = [case for case in cases if case.layer.algorithm == "int8_depthwise"]
    assert found, spec.attrs
    return found


def of(channels: int, size: Shape, kernel: Shape, window: Window, images: int = 1) -> Any:
    return layer((images, channels, *size), (channels, 1, *kernel), window, channels)


def test_against_rationals(build: Build, folder: Path) -> None:
    """Fewer, as many and more channels than vectors take, kernel rows than a word has, and pixels
    than are summed together; borders on every side, strides, dilations, windows that lie outside
    but for a corner, images."""
    lanes = build.target.lanes
    counts = {2, 3, lanes + 1, 2 * lanes, 4 * lanes, 5 * lanes + 2, 9 * lanes} - {1}
    made = [of(n, (4, 5), (3, 3), SAME) for n in sorted(counts)]
    made += [of(5, (2, n), (1, 3), {"pads": (0, 1, 0, 1)}) for n in (1, 2, 3, 4, 7)]
    made += [of(4 * lanes, (6, 4), (n, 2), {"pads": (n - 1, 0, 0, 1)}) for n in range(1, 7)]
    made += [
        of(4 * lanes + 3, (7, 7), (3, 3), {"pads": (0, 0, 1, 1), "strides": (2, 2)}, 2),
        of(6, (9, 11), (5, 5), {"pads": (2, 2, 2, 2), "strides": (2, 3)}),
        of(lanes + 2, (9, 6), (3, 3), {"dilations": (2, 1), "strides": (1, 3)}),
        of(3, (7, 7), (3, 2), {"pads": (4, 3, 4, 3), "dilations": (4, 3)}),
        of(3, (2, 2), (7, 7), {"pads": (3, 3, 3, 3)}),
    ]
    check(build, [case for each in made for case in depthwise(each, build)], folder)


def test_long_windows(build: Build, folder: Path) -> None:
    """Words of rows, of columns and of both; word rows that serve output rows further down, by
    strides and dilations that bring them there at once, later and never; tensors of one row and of
    one column; more words of a kernel row than are multiplied in one line."""
    lanes = build.target.lanes
    made = [of(4 * lanes + 1, (11, 5), (9, 1), {"pads": (4, 0, 4, 0)})]
    made += [of(3, (3, 12), (2, 9), {"pads": (0, 4, 1, 4)}), of(4 * lanes, (2, 9), (2, 2), {})]
    for stride, dilation in ((1, 2), (2, 1), (3, 1), (2, 3), (4, 2)):
        window = {"strides": (stride, 1), "dilations": (dilation, 1)}
        made.append(of(3, (8 * dilation + 9, 3), (9, 2), {**window, "pads": (1, 0, 2, 1)}))
        window = {"strides": (1, stride), "dilations": (1, dilation)}
        made.append(of(lanes + 2, (3, 4 * dilation + 9), (3, 5), {**window, "pads": (1, 2, 1, 3)}))
        window = {"strides": (stride, 1), "dilations": (dilation, 1)}
        made.append(of(3, (4 * dilation + 17, 1), (5, 1), {**window, "pads": (2, 0, 2, 0)}, 2))
    made += [
        of(4 * lanes, (19, 1), (9, 3), {"pads": (4, 1, 4, 1)}),
        of(5, (9, 70), (1, 65), {"pads": (0, 1, 0, 0)}),
    ]
    check(build, [case for each in made for case in depthwise(each, build)], folder)


def test_phases(build: Build, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pixels as far apart as a dilation are computed one behind the other: with and without a
    border, widths that do not divide, phases without columns, tensors of one column, parts of
    rows."""
    lanes = build.target.lanes
    monkeypatch.setattr(planning, "PANEL_BYTES", 160 * lanes)
    monkeypatch.setattr(planning, "_phases", lambda seen: seen.dilations[2:])
    made = [
        of(4 * lanes + 1, (3, 41), (3, 5), {"pads": (1, 14, 1, 14), "dilations": (1, 7)}),
        of(lanes + 2, (2, 23), (2, 3), {"pads": (1, 3, 0, 9), "dilations": (1, 6)}, 2),
        of(3, (1, 40), (1, 4), {"dilations": (1, 9)}),
        of(2 * lanes, (1, 5), (1, 9), {"pads": (0, 36, 0, 36), "dilations": (1, 9)}),
        of(4 * lanes, (45, 1), (5, 1), {"pads": (30, 0, 2, 0), "dilations": (8, 1)}),
        of(3 * lanes, (9, 33), (5, 3), {"pads": (4, 5, 4, 5), "dilations": (2, 5)}),
    ]
    made.append(of(3, (2, 22), (1, 3), {"pads": (0, 40, 0, 0), "dilations": (1, 21)}))
    cases = [case for each in made for case in depthwise(each, build)]
    assert all(case.layer.params["phases"] in range(5, 22) for case in cases)
    check(build, cases, folder)


def test_dilated_windows_cost_what_others_do() -> None:
    """However far a kernel's columns are apart: those between are not packed for nothing."""
    target = replace(TARGETS["avx512"], features=frozenset({"int8_dot"}))

    def slots(dilation: int) -> Any:
        window = {"pads": (0, 2 * dilation) * 2, "dilations": (1, dilation)}
        spec, wanted = of(64, (1, 256), (1, 5), window)
        layers = [case.layer for case in spec.cases(target, wanted)]
        (found,) = [each for each in layers if each.algorithm == "int8_depthwise"]
        return found.work.slots

    near = slots(1)
    assert all(slots(dilation) < 1.2 * near for dilation in (2, 4, 8, 16, 32))


def test_rows_in_parts(build: Build, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are packed for a few pixels at a time where all of a row would take too much."""
    lanes = build.target.lanes
    monkeypatch.setattr(planning, "PANEL_BYTES", 160 * lanes)
    made = [
        of(4 * lanes + 1, (3, 29), (3, 3), SAME),
        of(2 * lanes, (4, 41), (3, 3), {"pads": (1, 0, 0, 1), "strides": (1, 2)}),
        of(2 * lanes, (12, 41), (5, 5), {"pads": (2, 2, 2, 2)}),
        of(4 * lanes, (43, 1), (3, 1), {"pads": (2, 0, 0, 0)}),
    ]
    cases = [case for each in made for case in depthwise(each, build)]
    assert all(case.layer.params["pixels"] in range(1, 20) for case in cases)
    check(build, cases, folder)


def test_extremes(build: Build, folder: Path) -> None:
    """Every element -128 or 127, the zero point at either end: sums as large as they get.

    Where two products are added in 16 bits -128 is in each filter once."""
    cases = []
    row = build.target.dot_row
    most = 127 if row and row.pairs else 128
    for zero in (-128, 0, 127):
        n = build.target.lanes * 4 + 1
        window = {"pads": (2, 2, 2, 2)}
        made = layer((1, n, 5, 4), (n, 1, 5, 5), window, n, extremes=zero, most=most)
        cases += depthwise(made, build)
    check(build, cases, folder)


def test_residuals(build: Build, folder: Path) -> None:
    """A tensor of int8 that is added, once more rounded; one that is the input, too; the same, and
    what is rounded once, as float32."""
    lanes = build.target.lanes
    made = [of(n, (4, 5), (3, 3), SAME) for n in (2, lanes + 1, 4 * lanes + 3)]
    added = [added_to(*each) for each in made] + [added_to(*made[1], of_input=True)]
    cases = [case for each in added for case in depthwise(each, build)]
    assert [bool(case.layer.aliases) for case in cases] == [True, True, True, False]
    wide = [as_float(each) for each in (*made, *added)]
    check(build, cases + [case for each in wide for case in depthwise(each, build)], folder)
