"""Blockings: the words they move against a simulated fast memory, and against the bounds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeconv.base.errors import EdgeconvError
from edgeconv.target.bounds import (
    Axis,
    AxisBlock,
    Blocking,
    ConvShape,
    Precision,
    footprint,
    lp_blocking,
    parallel_bounds,
    refined_blocking,
    sequential_bound,
    words_moved,
)
from edgeconv.target.bounds.blocking import Loop, Order
from edgeconv.target.bounds.linear_program import relaxed_sizes
from tests.examples import examples
from tests.unit.convolution_shapes import Element, Update, precisions, shapes, updates

FLOAT32 = Precision()
ResidentSet = set[tuple[str, Element]]


def every_loop(shape: ConvShape) -> list[Loop]:
    spatial = [Loop(over, axis) for over in ("out", "taps") for axis in range(len(shape.axes))]
    return [Loop("batch"), Loop("in_c"), Loop("out_c"), *spatial]


@st.composite
def blockings(draw: st.DrawFn, shape: ConvShape) -> Blocking:
    """Any block sizes."""
    return Blocking(
        draw(st.integers(1, shape.batch)),
        draw(st.integers(1, shape.group_in_c)),
        draw(st.integers(1, shape.group_out_c)),
        tuple(
            AxisBlock(
                draw(st.integers(1, axis.out)),
                draw(st.integers(1, axis.repeats)),
                draw(st.integers(1, axis.phases)),
            )
            for axis in shape.axes
        ),
    )


def block_of(update: Update, shape: ConvShape, blocking: Blocking) -> dict[Loop, Element]:
    """Which iteration of each loop an update belongs to."""
    image, _, out_channel, *outs = update.output
    found: dict[Loop, Element] = {
        Loop("batch"): (image // blocking.batch,),
        Loop("in_c"): (update.input[2] // blocking.in_c,),
        Loop("out_c"): (out_channel // blocking.out_c,),
    }
    rows = zip(shape.axes, blocking.axes, outs, update.taps, strict=True)
    for index, (axis, block, out, tap) in enumerate(rows):
        # The distance of taps that read whole strides apart, from its definition.
        period = next(p for p in range(1, 9) if axis.dilation * p % axis.stride == 0)
        repeat, phase = divmod(tap, period)
        found[Loop("out", index)] = (out // block.out,)
        found[Loop("taps", index)] = (repeat // block.repeats, phase // block.phases)
    return found


def unpadded(shape: ConvShape) -> ConvShape:
    """The same loops over an input so large that no update falls on padding."""
    axes = tuple(
        Axis(10_000, axis.out, axis.kernel, axis.stride, axis.dilation, 0) for axis in shape.axes
    )
    return ConvShape(shape.batch, shape.in_c, shape.out_c, axes, shape.groups)


def execution(
    shape: ConvShape, blocking: Blocking, order: Order
) -> Iterator[tuple[ResidentSet, list[Update]]]:
    """Block by block: what it needs, and the updates on input elements that it does."""
    on_input = set(updates(shape))
    live = {update.filter for update in on_input}
    loops: dict[tuple[Element, ...], list[Update]] = {}
    shift = tuple(axis.pad for axis in shape.axes)
    for loose in updates(unpadded(shape)):
        if loose.filter in live:
            where = loose.input[3:]
            moved = tuple(x - pad for x, pad in zip(where, shift, strict=True))
            update = loose._replace(input=(*loose.input[:3], *moved))
            iteration = block_of(update, shape, blocking)
            key = (update.output[1:2], *(iteration[loop] for loop in order))
            loops.setdefault(key, []).append(update)
    for key in sorted(loops):
        needed: ResidentSet = {("filter", update.filter) for update in loops[key]}
        needed |= {("output", update.output) for update in loops[key]}
        done = [update for update in loops[key] if update in on_input]
        needed |= {("input", update.input) for update in done}
        yield needed, done


@dataclass
class FastMemory:
    """A fully associative memory that is told what to keep."""

    size: float
    words: dict[str, float]
    resident: ResidentSet = field(default_factory=set)
    begun: ResidentSet = field(default_factory=set)
    moved: Counter[str] = field(default_factory=Counter)

    def hold(self, needed: ResidentSet) -> None:
        """Drop what is not needed, storing outputs, then load what is missing."""
        for array, _ in self.resident - needed:
            self.moved[array] += array == "output"
        for array, element in needed - self.resident:
            self.moved[array] += array != "output" or (array, element) in self.begun
        self.begun |= needed
        self.resident = set(needed)
        assert sum(self.words[array] for array, _ in needed) <= self.size


@settings(max_examples=examples(120))
@given(st.data(), shapes(channels=4, out=4, kernel=4, axes=2, batch=2), precisions())
def test_words_moved_is_what_a_simulated_memory_moves(
    data: st.DataObject, shape: ConvShape, precision: Precision
) -> None:
    assume(0 < shape.updates <= 1500)
    blocking = data.draw(blockings(shape))
    order = tuple(data.draw(st.permutations(every_loop(shape))))
    words = {"input": precision.input, "filter": precision.filter, "output": precision.output}
    memory = FastMemory(footprint(blocking, shape, precision), words)
    done: list[Update] = []
    for needed, updated in execution(shape, blocking, order):
        memory.hold(needed)
        done += updated
    memory.hold(set())
    assert Counter(done) == Counter(updates(shape))
    moved = words_moved(blocking, shape, precision, order)
    assert moved.input == precision.input * memory.moved["input"]
    assert moved.filter == precision.filter * memory.moved["filter"]
    assert moved.output == precision.output * memory.moved["output"]


@given(st.data(), shapes(channels=30, out=12, kernel=9), precisions())
def test_no_blocking_in_any_order_moves_less_than_the_bound(
    data: st.DataObject, shape: ConvShape, precision: Precision
) -> None:
    blocking = data.draw(blockings(shape))
    order = tuple(data.draw(st.permutations(every_loop(shape))))
    bound = sequential_bound(shape, precision, footprint(blocking, shape, precision))
    best = words_moved(blocking, shape, precision).words
    assert bound.words <= best
    assert bound.words <= words_moved(blocking, shape, precision, order).words


@given(shapes(channels=60, out=16, kernel=11), precisions(), st.integers(4, 5000))
def test_blockings_fit_and_move_no_less_than_the_bound(
    shape: ConvShape, precision: Precision, memory: int
) -> None:
    bound = sequential_bound(shape, precision, memory).words
    blocking = lp_blocking(shape, precision, memory)
    refined = refined_blocking(blocking, shape, precision, memory)
    assert footprint(blocking, shape, precision) <= memory
    assert footprint(refined, shape, precision) <= memory
    moved = words_moved(blocking, shape, precision).words
    assert bound <= words_moved(refined, shape, precision).words <= moved


@settings(max_examples=50)
@given(shapes(channels=20, out=12, kernel=5), precisions(), st.integers(4, 2000), st.data())
def test_a_processor_with_its_share_moves_no_less_than_the_parallel_bound(
    share: ConvShape, precision: Precision, memory: int, data: st.DataObject
) -> None:
    """Each of the processors computes the same number of images."""
    processors = data.draw(st.integers(2, 8))
    whole = ConvShape(share.batch * processors, share.in_c, share.out_c, share.axes, share.groups)
    moved = words_moved(lp_blocking(share, precision, memory), share, precision).words
    assert moved >= parallel_bounds(whole, precision, memory, processors).words


@settings(max_examples=50)
@given(shapes(channels=8, out=8, kernel=5), precisions())
def test_memory_for_everything_leaves_the_compulsory_words(
    shape: ConvShape, precision: Precision
) -> None:
    blocking = lp_blocking(shape, precision, 2.0**40)
    bound = sequential_bound(shape, precision, 2.0**40)
    assert bound.binding.name == "compulsory"
    assert words_moved(blocking, shape, precision).words == bound.words


def test_matrix_product_by_hand() -> None:
    """64 pixels, 32 input and 48 output channels in blocks of 16, 1 and 24."""
    shape = ConvShape(1, 32, 48, (Axis(64, 64, 1),))
    blocking = Blocking(1, 1, 24, (AxisBlock(16),))
    assert footprint(blocking, shape, FLOAT32) == 16 + 24 + 16 * 24
    outer_product = words_moved(blocking, shape, FLOAT32)
    assert outer_product.order[-1] == Loop("in_c")
    assert (outer_product.input, outer_product.filter, outer_product.output) == (
        64 * 32 * 2,
        48 * 32 * 4,
        64 * 48,
    )
    stationary_filters = (Loop("out_c"), Loop("in_c"), Loop("out"))
    moved = words_moved(blocking, shape, FLOAT32, stationary_filters)
    assert (moved.filter, moved.output) == (48 * 32, 64 * 48 * (2 * 32 - 1))


def test_halo_is_loaded_once_along_the_innermost_axis() -> None:
    """8x8 outputs of a 3x3 filter in blocks of two rows and four columns."""
    shape = ConvShape(1, 1, 1, (Axis(10, 8, 3), Axis(10, 8, 3)))
    blocking = Blocking(1, 1, 1, (AxisBlock(2, 3), AxisBlock(4, 3)))
    columns_inside = words_moved(blocking, shape, FLOAT32, (Loop("out", 0), Loop("out", 1)))
    # Each row of blocks begins with two by two elements that the end of the last one left.
    assert columns_inside.input == 4 * (4 * 10) - 3 * (2 * 2)
    rows_inside = words_moved(blocking, shape, FLOAT32, (Loop("out", 1), Loop("out", 0)))
    assert rows_inside.input == 2 * (6 * 10)
    assert words_moved(blocking, shape, FLOAT32) == rows_inside


def test_linear_program_fills_its_thirds() -> None:
    """A matrix product: M / p_T elements of each array, so that every size is (M / p_T)^(1/2)."""
    shape = ConvShape(1, 1000, 1000, (Axis(1000, 1000, 1),))
    sizes = relaxed_sizes(shape, FLOAT32, 3 * 900)
    assert sizes == pytest.approx((1, 30, 30, 30, 1, 1))


def test_rounding_does_not_overfill_the_memory() -> None:
    """The program's sizes are 10 less a millionth: three arrays of 100 elements do not fit."""
    shape, memory = ConvShape(1, 1000, 1000, (Axis(1000, 1000, 1),)), 299.9999
    assert relaxed_sizes(shape, FLOAT32, memory)[1:4] == pytest.approx((10, 10, 10))
    assert footprint(lp_blocking(shape, FLOAT32, memory), shape, FLOAT32) <= memory


