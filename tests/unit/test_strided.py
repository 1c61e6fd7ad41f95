"""Where elements lie, against numpy's views of numbered elements."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeconv.ir.strided import Strided, common


def elements(place: Strided) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The number of every element."""
    found = np.full((), place.first)
    for dimension in place.dimensions:
        along = np.zeros(1, np.int64)
        for size, step in dimension:
            along = (along[:, None] + step * np.arange(size)).reshape(-1)
        found = found[..., None] + along
    return found


@given(st.data())
def test_as_numpy_has_it(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4)))
    place, wanted = Strided.dense(shape), np.arange(math.prod(shape)).reshape(shape)
    for kind in data.draw(st.lists(st.sampled_from("tser"), max_size=5)):
        moved: Strided | None
        if kind == "t":
            perm = data.draw(st.permutations(range(wanted.ndim)))
            moved, wanted = place.transposed(perm), wanted.transpose(perm)
        elif kind == "s":
            axis = data.draw(st.integers(0, wanted.ndim - 1))
            start = data.draw(st.integers(0, wanted.shape[axis] - 1))
            step = data.draw(st.integers(1, 2))
            starts, steps = ([0] * wanted.ndim, [1] * wanted.ndim)
            starts[axis], steps[axis] = start, step
            index = [slice(None)] * wanted.ndim
            index[axis] = slice(start, None, step)
            cut = wanted[tuple(index)]
            moved = place.sliced(starts, steps, cut.shape)
            wanted = wanted if moved is None else cut
        elif kind == "e":
            sizes = (2, *(3 if size == 1 else size for size in wanted.shape))
            moved, wanted = place.expanded(sizes), np.broadcast_to(wanted, sizes)
        else:
            flat = data.draw(st.sampled_from([(-1,), (2, -1), (-1, 2), (1, -1, 3)]))
            known = -math.prod(flat)
            if wanted.size % known:
                continue
            whole = wanted.reshape(flat)
            moved = place.reshaped(whole.shape)
            wanted = wanted if moved is None else whole
        place = place if moved is None else moved
        assert place.shape == wanted.shape
        np.testing.assert_array_equal(elements(place), wanted)


def test_heads_that_are_repeated_have_steps() -> None:
    """Two heads of keys for six of queries."""
    keys = Strided.dense((2, 1, 5, 4)).expanded((2, 3, 5, 4)).reshaped((6, 5, 4))
    assert keys is not None
    assert keys.steps is None
    queries = Strided.dense((6, 7, 4))
    batch = common([each.transposed((0,)) for each in (keys, queries)], 1)
    assert batch == [(2, 3)]
    parted = keys.split([(2, 3), (5,), (4,)])
    assert parted is not None
    assert parted.steps == (20, 0, 4, 1)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (3, 2, 1)])
def test_no_steps_where_elements_are_not_evenly_apart(shape: tuple[int, ...]) -> None:
    place = Strided.dense((3, 4)).transposed((1, 0))
    assert place.reshaped(shape if math.prod(shape) == 12 else (12,)) is not None
    cut = Strided.dense((3, 4)).transposed((1, 0)).reshaped((12,))
    assert cut is not None
    assert cut.steps is None
    assert cut.sliced((1,), (1,), (5,)) is None
