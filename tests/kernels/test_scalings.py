"""Layers in integers whose biases are no whole numbers of units, or whose scales are powers of two,
against rational arithmetic that is rounded once, ties to even."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from _pytest.mark.structures import ParameterSet

from edgeconv.ir.requantisation.scalings import OFFSETS, TIES
from edgeconv.target.backends import TARGETS
from tests.kernels.builds import WAYS, unsanitized
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_int8_packed import ISAS, Shape, Window, able
from tests.kernels.test_integer_layers import added_to, layer

Made = tuple[Spec, npt.NDArray[np.float32]]
SCALES = {OFFSETS: "fractions", TIES: "powers"}
WITHOUT_VECTORS = [way for way in WAYS if TARGETS[way.target].lanes == 1]
scaled = pytest.mark.parametrize("scaling", SCALES)
FEW = ("avx2", "neon", "power10")
SAME: Window = {"pads": (1, 1, 1, 1)}


def made_of(scaling: str) -> list[Made]:
    """Convolutions, depthwise ones, dense layers, and a residual."""
    scales = SCALES[scaling]
    shapes: list[tuple[Shape, Shape, Window, int]] = [
        ((1, 8, 3, 5), (7, 8, 1, 1), {}, 1),
        ((2, 3, 5, 4), (5, 3, 3, 3), SAME, 1),
        ((1, 20, 4, 5), (20, 1, 3, 3), SAME, 20),
        ((1, 9, 7, 8), (9, 1, 5, 5), {"pads": (2, 2, 2, 2), "strides": (2, 1)}, 9),
    ]
    made = [layer(x, w, window, groups, scales=scales) for x, w, window, groups in shapes]
    made += [layer((2, n), (9, n), None, scales=scales) for n in (64,)]
    first = layer((1, 4, 7, 5), (6, 4, 3, 3), SAME, scales=scales)
    doubled = (0.5, 2.0) if scaling == TIES else (0.71, 1.37)
    return [*made, added_to(*first, scales=doubled)]


def in_integers(made: Made, build: Build, scaling: str) -> list[Case]:
    """The cases that are computed in integers, which have that scaling."""
    cases = [case for case in made[0].cases(build.target, made[1]) if case.layer.scaling]
    assert {case.layer.scaling for case in cases} <= {scaling}
    return cases


@scaled
@pytest.mark.parametrize("build", WITHOUT_VECTORS, ids=str, indirect=True)
def test_without_vectors(scaling: str, build: Build, folder: Path) -> None:
    if scaling == TIES:  # one of both with sanitizers, which take four fifths of compiling
        build = replace(build, compiler=unsanitized(build.compiler), trapping=())
    cases = [in_integers(made, build, scaling) for made in made_of(scaling)]
    assert all(cases)
    check(build, [case for each in cases for case in each], folder)


def with_vectors() -> list[ParameterSet]:
    """Every ISA; halves to even on three in `make test`."""
    return [
        pytest.param(
            *(scaling, isa), marks=pytest.mark.slow if scaling == TIES and isa not in FEW else ()
        )
        for scaling in SCALES
        for isa in ISAS
    ]


@pytest.mark.parametrize(("scaling", "isa"), with_vectors())
def test_with_vectors(scaling: str, isa: str, folder: Path) -> None:
    build = able(isa)
    if scaling == TIES:
        build = replace(build, compiler=unsanitized(build.compiler), trapping=())
    cases = [in_integers(made, build, scaling) for made in made_of(scaling)]
    found = {case.layer.algorithm for each in cases for case in each}
    assert found >= {"int8_packed", "int8_depthwise"}
    # Bits that decide halves are not where sums are shifted.
    assert not ("int8_winograd" in found and scaling == TIES)
    check(build, [case for each in cases for case in each], folder)