@pytest.mark.parametrize("dilation", [1, 3])
def test_no_integer_blocking_in_the_constraints_beats_the_linear_program(dilation: int) -> None:
    """The program as in Section 3.2, along one axis of stride 2: the patch in two products."""
    shape = ConvShape(2, 5, 6, (Axis(41, 12, 7, 2, dilation),))
    precision = Precision(0.25, 0.5, 1.0)
    memory = 60 * precision.total

    def fits(batch: int, in_c: int, out_c: int, out: int, repeats: int, phases: int) -> bool:
        return (
            batch * out_c * out <= 60
            and in_c * out_c * repeats * phases <= 60
            and batch * in_c * max(out, dilation * repeats) * phases <= 30
        )

    limits = (2, 5, 6, 12, 4, 2)
    blocks = product(*(range(1, limit + 1) for limit in limits))
    best = max(math.prod(block) for block in blocks if fits(*block))
    sizes = relaxed_sizes(shape, precision, memory)
    batch, in_c, _, out, repeats, phases = sizes
    assert batch * in_c * max(out, dilation * repeats) * phases <= 30 * (1 + 1e-6)
    assert best <= math.prod(sizes) * (1 + 1e-6)
    assert math.prod(sizes) < 2 * best
    assert all(1 <= size <= limit * (1 + 1e-9) for size, limit in zip(sizes, limits, strict=True))


