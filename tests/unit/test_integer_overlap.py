"""How far results of integer convolutions may lie over their inputs, against the order of reads."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from edgeconv.ir.encoding import int8
from edgeconv.ir.graph import Node
from edgeconv.ir.layout import CHANNELS_LAST
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.integer.adjacent_windows import ROWS_TOGETHER, is_column, is_tall
from edgeconv.kernels.algorithms.integer.candidate import IntegerPlan, candidates
from edgeconv.kernels.algorithms.integer.depthwise_2x2 import Depthwise2x2
from edgeconv.kernels.algorithms.integer.kernels import CONVOLVE
from edgeconv.kernels.algorithms.integer.overlap import overlapping
from edgeconv.kernels.algorithms.problem import ConvProblem
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import DSP, HELIUM

Q8 = int8(0.5, 0)


@st.composite
def problems(draw: st.DrawFn) -> ConvProblem:
    depthwise = draw(st.booleans())
    in_c = draw(st.integers(2, 6))
    kernel = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    each = draw(st.integers(1, 2))
    strides = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    size = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    if draw(st.integers(0, 4)) == 0:  # of one column
        size, kernel, strides = (draw(st.integers(1, 40)), 1), (kernel[0], 1), (strides[0], 1)
    pads = tuple(draw(st.integers(0, k - 1)) for k in kernel)
    after = tuple(draw(st.integers(0, k - 1)) for k in kernel)
    room = [n + a + b - k for n, a, b, k in zip(size, pads, after, kernel, strict=True)]
    assume(min(room) >= 0)
    return ConvProblem(
        batch=1,
        in_c=in_c,
        out_c=in_c * each if depthwise else draw(st.integers(1, 9)),
        groups=in_c if depthwise else 1,
        in_size=(1, *size),
        out_size=(1, room[0] // strides[0] + 1, room[1] // strides[1] + 1),
        kernel=(1, *kernel),
        strides=(1, *strides),
        dilations=(1, 1, 1),
        pads=(0, pads[0], pads[1]),
        in_layout=CHANNELS_LAST,
        out_layout=CHANNELS_LAST,
        filters_as=Q8.element,
        in_as=Q8,
        out_as=Q8,
        integers=True,
    )


def reads(problem: ConvProblem, y: int, x: int) -> list[tuple[int, int]]:
    """Rows and columns of the input that a window has."""
    taps = itertools.product(*map(range, problem.kernel[1:]))
    places = (
        (
            y * problem.strides[1] - problem.pads[1] + ky,
            x * problem.strides[2] - problem.pads[2] + kx,
        )
        for ky, kx in taps
    )
    return [
        (row, column)
        for row, column in places
        if 0 <= row < problem.in_size[1] and 0 <= column < problem.in_size[2]
    ]


def by_pixels(problem: ConvProblem, again: bool, tile: int = 1) -> int:
    """Pixel after pixel is read and written, or from any one on so many while they are written."""
    pixels = list(itertools.product(*map(range, problem.out_size[1:])))
    apart = 0
    for number in range(len(pixels)):
        later = pixels[number if again else number + 1 :]
        places = [place for y, x in later for place in reads(problem, y, x)]
        first = min((row * problem.in_size[2] + column for row, column in places), default=None)
        if first is not None:
            end = min(number + tile, len(pixels)) * problem.out_c
            apart = max(apart, end - first * problem.in_c)
    return apart


def by_rows(problem: ConvProblem) -> int:
    """Row after row is read and written.  What is on the way is other channels, of the same pixels
    where there are as many; otherwise others of the row are read when some of it are written."""
    apart, again = 0, problem.in_c != problem.out_c
    for y in range(problem.out_size[1]):
        later = range(y if again else y + 1, problem.out_size[1])
        columns = range(problem.out_size[2])
        rows = [row for z in later for x in columns for row, _ in reads(problem, z, x)]
        if rows:
            end = (y + 1) * problem.out_size[2] * problem.out_c
            apart = max(apart, end - min(rows) * problem.in_size[2] * problem.in_c)
    return apart


def by_blocks(problem: ConvProblem, together: int) -> int:
    """All channels of a block of rows are read while it is written."""
    apart, columns = 0, range(problem.out_size[2])
    for y in range(0, problem.out_size[1], together):
        later = range(y, problem.out_size[1])
        rows = [row for z in later for x in columns for row, _ in reads(problem, z, x)]
        if rows:
            end = min(y + together, problem.out_size[1]) * problem.out_size[2] * problem.out_c
            apart = max(apart, end - min(rows) * problem.in_size[2] * problem.in_c)
    return apart


def of_depthwise(problem: ConvProblem, two: Depthwise2x2 | None, *, helium: bool) -> int:
    """By blocks of rows, those of which pairs serve two windows among them, or row by row."""
    if helium and is_tall(problem):
        apart = problem.dilations[1] // math.gcd(problem.strides[1], problem.dilations[1])
        return by_blocks(problem, ROWS_TOGETHER * apart)
    if two is not None and not two.kernel.is_transposed:
        return by_blocks(problem, two.block)
    if two is None and is_column(problem) and not helium:
        return by_blocks(problem, ROWS_TOGETHER)
    return by_rows(problem)


@given(problems(), st.sampled_from([frozenset[str](), frozenset({DSP}), frozenset({HELIUM})]))
def test_no_byte_is_written_over_that_is_read_later(
    problem: ConvProblem, features: frozenset[str]
) -> None:
    target, helium = replace(TARGETS["scalar"], features=features), HELIUM in features
    for candidate in candidates(problem, target):
        hold(problem, candidate, helium=helium)


def hold(problem: ConvProblem, candidate: ConvCandidate[IntegerPlan], *, helium: bool) -> None:
    """The overlap that ``candidate`` offers is as large as it may be, and no larger."""
    node = Node("layer", "Conv", ("x", "w"), ("y",))
    if problem.groups > 1:
        apart = of_depthwise(problem, candidate.plan.two, helium=helium)
    else:
        pointwise = problem.kernel == (1, 1, 1) and not any(problem.pads)
        again, tile = candidate.plan.kernel.is_dense, 1
        if helium:  # registers hold windows of up to 64 numbers, four filters at a time
            again = pointwise and (problem.in_c > 64 or problem.out_c % 4 > 0)
            tile = 3 if again and problem.out_c % 4 == 0 else 1
        apart = by_pixels(problem, again, tile)
    offers = overlapping(candidate, node)
    if not offers:
        assert apart >= math.prod(problem.out_size) * problem.out_c
        return
    (alias,) = offers
    assert (alias.input, alias.output, alias.overlaps) == ("x", "y", True)
    assert alias.offset >= apart
    if apart:
        assert alias.offset == apart  # and no byte more than that
    if problem.is_depthwise:
        assert alias.offset % problem.in_c == 0


def test_images_one_after_the_other_are_not_written_over() -> None:
    plan = IntegerPlan(CONVOLVE)
    one = ConvProblem(
        *(1, 16, 16, 1, (1, 6, 6), (1, 6, 6), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
        in_layout=CHANNELS_LAST,
        out_layout=CHANNELS_LAST,
        integers=True,
    )
    node = Node("layer", "Conv", ("x", "w"), ("y",))
    (candidate,) = candidates(one, TARGETS["scalar"])
    assert candidate.plan == plan
    assert overlapping(candidate, node)
    (two,) = candidates(replace(one, batch=2), TARGETS["scalar"])
    assert not overlapping(two, node)
