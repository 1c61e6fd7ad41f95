"""Vectors whose length is the core's choice, fixed when a program is compiled: a sample at 256 bits
of those of Arm and of RISC-V; the rest is what all kernels are tested by, at all lengths, in `make
test-all`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.target.backends import TARGETS
from tests.kernels import builds
from tests.kernels.cases import Build
from tests.kernels.harness import check
from tests.kernels.test_conv import conv
from tests.kernels.test_int8_packed import able, packed
from tests.kernels.test_integer_layers import layer
from tests.kernels.test_sconv import sconv
from tests.kernels.test_winograd import SQUARE, winograd

SAME = (1, 1, 1, 1)
SAMPLED = ("sve256", "rvv256")
LENGTHS = [
    pytest.param(name, marks=() if name in SAMPLED else pytest.mark.slow)
    for name, target in TARGETS.items()
    if target.scalable and not builds.unit_of(target)
]


@pytest.fixture(params=LENGTHS)
def build(request: pytest.FixtureRequest) -> Build:
    """As projects are compiled, but with sizes at run time."""
    found = builds.find(TARGETS[str(request.param)], "gcc", builds.SHIPPED)
    return replace(found, compiled_once=True)


def test_float32(build: Build, folder: Path) -> None:
    """Strips, panels, transforms; lanes that are left over, strides, a residual."""
    found = [
        *conv((1, 9, 9, 21), 19, (3, 3), SAME, residual=True).cases(build.target),
        *sconv(conv((1, 3, 21, 21), 6, (5, 5), strides=(2, 2)), build.target),
        *winograd(SQUARE[0], conv((2, 5, 19, 23), 45, (3, 3), SAME)).cases(build.target),
    ]
    check(build, found, folder)


def test_int8(build: Build, folder: Path) -> None:
    """To the last bit."""
    found = able(build.target.name)
    made = layer((1, 30, 9, 21), (40, 30, 3, 3), {"pads": SAME})
    check(found, packed(made, found), folder)
