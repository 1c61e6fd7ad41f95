"""Convolutions of int8 over packed rows, against rational arithmetic that is rounded once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.ir.activation import grid
from edgeconv.ir.encoding import int8
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.kernels.algorithms.rows.plan import make_plan
from edgeconv.target import host
from edgeconv.target.backends import TARGETS, micro_kernels
from edgeconv.target.cache import Cache
from tests.kernels import builds, emulated
from tests.kernels.builds import MEMORY_SUMS, in_memory, memory_backends
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_int8 import OTHER_ENCODING
from tests.kernels.test_integer_layers import DENSE, Shaped, added_to, layer, real_cases

MATRICES = "int8_matrix"  # Arm's products of matrices, which are chosen where a core has them
OWN_ROWS = {row.isa for row in micro_kernels() if row.sums == "int32" and not row.memory_sums}
ISAS = sorted(OWN_ROWS & {*builds.FIXED})
MORE_ISAS = [pytest.param(n, marks=pytest.mark.slow) for n in builds.SCALABLE if n in OWN_ROWS]
IN_MEMORY = [f"{isa} memory" for isa in ("portable", "avx2", "avx512")]
BY_OWN_UNIT = [
    pytest.param(f"{isa} memory", marks=pytest.mark.slow)
    for isa in (*builds.SCALABLE, "amx")
    if builds.unit_of(TARGETS[isa])
]
Shape = tuple[int, ...]
Window = dict[str, Any]
SMALL = (Cache(1, 4096, 64), Cache(2, 16384, 64))  # of which several panels are made


def able(name: str, *, matrices: bool = False, plain_core: bool = False) -> Build:
    """Runs what multiplies int8 on an ISA, by products of matrices or by others, or on a core
    without either, compiled for all sizes; skips, by name, where nothing here does."""
    plain = TARGETS[name]
    rows = [row for row in TARGETS[name].kernels if row.sums == "int32"]
    rows = [row for row in rows if (row.feature == MATRICES) == matrices]
    rows = [row for row in rows if not (plain_core and row.feature)]
    if builds.is_native(plain):  # those of features that this CPU has
        rows = [row for row in rows if host.running().has(row.cpu_flags)] or rows
    target = replace(plain, features=frozenset(row.feature for row in rows if row.feature))
    target = replace(target, flags=(*plain.flags, *(flag for row in rows for flag in row.flags)))
    if not builds.is_native(target):
        return replace(builds.find(target, "gcc"), compiled_once=True)
    words = tuple(word for row in rows for word in row.cpu_flags)
    if not host.running().has(words):
        pytest.skip(f"this CPU has no {' '.join(words)}")
    checked = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover")
    return replace(builds.native(target, "gcc", checked), compiled_once=True)


@contextmanager
def able_in_memory(name: str) -> Iterator[Build]:
    """Runs micro-kernels whose sums are memory, or what multiplies int8 on an ISA."""
    isa, _, memory = name.partition(" ")
    if not memory:
        yield able(isa)
        return
    if own := builds.unit_of(TARGETS[isa]):
        found = able(isa)
        emulated.must_multiply_int8(found)
        yield replace(found, target=builds.by_own_unit(found.target), chosen=own)
        return
    with memory_backends():
        found = able(in_memory(isa))
        units = [row for row in found.target.kernels if row.memory_sums]
        # Rows that need a feature come before those that need none, and this CPU may have more.
        features = frozenset(row.feature for row in units if row.feature)
        yield replace(found, target=replace(found.target, features=features), chosen=MEMORY_SUMS)


@pytest.fixture(params=[*ISAS, *IN_MEMORY, *MORE_ISAS])
def build(request: pytest.FixtureRequest) -> Iterator[Build]:
    """Of every ISA, and by micro-kernels whose sums are memory."""
    with able_in_memory(str(request.param)) as found:
        yield found


@pytest.fixture(params=[*ISAS, MATRICES, *IN_MEMORY, *BY_OWN_UNIT, *MORE_ISAS])
def every(request: pytest.FixtureRequest) -> Iterator[Build]:
    """The same, and by products of matrices."""
    if request.param == MATRICES:
        yield able("neon", matrices=True)
        return
    with able_in_memory(str(request.param)) as found:
        yield found


def packed(made: tuple[Spec, npt.NDArray[np.float32]], build: Build) -> list[Case]:
    """The cases of what `layer` made that go over packed rows, of which there are some."""
    spec, wanted = made
    cases = spec.cases(build.target, wanted)
    found = [case for case in cases if case.layer.algorithm == "int8_packed"]
    assert found, spec.attrs
    return found


def test_against_rationals(every: Build, folder: Path) -> None:
    """Fewer, as many and more pixels, filters and channels than a tile has; borders, strides."""
    lanes = every.target.lanes
    same: Window = {"pads": (1, 1, 1, 1)}
    shapes: list[tuple[Shape, Shape, Window, int]] = [
        *(((1, 4, 1, n), (lanes, 4, 1, 1), {}, 1) for n in (1, 7, 8, 15, 29)),
        *(((1, 8, 2, 3), (n, 8, 1, 1), {}, 1) for n in (1, lanes + 1, 2 * lanes, 3 * lanes + 1)),
        *(((1, n, 2, 5), (3, n, 1, 1), {}, 1) for n in (2, 3, 63, 64, 70, 300)),
        ((2, 3, 5, 4), (5, 3, 3, 3), same, 1),
        ((1, 3, 9, 6), (3, 3, 10, 4), {"pads": (4, 1, 5, 2), "strides": (2, 2)}, 1),
        ((1, 5, 7, 7), (4, 5, 3, 2), {"pads": (2, 0, 1, 1), "dilations": (2, 3)}, 1),
        ((1, 2, 5, 7), (2, 2, 1, 1), {"strides": (2, 3)}, 1),
    ]
    made = [layer(x, w, window, groups) for x, w, window, groups in shapes]
    cases = [case for each in made for case in packed(each, every)]
    few = replace(every, target=replace(every.target, caches=SMALL, prefetch=True))
    cases += packed(layer((1, 40, 13, 9), (3 * lanes + 1, 40, 3, 3), same), few)
    rows = cases[-1].layer.plan["rows_per_panel"]
    assert isinstance(rows, int)
    assert rows < 13
    check(every, cases, folder)


def panel_of(case: Case) -> tuple[int, ...]:
    """Members of ec_panel; together and windows are the last two."""
    members = case.layer.params["panel"]
    assert isinstance(members, tuple)
    return tuple(int(member) for member in members)


WHOLE: tuple[tuple[Shape, Shape, Window], ...] = (
    ((2, 3, 11, 9), (24, 3, 7, 7), {"pads": (3, 3, 3, 3), "strides": (2, 2)}),
    ((1, 1, 5, 8), (25, 1, 3, 3), {"pads": (1, 1, 1, 1)}),
)


@pytest.mark.parametrize("plain_core", [False, True], ids=["dot products", "none"])
def test_whole_windows(plain_core: bool, folder: Path) -> None:
    """Of few channels, on NEON: borders, strides and several panels."""
    build = able("neon", plain_core=plain_core)
    few = replace(build, target=replace(build.target, caches=SMALL))
    windows = [case for shape in WHOLE for case in packed(layer(*shape), build)]
    windows += packed(layer(*WHOLE[0]), few)
    assert all(panel_of(case)[-1] for case in windows)
    check(build, windows, folder)


def test_pixels_loaded_once(folder: Path) -> None:
    """With NEON's dot products: the columns of a window in one run, two to five of them."""
    build = able("neon")
    lanes, same = build.target.lanes, {"pads": (1, 1, 1, 1)}
    runs: list[tuple[Shape, Shape, Window]] = [
        ((1, 32, 4, 13), (lanes + 1, 32, 3, 3), same),
        ((1, 16, 3, 7), (2 * lanes, 16, 2, 5), {"pads": (0, 2, 1, 2)}),
        ((1, 16, 3, 5), (5 * lanes, 16, 1, 2), {}),
    ]
    found = [case for shape in runs for case in packed(layer(*shape), build)]
    assert all(panel_of(case)[-2:] == (1, 0) for case in found)
    check(build, found, folder)


