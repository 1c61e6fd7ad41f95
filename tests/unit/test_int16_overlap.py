"""How far results of 16 bits may lie over their inputs, against the order in which kernels read and
write."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from edgeconv.ir.encoding import Encoding, int8, int16
from edgeconv.ir.graph import Epilogue, Node
from edgeconv.ir.layout import CHANNELS_LAST
from edgeconv.kernels.algorithms.candidate import ConvCandidate
from edgeconv.kernels.algorithms.int16.candidate import Int16Plan, candidates, is_plain
from edgeconv.kernels.algorithms.int16.overlap import overlapping
from edgeconv.kernels.algorithms.problem import ConvProblem, Finish
from edgeconv.target.backends import TARGETS
from edgeconv.target.targets import HELIUM
from tests.unit.test_integer_overlap import problems, reads

Q8, Q16 = int8(0.5, 0), int16(0.5, 0)
HELD = {"scalar": TARGETS["scalar"], "avx2": TARGETS["avx2"]}
HELD["helium"] = replace(TARGETS["scalar"], features=frozenset({HELIUM}))
Event = tuple[bool, int, int]  # whether it writes; the byte where it begins, and how many


def events(candidate: ConvCandidate[Int16Plan], target: str, *, added: bool) -> Iterator[Event]:
    """What ec_int16_<kernel> reads of the input and writes of the result, in order."""
    problem, plan = candidate.problem, candidate.plan
    pixels = list(itertools.product(*map(range, problem.out_size[1:])))
    wide, out = problem.in_bytes, problem.out_bytes

    def windows(chosen: Sequence[int], first: int, count: int) -> Iterator[Event]:
        for number in chosen:
            for row, column in reads(problem, *pixels[number]):
                element = (row * problem.in_size[2] + column) * problem.in_c + first
                yield False, element * wide, count * wide

    def results(number: int, channel: int) -> Iterator[Event]:
        element = number * problem.out_c + channel
        if added:
            yield False, element * wide, wide
        yield True, element * out, out

    if plan.kernel == "depthwise":
        each, some = problem.out_c // problem.in_c, 4 if target != "avx2" else 32
        for number in range(len(pixels)):
            together = some if each == 1 else 1
            for c in range(0, problem.out_c, together):
                taken = range(c, min(c + together, problem.out_c))
                for channel in taken:
                    yield from windows([number], channel // each, 1)
                for channel in taken:
                    yield from results(number, channel)
        return
    plain = plan.kernel != "convolve" and is_plain(problem, plan.numbers)
    tile = 3 if plan.kernel == "convolve" else plan.pixels
    filters = plan.vectors * 8 if plan.row else 4 if target == "helium" else 2
    for first in range(0, len(pixels), tile):
        chosen = range(first, min(first + tile, len(pixels)))
        if not plain:
            yield from windows(chosen, 0, problem.in_c)
        for c in range(0, problem.out_c, filters):
            if plain:
                yield from windows(chosen, 0, problem.in_c)
            for channel in range(c, min(c + filters, problem.out_c)):
                for number in chosen:
                    yield from results(number, channel)


def least_apart(happens: list[Event]) -> int:
    """Bytes that the result must lie in front of the input."""
    found, first = 0, math.inf
    for writes, at, count in reversed(happens):
        if writes and first < math.inf:
            found = max(found, at + count - int(first))
        elif not writes:
            first = min(first, at)
    return found


@given(
    problems(),
    st.sampled_from(sorted(HELD)),
    st.sampled_from([(Q16, Q16), (Q16, Q8), (Q8, Q16)]),
    st.booleans(),
)
def test_no_byte_is_written_over_that_is_read_later(
    problem: ConvProblem, target: str, stored: tuple[Encoding, Encoding], added: bool
) -> None:
    whole = replace(problem, in_as=stored[0], out_as=stored[1], integers=False, wide=True)
    sizes = whole.in_size, whole.in_c
    added = added and (whole.out_size, whole.out_c) == sizes and whole.in_as == whole.out_as
    if added:
        whole = replace(whole, finish=Finish(residual_as=whole.in_as))
    (candidate,) = candidates(whole, HELD[target])
    epilogue = Epilogue(residual="x") if added else Epilogue()
    node = Node("layer", "Conv", ("x", "w"), ("y",), epilogue=epilogue)
    least = least_apart(list(events(candidate, target, added=added)))
    total = math.prod(whole.out_size) * whole.out_c * whole.out_bytes
    offers = overlapping(candidate, node)
    if not offers:
        pixel = max(whole.out_c * whole.out_bytes, whole.in_c * whole.in_bytes)
        assert least + 4 * max(3, candidate.plan.pixels) * pixel >= total
        return
    (alias,) = offers
    assert (alias.input, alias.output, alias.overlaps) == ("x", "y", True)
    assert least <= alias.offset < total
    assert alias.offset % max(whole.in_bytes, whole.out_bytes) == 0


def test_images_one_after_the_other_are_not_written_over() -> None:
    problem = ConvProblem(
        *(1, 4, 4, 1, (1, 5, 5), (1, 5, 5), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
        in_layout=CHANNELS_LAST,
        out_layout=CHANNELS_LAST,
        in_as=Q16,
        out_as=Q16,
        wide=True,
    )
    node = Node("layer", "Conv", ("x", "w"), ("y",))
    (one,) = candidates(problem, HELD["scalar"])
    assert overlapping(one, node)
    (other,) = candidates(replace(problem, batch=2), HELD["scalar"])
    assert not overlapping(other, node)
