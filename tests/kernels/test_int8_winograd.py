"""Winograd convolutions in integers on every ISA that has them, against rational arithmetic that is
rounded once: equal, in every form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgeconv.ir.request import Request
from edgeconv.ir.winograd_form import Nested
from edgeconv.kernels import algorithms
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.int8_winograd import candidate
from edgeconv.kernels.algorithms.int8_winograd.forms import FORMS
from edgeconv.target.backends import micro_kernels
from edgeconv.target.cache import Cache
from edgeconv.target.micro_kernel import INT16_PREFIX
from tests.kernels import builds
from tests.kernels.cases import Build, Case, Spec
from tests.kernels.harness import check
from tests.kernels.test_int8_packed import ISAS, Shape, again, as_float, build
from tests.kernels.test_integer_layers import added_to, layer

__all__ = ["build"]  # a fixture, for the same ISAs
Window = dict[str, Any]
Made = tuple[Spec, npt.NDArray[np.float32]]
SMALL = (Cache(1, 4096, 64), Cache(2, 16384, 64))  # of which several strips are made
SAME: Window = {"pads": (1, 1, 1, 1)}


@pytest.fixture
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nested]:
    """The only one that there is."""
    chosen: Nested = request.param
    monkeypatch.setattr(candidate, "FORMS", (chosen,))
    algorithms.planned.cache_clear()
    yield chosen
    algorithms.planned.cache_clear()


def winograd(made: Made, build: Build) -> list[Case]:
    """The cases of what `layer` made that are computed so, of which there are some."""
    spec, wanted = made
    cases = replace(spec, request=Request("int8_winograd")).cases(build.target, wanted)
    found = [case for case in cases if case.layer.algorithm == "int8_winograd"]
    assert found, spec.attrs
    return found


def strips_of(case: Case) -> int:
    """Of an image."""
    assert isinstance(case.layer.candidate, ConvCandidate)
    return int(case.layer.candidate.plan.strips)


def test_every_isa_has_a_row() -> None:
    found = {row.isa for row in micro_kernels() if row.prefix == INT16_PREFIX}
    assert sorted(found & {*builds.FIXED}) == ISAS


@pytest.mark.parametrize("form", FORMS, ids=str, indirect=True)
def test_against_rationals(form: Nested, build: Build, folder: Path) -> None:
    """Images of whole tiles, of one output less and one more, smaller than a tile and than the
    kernel; channels and filters around a vector and a register tile; groups, images, borders; zero
    points and numbers of either end; residuals, results in float32 and rounded again; strips."""
    lanes, side = build.target.lanes, form.down.outputs
    shapes: list[tuple[Shape, Shape, Window, int]] = [
        ((1, 2 * lanes, 2 * side, 3 * side), (lanes, 2 * lanes, 3, 3), SAME, 1),
        ((2, 3, side + 1, 2 * side + 1), (2 * lanes - 1, 3, 3, 3), SAME, 1),
        ((1, 2 * lanes + 1, side + 2, 7), (4 * lanes + 1, 2 * lanes + 1, 3, 3), {}, 1),
        ((1, 2, 1, 2), (2, 2, 3, 3), {"pads": (1, 2, 2, 1)}, 1),
        ((1, 8, 5, 6), (6, 4, 3, 3), {"pads": (2, 0, 1, 1)}, 2),
        ((1, 5, 4, 9), (3 * lanes, 5, 3, 3), {"pads": (2, 2, 2, 2)}, 1),
    ]
    made = [layer(x, w, window, groups) for x, w, window, groups in shapes]
    small, many = (1, 6, 3, 5), (1, 7, 6, side + 3)
    for zero in (-128, 127):
        made.append(layer(many, (lanes + 2, 7, 3, 3), SAME, extremes=zero))
    made.append(added_to(*layer(many, (lanes + 1, 7, 3, 3), SAME), within=(3, 200)))
    made.append(added_to(*layer(small, (6, 6, 3, 3), SAME), of_input=True, within=(9, 240)))
    made.append(again(layer(many, (2 * lanes, 7, 3, 3), SAME)))
    made += [as_float(each) for each in (made[0], made[-3])]
    cases = [case for each in made for case in winograd(each, build)]
    few = replace(build, target=replace(build.target, caches=SMALL, prefetch=True))
    strips = winograd(layer((1, 24, 17, 25), (3 * lanes + 1, 24, 3, 3), SAME), few)
    assert all(strips_of(case) > 1 for case in strips)
    assert all(case.layer.plan["form"] == str(form) for case in cases)
    check(build, [*cases, *strips], folder)