def test_whole_windows_are_of_a_plane() -> None:
    """None where slices of padding are around it: the packed lines would be its own."""
    rows = [row for row in micro_kernels() if row.whole_windows]
    target = TARGETS["neon"]
    plane = ConvProblem(1, 1, 48, 1, (1, 9, 11), (1, 9, 11), (1, 5, 5), pads=(0, 2, 2))
    padded = replace(plane, out_size=(3, 9, 11), pads=(1, 2, 2))
    found = [make_plan(each, target, rows, lambda row: row.pack) for each in (plane, padded)]
    assert [plan.panel.windows for plan in found] == [1, 0]


def test_residuals(every: Build, folder: Path) -> None:
    """Tensors of int8 that are added, once more rounded: pixels and filters as many as a tile has,
    and beside; several panels; bounds of the convolution and of the sum; bits behind the point."""
    lanes = every.target.lanes
    same: Window = {"pads": (1, 1, 1, 1)}
    shapes: list[tuple[Shape, Shape, Window]] = [
        *(((1, 4, 1, n), (lanes, 4, 1, 1), {}) for n in (1, 7, 8, 15, 29)),
        *(((1, 8, 2, 3), (n, 8, 1, 1), {}) for n in (1, lanes + 1, 2 * lanes, 3 * lanes + 1)),
        ((2, 3, 5, 4), (5, 3, 3, 3), same),
        ((1, 3, 9, 9), (4, 3, 3, 3), {"pads": (0, 0, 1, 1), "strides": (2, 2)}),
    ]
    made = [added_to(*layer(*shape)) for shape in shapes]
    rows = layer((1, 6, 3, 5), (6, 6, 3, 3), same)
    made += [added_to(*rows, within=within) for within in ((0, 97), (40, 255), (3, 200))]
    made += [added_to(*rows, bounds=bounds) for bounds in ((-40, 90), (100, 130), (-128, 127))]
    cases = [case for each in made for case in packed(each, every)]
    few = replace(every, target=replace(every.target, caches=SMALL, prefetch=True))
    cases += packed(added_to(*layer((1, 40, 13, 9), (3 * lanes + 1, 40, 3, 3), same)), few)
    factors = ((3.3, 0.11), (1.7, 0.29), (0.5, 9.1))
    shifted = [packed(added_to(*rows, scales=scales), every)[0] for scales in factors]
    assert len({sum_shift(case) for case in shifted}) == len(factors)
    assert all(case.layer.aliases for case in cases)  # tried in its place, too
    check(every, [*cases, *shifted], folder)


