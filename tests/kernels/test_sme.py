"""Outer products of SME: a sample at one length; the rest is what all micro-kernels are tested by,
at all lengths, in `make test-all`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from edgeconv.target.backends import TARGETS
from tests.kernels import builds, emulated
from tests.kernels.cases import Build
from tests.kernels.harness import check
from tests.kernels.test_attention import operands, spec
from tests.kernels.test_bfloat16 import cases as of_bfloat16
from tests.kernels.test_conv import conv
from tests.kernels.test_int8_packed import able, packed
from tests.kernels.test_integer_layers import layer
from tests.kernels.test_sconv import sconv
from tests.kernels.test_winograd import SQUARE, winograd

SAME = (1, 1, 1, 1)
SME = [name for name in TARGETS if name.startswith("sme")]
LENGTHS = [pytest.param(n, marks=() if n == "sme512" else pytest.mark.slow) for n in SME]


@pytest.fixture(params=LENGTHS)
def build(request: pytest.FixtureRequest) -> Iterator[Build]:
    """What multiplies is the matrix unit."""
    way = builds.Way(str(request.param), "gcc", memory_sums=True)
    with way.build() as found:
        yield found


def test_float32(build: Build, folder: Path) -> None:
    """Rows and columns of fewer words, as many and more than a vector, two and four; chains of jobs
    of a large kernel; sums that go on in memory, in attention."""
    of_attention = operands((37, 90, 5, 6), (2,), scale=0.4)
    found = [
        *sconv(conv((1, 30, 17, 13), 77, (1, 1)), build.target),
        *sconv(conv((2, 9, 9, 40), 150, (3, 3), SAME, groups=3), build.target),
        *sconv(conv((1, 3, 21, 21), 6, (11, 11), residual=True), build.target),
        *winograd(SQUARE[0], conv((2, 5, 19, 23), 45, (3, 3), SAME)).cases(build.target),
        *spec(of_attention[0], of_attention[1], (2, 37, 6)).cases(build.target),
    ]
    check(build, found, folder)


def test_int8(build: Build, folder: Path) -> None:
    """To the last bit, over windows and filters that are no whole vectors."""
    found = able(build.target.runtime)
    emulated.must_multiply_int8(found)
    unit = replace(found, target=builds.by_own_unit(found.target), chosen=build.chosen)
    shapes = [((1, 30, 9, 21), (40, 30, 3, 3)), ((2, 64, 1, 70), (3, 64, 1, 1))]
    made = [layer(x, w, {"pads": SAME if w[2] > 1 else (0, 0, 0, 0)}) for x, w in shapes]
    check(unit, [case for each in made for case in packed(each, unit)], folder)


def test_bfloat16(build: Build, folder: Path) -> None:
    target = replace(build.target, features=frozenset({"bfloat16"}))
    able_build = replace(build, target=target)
    of = conv((1, 35, 5, 40), 45, (3, 3), SAME, residual=True)
    check(able_build, of_bfloat16(of, able_build), folder)


VECTORS_INSIDE = r"""
int main(void)
{
    __asm__ volatile(".arch_extension sme\n\tsmstart sm\n\t%s\n\tsmstop sm" ::: "v0");
    return 0;
}
"""


@pytest.mark.parametrize(("instruction", "ends"), [("nop", 0), ("movi v0.4s, #0", 132)])
def test_the_emulator_has_no_neon_in_streaming_mode(
    instruction: str, ends: int, folder: Path
) -> None:
    """What these tests rely on: a vector of C's there would end the program."""
    found = builds.find(TARGETS["sme512"], "gcc")
    source, program = folder / "inside.c", folder / "inside"
    source.write_text(VECTORS_INSIDE % instruction)
    subprocess.run([*found.compiler, str(source), "-o", str(program)], check=True)
    status = subprocess.run([*found.runner, str(program)], check=False, capture_output=True)
    assert status.returncode % 256 in (ends, 256 - 4 if ends else 0)  # SIGILL, by number or status