@pytest.mark.parametrize(("out_c", "memory"), [(1000, 2700), (1000, 30_000)])
def test_refined_matrix_product_is_close_to_the_bound(out_c: int, memory: int) -> None:
    """Outputs take nearly all of the memory, against a third of it by the linear program."""
    shape = ConvShape(1, 1000, out_c, (Axis(1000, 1000, 1),))
    blocking = lp_blocking(shape, FLOAT32, memory)
    refined = refined_blocking(blocking, shape, FLOAT32, memory)
    assert refined.in_c == 1
    assert refined.out_c * refined.axes[0].out > 0.85 * memory
    moved = words_moved(refined, shape, FLOAT32).words
    assert moved < words_moved(blocking, shape, FLOAT32).words
    assert moved < 1.2 * sequential_bound(shape, FLOAT32, memory).words


def test_taps_that_no_input_meets_are_left_out() -> None:
    """The outer taps of a 5-wide filter over one element only meet padding."""
    shape = ConvShape(1, 2, 3, (Axis(1, 1, 5, pad=2),))
    assert shape.filter_touched == 6
    blocking = Blocking(1, 1, 3, (AxisBlock(1, 1),))
    assert words_moved(blocking, shape, FLOAT32).words == 2 + 6 + 3


def test_an_update_has_to_fit() -> None:
    shape = ConvShape(1, 2, 3, (Axis(8, 8, 1),))
    assert footprint(lp_blocking(shape, FLOAT32, 3), shape, FLOAT32) == 3
    with pytest.raises(EdgeconvError, match="fast memory is too small: got 2 words"):
        lp_blocking(shape, FLOAT32, 2)


def test_sums_take_the_room_of_what_is_computed() -> None:
    """Results stored in 16 bits are summed in 32: a blocking has room for the sums, and moves them
    at that width until the last store."""
    shape = ConvShape.of(
        batch=1, in_c=64, out_c=256, in_size=(1, 56, 56), out_size=(1, 56, 56),
        kernel=(1, 3, 3), strides=(1, 1, 1), dilations=(1, 1, 1), pads=(0, 1, 1),
    )  # fmt: skip
    narrow, honest = Precision(0.5, 0.5, 0.5), Precision(0.5, 0.5, 0.5, sums=1.0)
    memory = 8192
    found = refined_blocking(lp_blocking(shape, honest, memory), shape, honest, memory)
    assert footprint(found, shape, honest) <= memory
    careless = refined_blocking(lp_blocking(shape, narrow, memory), shape, narrow, memory)
    assert footprint(careless, shape, honest) > memory
    whole = tuple(AxisBlock(axis.out, axis.repeats, axis.phases) for axis in shape.axes)
    pieces = Blocking(batch=1, in_c=16, out_c=64, axes=whole)
    moved = words_moved(pieces, shape, honest, (Loop("in_c"), *every_loop(shape)[2:]))
    outputs = 256 * 56 * 56
    assert moved.output == outputs * (0.5 + 2 * (4 - 1) * 1.0)
    assert sequential_bound(shape, honest, memory) == sequential_bound(shape, narrow, memory)