def test_a_column_is_computed_as_a_row(every: Build, folder: Path) -> None:
    """Windows that go down a tensor of one column, as networks over time have them."""
    lanes = every.target.lanes
    shapes: list[tuple[Shape, Shape, Window]] = [
        ((1, 20, 31, 1), (lanes + 3, 20, 3, 1), {"pads": (1, 0, 1, 0)}),
        ((2, 6, 30, 1), (2 * lanes, 6, 5, 1), {"strides": (2, 1), "dilations": (3, 1)}),
        ((1, 8, 19, 1), (lanes, 8, 1, 1), {"strides": (2, 2)}),
        ((1, 3, 17, 1), (5, 3, 4, 1), {"pads": (2, 0, 1, 0)}),
        ((1, 5, 13, 1), (4, 5, 2, 3), {"pads": (1, 1, 0, 1)}),  # columns beside the tensor's
    ]
    made = [layer(*shape) for shape in shapes]
    cases = [case for each in (*made, added_to(*made[2])) for case in packed(each, every)]
    for case in cases:
        mr = case.layer.plan["mr"]
        assert isinstance(mr, int)
        assert mr > 1
    check(every, cases, folder)


@pytest.mark.parametrize("name", ["avx2", "avx512", "neon"])
def test_results_of_any_width_are_stored_by_vectors(name: str, folder: Path) -> None:
    """Rows of three vectors of filters and of those that fill none, with pixels left over; sizes
    are constants, as in what is emitted."""
    build = replace(able(name), compiled_once=False)
    lanes = build.target.lanes
    filters = (lanes // 2, lanes + 1, 2 * lanes + lanes // 2, 3 * lanes, 5 * lanes + 3)
    made = [layer((1, 8, 1, 7 + n % 4), (n, 8, 1, 1), {}) for n in filters]
    made += [added_to(*each) for each in made[1:3]]
    check(build, [case for each in made for case in packed(each, build)], folder)


def test_row_by_filters_and_features(folder: Path) -> None:
    """With AVX2: bytes in pairs where no two filters are more than 128 together, else 16 bits; with
    VNNI, here in the encoding that this CPU has, neither."""
    build = builds.native(TARGETS["avx2"], "gcc", builds.SHIPPED)
    lanes, same = build.target.lanes, {"pads": (1, 1, 1, 1)}
    shapes: list[tuple[Shape, Shape, Window]] = [
        ((1, 7, 5, 9), (3 * lanes + 1, 7, 3, 3), same),
        ((1, 3, 9, 9), (4, 3, 3, 3), {"strides": (2, 2)}),
        ((2, 70, 1, 15), (4 * lanes, 70, 1, 1), {}),
    ]
    found = []
    for most, prefix in ((64, "s8_pairs"), (128, "s8")):
        made = [packed(layer(*shape, most=most), build) for shape in shapes]
        made.append(packed(layer((3, 9), (lanes, 9), None, most=most), build))
        found += [case for each in made for case in each]
        assert {case.layer.params["micro_kernel"] for each in made for case in each} == {
            f"EC_ROW_{prefix.upper()}"
        }
    check(build, found, folder)
    flags, words = OTHER_ENCODING["-mavxvnni"]
    if host.running().has(words):
        vnni = replace(
            build.target, features=frozenset({"int8_dot"}), flags=(*build.target.flags, *flags)
        )
        with_vnni = replace(build, target=vnni)
        cases = [case for shape in shapes for case in packed(layer(*shape), with_vnni)]
        assert {case.layer.params["micro_kernel"] for case in cases} == {"EC_ROW_S8_VNNI"}
        check(with_vnni, cases, folder)


def sum_shift(case: Case) -> int:
    """``sum_right`` of ec_requantise."""
    members = case.layer.params["requantise"]
    assert isinstance(members, tuple)
    return int(members[9])


def as_float(made: tuple[Spec, npt.NDArray[np.float32]]) -> tuple[Spec, npt.NDArray[np.float32]]:
    """With the result stored as float32: on the grid all the same."""
    spec, wanted = made
    storage = {name: form for name, form in spec.storage.items() if name != "out"}
    return replace(spec, storage=storage), wanted


def test_results_in_float32(build: Build, folder: Path) -> None:
    """Whole vectors and parts of them, with and without what is added."""
    many = build.target.lanes + 3
    same: Window = {"pads": (1, 1, 1, 1)}
    made = [layer((1, 4, 3, 3), (many, 4, 3, 3), same), layer((1, 7, 1, 5), (many, 7, 1, 1), {})]
    made = [as_float(each) for each in (*made, *(added_to(*each) for each in made))]
    check(build, [case for each in made for case in packed(each, build)], folder)


def test_real_results(every: Build, folder: Path) -> None:
    """Scales are known, nothing is rounded to a grid: sums become float32."""
    lanes, same = every.target.lanes, {"pads": (1, 1, 1, 1)}
    shapes: list[Shaped] = [
        *(((1, 4, 1, n), (lanes, 4, 1, 1), {}, 1) for n in (1, 8, 15)),
        *(((1, 8, 2, 3), (n, 8, 1, 1), {}, 1) for n in (1, lanes + 1, 3 * lanes + 1)),
        ((2, 3, 5, 4), (5, 3, 3, 3), same, 1),
        ((2, 8, 4, 5), (6, 4, 3, 3), same, 2),
        ((1, 5, 7, 7), (4, 5, 3, 2), {"pads": (2, 0, 1, 1), "dilations": (2, 3)}, 1),
        *DENSE,
    ]
    if lanes > 1:
        check(every, real_cases(shapes, every, "int8_packed"), folder)


def again(made: tuple[Spec, npt.NDArray[np.float32]]) -> tuple[Spec, npt.NDArray[np.float32]]:
    """With the result rounded to another grid, too, as a branch of a Concat may be."""
    spec, first = made
    spacing, low = spec.before.alpha, round(spec.before.beta)
    total = float(np.float32(spacing * 1.37))
    steps = np.rint(first / spacing).astype(np.int64)
    of_step = {n: round(n * Fraction(spacing) / Fraction(total)) for n in range(low, low + 256)}
    kept = np.vectorize(of_step.__getitem__)(steps).clip(low, low + 200)
    storage = {**spec.storage, "out": str(int8(total, -128 - low))}
    changed = replace(spec, after=grid(total, low, low + 200), storage=storage)
    return changed, (kept * total).astype(np.float32)


def test_results_rounded_again(build: Build, folder: Path) -> None:
    """Below a bound of their own, stored as int8 and as float32."""
    many = build.target.lanes + 3
    made = [
        again(layer((1, 4, 3, 3), (many, 4, 3, 3), {"pads": (1, 1, 1, 1)})),
        again(layer((1, 7, 1, 5), (many, 7, 1, 1), {})),
    ]
    made += [as_float(each) for each in made]
    check(build, [case for each in made for case in packed(each, build)], folder)


def test_dense_layers(build: Build, folder: Path) -> None:
    """Rows as pixels, stored as int8 and as float32."""
    if build.target.lanes == 1:
        pytest.skip("a core without vectors has kernels of its own")
    lanes = build.target.lanes
    sizes = [(1, 4, 4), (3, 5, lanes + 3), (1, 200, 3 * lanes), (2, 2, 1)]
    made = [layer((rows, in_c), (out_c, in_c), None) for rows, in_c, out_c in sizes]
    made += [as_float(each) for each in made]
    check(build, [case for each in made for case in packed(each, build)], folder)


def test_residual_that_is_the_input(build: Build, folder: Path) -> None:
    """What windows read again is not overwritten."""
    many = 3 * build.target.lanes + 1
    made = [
        layer((1, 6, 3, 5), (6, 6, 3, 3), {"pads": (1, 1, 1, 1)}),
        layer((2, many, 2, 9), (many, many, 1, 1), {}),
    ]
    added = [added_to(*each, of_input=True, within=(9, 240)) for each in made]
    cases = [case for each in added for case in packed(each, build)]
    assert not any(case.layer.aliases for case in cases)
    check(build, cases, folder)
