"""Lower bounds: the printed formulas, the inequalities behind them, and how the bounds behave."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeconv.base.errors import EdgeconvError
from edgeconv.target.bounds import (
    Axis,
    AxisBlock,
    Blocking,
    Bound,
    ConvShape,
    Precision,
    footprint,
    parallel_bounds,
    sequential_bound,
    words_moved,
)
from tests.examples import examples
from tests.unit.convolution_shapes import precisions, shapes, updates

FLOAT32 = Precision()


def planar(in_c: int, out_c: int, out: int, kernel: int, stride: int = 1) -> ConvShape:
    """A square convolution without padding that reads its whole input."""
    axis = Axis((out - 1) * stride + kernel, out, kernel, stride)
    return ConvShape(1, in_c, out_c, (axis, axis))


def words_of(bound: Bound) -> dict[str, float]:
    return {term.name: term.words for term in bound.terms}


def test_terms_by_hand() -> None:
    """3 channels of 10x10, 4 filters of 3x3, 8x8 outputs; 16 words of memory."""
    bound = sequential_bound(planar(3, 4, 8, 3), FLOAT32, 16)
    macs = 64 * 3 * 4 * 9
    assert words_of(bound) == {
        "compulsory": 300 + 108 + 256,
        "large filter": 9 / 4 * macs / 16 - 16,
        "small filter": pytest.approx(2 * macs / math.sqrt(9 * 16) - 32),
    }
    assert bound.binding.name == "small filter"
    assert bound.words == bound.binding.words


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("out_words", [1.0, 0.5, 2.0])
def test_terms_as_printed(stride: int, out_words: float) -> None:
    """Theorem 2.1 where the stride divides the filter and nothing is padded."""
    shape, p, memory = planar(8, 16, 12, 4, stride), Precision(0.5, 0.25, out_words), 100
    macs = 8 * 16 * 12 * 12 * 4 * 4
    triangle = 2.0 * 0.75 if out_words == 2.0 else 1.0 * 0.75 if out_words == 1.0 else 1.25**2 / 4
    words = words_of(sequential_bound(shape, p, memory))
    product = 0.5 * 0.25 * out_words
    assert words["large filter"] == pytest.approx(triangle * macs / memory - memory)
    assert words["small filter"] == pytest.approx(
        2 * math.sqrt(product) * stride * macs / math.sqrt(4 * 4 * memory) - 2 * memory
    )


def test_parallel_terms_as_printed() -> None:
    shape, memory, processors = planar(64, 64, 14, 1), 1000, 7
    macs, largest = 64 * 64 * 14 * 14, 64 * 14 * 14
    words = words_of(parallel_bounds(shape, FLOAT32, memory, processors))
    assert words == {
        "large filter": pytest.approx(9 / 4 * macs / (7 * memory) - memory),
        "small filter": pytest.approx(2 * macs / (7 * math.sqrt(memory)) - 2 * memory),
        "large filter, any memory": pytest.approx((macs / 7) ** (1 / 2) - largest / 7),
        "small filter, any memory": pytest.approx((macs / 7) ** (2 / 3) - largest / 7),
    }


@pytest.mark.parametrize("kernel", [2, 3, 5])
def test_memory_independent_term_is_not_below_the_printed_one(kernel: int) -> None:
    shape, processors = planar(64, 64, 14, kernel), 16
    macs = 64 * 64 * 14 * 14 * kernel**2
    share = max(shape.input_elements, shape.filter_touched) / processors
    words = words_of(parallel_bounds(shape, FLOAT32, 1000, processors))
    printed = (macs / (processors * kernel**2)) ** (2 / 3) - share
    assert words["small filter, any memory"] > printed


def test_stride_beyond_the_kernel_gains_nothing() -> None:
    """A 1x1 filter with stride 2 is a matrix product: the factor s / w as printed would put the
    bound above what a blocking of output tiles really moves.
    """
    shape = planar(512, 512, 16, 1, stride=2)
    blocking = Blocking(1, 1, 64, (AxisBlock(4), AxisBlock(16)))
    memory = footprint(blocking, shape, FLOAT32)
    moved = words_moved(blocking, shape, FLOAT32).words
    printed = 2 * 2 * shape.updates / math.sqrt(memory) - 2 * memory
    assert sequential_bound(shape, FLOAT32, memory).words <= moved < printed


@settings(max_examples=examples(150))
@given(shapes(channels=3, out=5, kernel=4, axes=2, batch=2))
def test_counts_are_those_of_the_updates(shape: ConvShape) -> None:
    every = list(updates(shape))
    assert shape.updates == len(every)
    assert shape.input_touched == len({update.input for update in every})
    assert shape.filter_touched == len({update.filter for update in every})
    assert shape.input_touched <= shape.input_elements


@settings(max_examples=examples(200))
@given(st.data(), shapes(channels=3, out=4, kernel=5, axes=2, batch=2))
def test_inequalities_hold_for_any_set_of_updates(data: st.DataObject, shape: ConvShape) -> None:
    """What the proofs rest on, with padding, strides, dilations and groups."""
    every = list(updates(shape))
    chance = data.draw(st.sampled_from([0.1, 0.5, 1.0]))
    random = data.draw(st.randoms(use_true_random=False))
    chosen = [update for update in every if random.random() < chance]
    accessed = (
        len({update.input for update in chosen})
        * len({update.filter for update in chosen})
        * len({update.output for update in chosen})
    )
    assert len(chosen) <= accessed ** (2 / 3) * (1 + 1e-9)
    # Classes of taps that differ by whole strides of input, from their definition.
    classes = [
        Counter((axis.dilation * tap) % axis.stride for tap in axis.live) for axis in shape.axes
    ]
    weighted = 0.0
    for update in chosen:
        alike = 1
        for axis, tap, members in zip(shape.axes, update.taps, classes, strict=True):
            alike *= members[(axis.dilation * tap) % axis.stride]
        weighted += 1 / math.sqrt(alike)
    assert weighted <= math.sqrt(accessed) * (1 + 1e-9)
    if chance == 1.0:
        assert shape.weighted_updates == pytest.approx(weighted)


@given(
    shapes(channels=40, out=20, kernel=9), precisions(), st.integers(1, 9000), st.integers(1, 64)
)
def test_bounds_are_ordered(
    shape: ConvShape, precision: Precision, memory: int, processors: int
) -> None:
    bound = sequential_bound(shape, precision, memory)
    more_memory = sequential_bound(shape, precision, memory + 1)
    parallel = parallel_bounds(shape, precision, memory, processors)
    more_processors = words_of(parallel_bounds(shape, precision, memory, processors + 1))
    assert more_memory.words <= bound.words
    assert 0 <= parallel.words <= bound.words
    for name in ("large filter", "small filter"):
        assert more_processors[name] <= words_of(parallel)[name] <= words_of(bound)[name]


@given(shapes(channels=40, out=20, kernel=9), precisions(), st.integers(1, 9000))
def test_one_processor_that_holds_everything_moves_nothing(
    shape: ConvShape, precision: Precision, memory: int
) -> None:
    words = words_of(parallel_bounds(shape, precision, memory, 1))
    tolerance = 1e-9 * shape.input_elements
    assert words["large filter, any memory"] <= tolerance
    assert words["small filter, any memory"] <= tolerance


def test_dimensions_of_one_output_and_one_tap_are_dropped() -> None:
    shape = ConvShape.of(
        batch=1,
        in_c=8,
        out_c=4,
        groups=2,
        in_size=(1, 9, 7),
        out_size=(1, 5, 1),
        kernel=(1, 3, 7),
        strides=(1, 2, 1),
        dilations=(1, 1, 1),
        pads=(0, 1, 0),
    )
    assert shape == ConvShape(1, 8, 4, (Axis(9, 5, 3, 2, 1, 1), Axis(7, 1, 7)), groups=2)
    folded = replace(shape, axes=(Axis(1, 1, 1), *shape.axes))
    assert folded.weighted_updates == shape.weighted_updates
    assert folded.input_touched == shape.input_touched


def test_refused() -> None:
    shape = planar(1, 1, 1, 1)
    with pytest.raises(EdgeconvError, match="invalid precision: got 1.0, 0, 1.0 words"):
        Precision(filter=0)
    with pytest.raises(EdgeconvError, match="invalid fast memory: got 0 words"):
        sequential_bound(shape, FLOAT32, 0)
    with pytest.raises(EdgeconvError, match="invalid number of processors: got 0"):
        parallel_bounds(shape, FLOAT32, 1, 0)
